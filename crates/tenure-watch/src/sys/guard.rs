//! Keeps a program alive on virtual machines that lose the reason of a trap.
//!
//! A hypervisor may hand a debug trap to its guest without saying which breakpoint it was (`DR6` is zero). KVM did so
//! until Linux 6.14 (CVE-2025-21839): on a machine of 2026 one of 25,000 traps. The kernel then takes the trap for the
//! program's own, and sends it SIGTRAP, which ends it. So on virtual machines a thread is traced by `ptrace` while it
//! has breakpoints, and this signal is kept from it. Tracing does not stop the thread; only signals do.
//!
//! Breakpoints are closed before their thread is released, while it is stopped. Closing one of a running thread interrupts its
//! CPU, which takes ten times as long on a virtual machine. If this process is killed, the kernel keeps that order: it closes
//! descriptors before it ends tracing.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use tenure_model::Ended;

use super::process;
use super::tracee::{self, WaitStatus, has_trap_pending, is_lost_trap, of};

/// How long threads that run take to stop, at most, unless others have their CPU.
const STOP_PATIENCE: Duration = Duration::from_millis(1);

/// How often to ask at once whether a thread has stopped. One that has a CPU needs no more.
const BUSY_POLLS: u32 = 20;

/// How long to sleep between later checks.
const STOP_POLL: Duration = Duration::from_micros(10);

/// The threads that are traced.
#[derive(Debug, Default)]
pub(crate) struct TrapGuard {
    threads: BTreeMap<u32, GuardState>,
    /// Signals that were kept from threads.
    pub(crate) kept: u64,
    /// Whether a thread has had a signal while it was traced.
    pub(crate) has_signals: bool,
    /// The status of a child of ours that has ended: a wait for its first thread takes it.
    pub(crate) ended: BTreeMap<u32, Ended>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardState {
    Guarded,
    /// It has been asked to stop, to be released.
    Stopping,
}

/// How a thread has stopped: with a signal that it is to have, or because it was asked to.
struct Stop {
    /// 0 if there is none.
    signal: i32,
    is_asked: bool,
}

/// Whether traps may lose their reason here.
pub(crate) fn is_needed() -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    flags.lines().any(|line| line.starts_with("flags") && line.ends_with(" hypervisor"))
        || flags.contains(" hypervisor ")
}

impl TrapGuard {
    /// Begins to trace a thread. It is not stopped.
    pub(crate) fn seize(&mut self, tid: u32) -> io::Result<()> {
        if self.threads.contains_key(&tid) {
            // It has not stopped since it was released, as threads that sleep in the kernel do not.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match ptrace::seize(of(tid), ptrace::Options::empty()) {
            Err(Errno::EPERM) if process::is_ending(tid) => return Err(Errno::ESRCH.into()),
            result => result?,
        }
        self.threads.insert(tid, GuardState::Guarded);
        Ok(())
    }

    /// Lets threads go on that signals have stopped, and those go that have stopped to be released.
    pub(crate) fn tend(&mut self) {
        // One call, and not one for each thread, which ten times in a probe have nothing to say.
        if self.threads.is_empty() || !tracee::is_any_changed() {
            return;
        }
        self.tend_each();
    }

    fn tend_each(&mut self) {
        for tid in self.threads.keys().copied().collect::<Vec<_>>() {
            if let Some(stop) = self.tend_one(tid) {
                self.let_go(tid, stop);
            }
        }
    }

    /// Stops a thread, has its breakpoints taken away, and releases it. While it is stopped, that takes no interrupts of
    /// its CPU. One that does not stop soon is released by a later [`tend`](Self::tend).
    pub(crate) fn release(&mut self, tid: u32, disarm: impl FnOnce()) {
        self.interrupt(tid);
        let start = Instant::now();
        let mut tries = 0;
        let stop = loop {
            let stop = self.tend_one(tid);
            if stop.is_some()
                || !self.threads.contains_key(&tid)
                || start.elapsed() >= STOP_PATIENCE
            {
                break stop;
            }
            tries += 1;
            if tries > BUSY_POLLS {
                thread::sleep(STOP_POLL);
            }
        };
        disarm();
        if let Some(stop) = stop {
            self.let_go(tid, stop);
        }
    }

    fn interrupt(&mut self, tid: u32) {
        if let Some(state) = self.threads.get_mut(&tid) {
            *state = GuardState::Stopping;
            tracee::interrupt(tid);
        }
    }

    /// Releases all threads. Those that sleep in the kernel are released by it, at the end of this process.
    pub(crate) fn finish(&mut self) {
        for _ in 0..1000 {
            if self.is_idle() {
                return;
            }
            for tid in self.threads.keys().copied().collect::<Vec<_>>() {
                self.interrupt(tid);
            }
            self.tend_each();
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether no thread is traced.
    pub(crate) fn is_idle(&self) -> bool {
        self.threads.is_empty()
    }

    /// Lets a thread go on that a signal has stopped. One that was asked to stop, and has, is the caller's to let go.
    fn tend_one(&mut self, tid: u32) -> Option<Stop> {
        loop {
            let stopping = self.threads.get(&tid) == Some(&GuardState::Stopping);
            let stop = match tracee::changed(tid) {
                WaitStatus::None => return None,
                WaitStatus::Gone => {
                    self.threads.remove(&tid);
                    return None;
                }
                WaitStatus::Ended(ended) => {
                    self.ended.insert(tid, ended);
                    self.threads.remove(&tid);
                    return None;
                }
                WaitStatus::Signal(libc::SIGTRAP) if is_lost_trap(tid) => {
                    self.kept += 1;
                    Stop { signal: 0, is_asked: false }
                }
                WaitStatus::Signal(signal) => {
                    self.has_signals = true;
                    Stop { signal, is_asked: false }
                }
                // The program stays stopped.
                WaitStatus::Stopped if !stopping => {
                    tracee::listen(tid);
                    continue;
                }
                WaitStatus::Stopped => Stop { signal: 0, is_asked: false },
                WaitStatus::Asked => Stop { signal: 0, is_asked: true },
            };
            if stopping {
                return Some(stop);
            }
            tracee::go_on(tid, stop.signal);
        }
    }

    /// Ends the tracing of a thread that has stopped and has no breakpoints any more.
    fn let_go(&mut self, tid: u32, Stop { signal, is_asked }: Stop) {
        if is_asked && has_trap_pending(tid) {
            // A trap that has come, and has not been handed out, would end the thread.
            tracee::go_on(tid, 0);
            tracee::interrupt(tid);
            return;
        }
        tracee::detach(tid, signal);
        self.threads.remove(&tid);
    }
}

impl Drop for TrapGuard {
    fn drop(&mut self) {
        self.finish();
    }
}
