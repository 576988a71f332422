//! Many threads, and threads that live for milliseconds.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::libc;
use tenure_model::{Finding, Kind};
use tenure_watch::watch;

use crate::life::this;
use crate::traced::without;
use crate::{Running, can_watch, names, request};

/// Tests that run at a time have a program each.
fn program(name: &str) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/crowd.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-of-threads"));
    let mut command = Command::new("gcc");
    command.args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source);
    assert!(command.status().unwrap().success());
    program
}

/// What is found in a case, after so many probes.
fn report(program: &PathBuf, case: &str, probes: u64) -> tenure_model::Report {
    let running = Running::start(Command::new(program).arg(case));
    let is_enough = |it: &tenure_watch::Session| {
        it.counts().probes >= probes && it.elapsed() > Duration::from_secs(2)
    };
    let watched = watch(&request(running.0.id()), &is_enough).unwrap();
    tenure_watch::report(&watched, &tenure_watch::Programs::default(), 64, 0).report
}

#[test]
fn threads_that_follow_each_other_share_nothing_and_two_rows_of_them_share_a_line() {
    if !can_watch() {
        return;
    }
    let program = program("rows");
    // What the C library does for a thread that begins and ends takes less.
    let costs =
        |it: &Finding| it.observed.as_ref().and_then(|it| it.cost).is_some_and(|it| it > 0.01);
    let found = |case, probes| {
        let mut found = report(&program, case, probes).findings;
        found.retain(costs);
        found
    };
    let none = found("successors", 40);
    assert!(none.is_empty(), "{none:#?}");
    // On a busy machine the two rows are rarely there at a time.
    let mut seen = [60, 240, 960].into_iter().map(|probes| found("rows", probes));
    let found = seen.find(|found| !found.is_empty()).unwrap_or_default();
    let kinds: Vec<Kind> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::FalseSharing], "{found:#?}");
}

/// Not a test: watches a crowd with few file descriptors.
#[test]
#[ignore = "what another test runs with few file descriptors"]
fn finder() {
    let program = program("crowd");
    let is_it = |it: &Finding| it.kind == Kind::FalseSharing && names(it).contains("slots");
    // On a busy machine the two that count rarely have both CPUs.
    let mut seen = [60, 240, 960].into_iter().map(|probes| report(&program, "crowd", probes));
    let report = seen.find(|report| report.findings.iter().any(is_it)).expect("it is found");
    let tenure_model::Source::Run(run) = &report.source else { panic!("{report:?}") };
    // The first thread, the sleepers, and the two that count.
    assert!(run.threads >= 1003, "{}", run.threads);
    if std::env::var_os("TENURE_BY_THREADS").is_some() {
        assert!(run.missing.iter().any(|line| line.contains("ulimit -n")), "{:?}", run.missing);
    }
}

/// Not a test: watches a crowd until there are samples, with few file descriptors.
#[test]
#[ignore = "what another test runs with few file descriptors"]
fn sampler() {
    let running = Running::start(Command::new(program("sampled")).arg("crowd"));
    // The threads that run are the last of a thousand.
    std::thread::sleep(Duration::from_secs(1));
    let is_enough = |it: &tenure_watch::Session| {
        it.counts().samples > 0 || it.elapsed() > Duration::from_secs(2)
    };
    let watched = watch(&request(running.0.id()), &is_enough).unwrap();
    assert!(watched.counts.left_out > 0 && watched.counts.samples > 0, "{:?}", watched.counts);
}

/// A command with so many file descriptors.
fn limited(mut command: Command, descriptors: libc::rlim_t) -> Command {
    let limit = move || {
        let limit = libc::rlimit { rlim_cur: descriptors, rlim_max: descriptors };
        // SAFETY: it is a whole struct.
        let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: it makes a system call only.
    unsafe { command.pre_exec(limit) };
    command
}

#[test]
fn a_thousand_threads_are_watched_with_1024_file_descriptors() {
    if !can_watch() {
        return;
    }
    // As it is allowed here, and by the clocks of threads.
    let (as_allowed, mut by_threads) = (this("crowd::finder"), this("crowd::finder"));
    without(by_threads.env("TENURE_BY_THREADS", "1"), true);
    for command in [as_allowed, by_threads] {
        let output = limited(command, 1024).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn threads_that_run_have_the_first_of_few_file_descriptors() {
    if !can_watch() {
        return;
    }
    let mut command = this("crowd::sampler");
    without(&mut command, true);
    let output = limited(command, 256).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
