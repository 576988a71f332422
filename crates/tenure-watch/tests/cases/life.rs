//! A program that is watched lives on, whatever becomes of the one who watches.

use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tenure_model::Ended;
use tenure_watch::{Session, WatchRequest, WatchTarget, watch};

use crate::{Running, can_watch, request};

/// Not a test: two threads take a lock until their process is killed, or for ten minutes.
#[test]
#[ignore = "the program that other tests watch"]
fn busy() {
    let lock = Mutex::new(0_u64);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while start.elapsed() < Duration::from_secs(600) {
                    *lock.lock().unwrap() += 1;
                }
            });
        }
    });
}

/// Not a test: watches the process that `TENURE_PID` names until it is killed.
#[test]
#[ignore = "the watcher that other tests kill"]
fn watcher() {
    let pid = std::env::var("TENURE_PID").unwrap().parse().unwrap();
    let request = request(pid);
    let options = tenure_watch::WatchOptions { probes: 100.0, ..request.options };
    watch(&WatchRequest { options, ..request }, &|_| false).unwrap();
}

pub(crate) fn this(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", test]);
    command
}

/// Waits until the program is as busy as it will be.
pub(crate) fn busy_program() -> Running {
    let program = Running::start(&mut this("life::busy"));
    let tasks = format!("/proc/{}/task", program.0.id());
    while fs::read_dir(&tasks).unwrap().count() < 4 {
        thread::sleep(Duration::from_millis(1));
    }
    program
}

pub(crate) fn is_traced(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let status = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    status.into_iter().any(|status| !status.contains("TracerPid:\t0\n"))
}

#[test]
fn a_program_lives_on_when_its_watcher_is_killed() {
    if !can_watch() {
        return;
    }
    let mut program = busy_program();
    let pid = program.0.id();
    for milliseconds in [150, 200, 250, 300] {
        let watcher = Running::start(this("life::watcher").env("TENURE_PID", pid.to_string()));
        thread::sleep(Duration::from_millis(milliseconds));
        drop(watcher);
    }
    assert!(!is_traced(pid));
    thread::sleep(Duration::from_millis(200));
    assert_eq!(program.0.try_wait().unwrap(), None);
}

#[test]
fn watching_ends_with_its_time_and_with_the_program() {
    if !can_watch() {
        return;
    }
    let program = busy_program();
    let pid = program.0.id();
    let short = WatchRequest { duration: Some(Duration::from_secs(2)), ..request(pid) };
    let watched = watch(&short, &|_| false).unwrap();
    assert_eq!(watched.recording.ended, Ended::Running);
    assert!(watched.counts.samples > 0 && !is_traced(pid), "{:?}", watched.counts);
    let program = std::cell::Cell::new(Some(program));
    let end = |_: &Session| {
        drop(program.take());
        false
    };
    let watched = watch(&request(pid), &end).unwrap();
    assert_eq!(watched.recording.ended, Ended::Unknown);
}

#[test]
fn probes_wait_while_nothing_is_left_for_them() {
    if !can_watch() {
        return;
    }
    let program = busy_program();
    let request = request(program.0.id());
    // What is allowed shrinks while the program runs, and is gone soon.
    let options = tenure_watch::WatchOptions { probes: 10_000.0, share: -1.0, ..request.options };
    let until_held = WatchRequest { options, duration: None, ..request };
    let watched = watch(&until_held, &|it| it.counts().held > 0).unwrap();
    assert!(watched.counts.held > 0, "{:?}", watched.counts);
}

#[test]
fn a_program_that_is_started_keeps_its_status() {
    if !can_watch() {
        return;
    }
    for (script, ended) in
        [("exit 3", Ended::Exited { status: 3 }), ("kill -TERM $$", Ended::Killed { signal: 15 })]
    {
        let words = ["sh", "-c", &format!("sleep 0.1; {script}")].map(Into::into);
        let target = WatchTarget::Command(words.to_vec());
        let watched = watch(&WatchRequest { target, ..request(0) }, &|_| false).unwrap();
        assert_eq!(watched.recording.ended, ended, "{script}");
        assert!(watched.started.is_none());
    }
    // It may have ended before it can be watched.
    for _ in 0..10 {
        let target = WatchTarget::Command(vec!["true".into()]);
        let watched = watch(&WatchRequest { target, ..request(0) }, &|_| false).unwrap();
        assert_eq!(watched.recording.ended, Ended::Exited { status: 0 });
    }
}
