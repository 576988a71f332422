//! A process that watches itself.

use std::process::Command;
#[allow(clippy::disallowed_types, reason = "what is watched")]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::libc;
use tenure_watch::{Session, WatchOptions};

use crate::can_watch;
use crate::life::this;

/// Two counters on a line.
#[repr(align(128))]
#[allow(clippy::disallowed_types, reason = "what is watched")]
struct Counters([AtomicU64; 2]);

#[allow(clippy::disallowed_types, reason = "what is watched")]
static COUNTERS: Counters = Counters([AtomicU64::new(0), AtomicU64::new(0)]);

/// What the kernel sends for a trap whose reason was lost.
fn lose_a_trap() {
    // SAFETY: all zeros are one, and the kernel reads it only.
    let sent = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        info.si_signo = libc::SIGTRAP;
        info.si_code = libc::TRAP_BRKPT;
        let (pid, tid) = (libc::getpid(), libc::gettid());
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, libc::SIGTRAP, &raw const info)
    };
    assert_eq!(sent, 0);
}

/// Not a test: a program that watches itself.
#[test]
#[ignore = "what another test runs in a process of its own"]
#[allow(clippy::disallowed_types, reason = "what is watched")]
fn server() {
    let is_over = AtomicBool::new(false);
    let address = &raw const COUNTERS as u64;
    thread::scope(|scope| {
        for counter in &COUNTERS.0 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let options = WatchOptions {
            rate: 500,
            probes: 50.0,
            share: 1.0,
            line_bytes: 64,
            through: Vec::new(),
        };
        let mut session = Session::start(options).unwrap();
        let is_virtual = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains(" hypervisor");
        if is_virtual {
            lose_a_trap();
        }
        let mut watched = session.outcome();
        // However long it takes on a busy machine.
        for _ in 0..600 {
            session.watch_for(Duration::from_millis(100)).unwrap();
            watched = session.outcome();
            if watched.counts.probes > 5 && watched.recording.contended() > 0 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let lines: Vec<_> = watched.recording.processes.iter().flat_map(|it| &it.lines).collect();
        assert!(lines.iter().any(|line| line.address == address), "{lines:#x?} {address:#x}");
        assert!(watched.counts.kept >= u64::from(is_virtual), "{:?}", watched.counts);
        let own = libc::pid_t::try_from(watched.recording.processes[0].pid);
        assert_eq!(own, Ok(nix::unistd::getpid().as_raw()));
    });
}

#[test]
fn a_process_that_watches_itself_finds_its_line_and_survives_a_lost_trap() {
    if !can_watch()
        || tenure_watch::check().is_ok_and(|it| it.iter().any(|it| it.contains("ptrace works")))
    {
        return eprintln!("skipped: no perf events here");
    }
    let mut command: Command = this("own::server");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
