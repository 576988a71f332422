//! Where the kernel refuses perf events, ptrace does it all.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::libc;
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
    let filter = move || {
        let load = |at| libc::sock_filter {
            code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16,
            jt: 0,
            jf: 0,
            k: at,
        };
        let skip_unless = |value, jf| libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf,
            k: value,
        };
        let answer =
            |k| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
        /// Where the system call's number is, and its second argument, the thread.
        const NUMBER: u32 = 0;
        const THREAD: u32 = 24;
        let open = u32::try_from(libc::SYS_perf_event_open).expect("a small number");
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
        let mut program = [
            load(NUMBER),
            skip_unless(open, 3),
            load(if of_cpus { THREAD } else { NUMBER }),
            skip_unless(if of_cpus { u32::MAX } else { open }, 1),
            answer(refused),
            answer(libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: 6, filter: program.as_mut_ptr() };
        // SAFETY: the program and what it points to live until the call returns.
        let result = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: it makes system calls only.
    unsafe { command.pre_exec(filter) }
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
