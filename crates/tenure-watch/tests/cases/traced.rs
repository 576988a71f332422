//! Where the kernel refuses perf events, ptrace does it all.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use tenure_watch::watch;

use crate::life::{busy_program, is_traced, this};
use crate::{Build, CASES, Running, missed, request};

/// Not a test: watches a case until it has found it.
#[test]
#[ignore = "what other tests run where perf events are refused"]
fn finder() {
    let lines = tenure_watch::check().unwrap();
    assert!(lines.iter().any(|line| line.contains("ptrace works")), "{lines:?}");
    let adjacent = CASES.iter().find(|case| case.name == "adjacent").unwrap();
    assert_eq!(missed(&Build::new(false, 1), adjacent), None);
}

/// Not a test: a process that is started, watched, and ends.
#[test]
#[ignore = "what other tests run where perf events are refused"]
fn starter() {
    use tenure_model::Ended;
    let words =
        ["sh", "-c", "sleep 0.1; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; exit 3"];
    let target = tenure_watch::WatchTarget::Command(words.map(Into::into).to_vec());
    let watched = watch(&tenure_watch::WatchRequest { target, ..request(0) }, &|_| false).unwrap();
    assert_eq!(watched.recording.ended, Ended::Exited { status: 3 });
    assert!(watched.is_traced && watched.counts.samples > 0, "{watched:?}");
}

/// A command that may not open perf events, as in a container.
fn without_perf(command: &mut Command) -> &mut Command {
    without(command, false)
}

/// The same, or one that may open those of threads, but not of CPUs.
pub(crate) fn without(command: &mut Command, of_cpus: bool) -> &mut Command {
    // The second argument is the thread, or -1.
    let all = u64::from(u32::MAX);
    let of_cpu = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, all).unwrap();
    let rules = if of_cpus { vec![SeccompRule::new(vec![of_cpu]).unwrap()] } else { Vec::new() };
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(
        [(libc::SYS_perf_event_open, rules)].into(),
        SeccompAction::Allow,
        refused,
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    // SAFETY: it makes system calls only, unless it fails.
    unsafe {
        command.pre_exec(move || seccompiler::apply_filter(&program).map_err(io::Error::other))
    }
}

/// Where ptrace is refused as well, nothing can be found.
fn can_trace() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_traced = !status.contains("TracerPid:\t0\n");
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let can = !is_traced && scope.trim().parse().unwrap_or(0) < 3;
    if !can {
        eprintln!("skipped: ptrace is refused here");
    }
    can
}

/// Runs a test of this program where perf events are refused.
fn passes_without_perf(test: &str) {
    if !can_trace() {
        return;
    }
    let output = without_perf(&mut this(test)).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{}", text.join("\n"));
}

#[test]
fn adjacent_counters_are_found_without_perf_events() {
    passes_without_perf("traced::finder");
}

#[test]
fn a_program_that_is_started_without_perf_events_keeps_its_status() {
    passes_without_perf("traced::starter");
}

/// ptrace leaves breakpoints behind, and the next hit would end the program.
#[test]
fn a_program_lives_on_when_its_watcher_without_perf_events_is_killed() {
    if !can_trace() {
        return;
    }
    let mut program = busy_program();
    let pid = program.0.id();
    for milliseconds in [1000, 1013, 1027, 1039] {
        let mut command = this("life::watcher");
        let watcher = Running::start(without_perf(command.env("TENURE_PID", pid.to_string())));
        thread::sleep(Duration::from_millis(milliseconds));
        drop(watcher);
    }
    // The tracer ends once it sees the end of its parent.
    while is_traced(pid) {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(200));
    assert_eq!(program.0.try_wait().unwrap(), None);
}
