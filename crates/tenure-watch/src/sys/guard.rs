//! Keeps a program alive on virtual machines that lose the reason of a trap.
//!
//! A hypervisor may hand a debug trap to its guest without saying which breakpoint it was (`DR6` is zero). KVM did so
//! until Linux 6.14 (CVE-2025-21839): on a machine of 2026 one of 25,000 traps. The kernel then takes the trap for the
//! program's own, and sends it SIGTRAP, which ends it. So on virtual machines a thread is traced by `ptrace` while it
//! has breakpoints, and this signal is kept from it. Tracing does not stop the thread; only signals do.
//!
//! Breakpoints have to be closed before their threads are released. When this process is killed, the kernel does the
//! same: it closes descriptors before it ends tracing.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::process;

/// How long threads that run take to stop, at most, unless others have their CPU.
const SOON: Duration = Duration::from_millis(1);

/// How often it is looked whether they have.
const STEP: Duration = Duration::from_micros(10);

/// The threads that are traced.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    threads: BTreeMap<u32, State>,
    /// Signals that were kept from threads.
    pub(crate) kept: u64,
    /// The status of a child of ours that has ended: a wait for its first thread takes it.
    pub(crate) ended: BTreeMap<u32, WaitStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Guarded,
    /// It has been asked to stop, to be released.
    Stopping,
}

/// Whether traps may lose their reason here.
pub(crate) fn is_needed() -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    flags.lines().any(|line| line.starts_with("flags") && line.ends_with(" hypervisor"))
        || flags.contains(" hypervisor ")
}

impl Guard {
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
        self.threads.insert(tid, State::Guarded);
        Ok(())
    }

    /// Lets threads go on that signals have stopped.
    pub(crate) fn tend(&mut self) {
        for tid in self.threads.keys().copied().collect::<Vec<_>>() {
            self.tend_one(tid);
        }
    }

    /// Asks all threads to stop, and releases them. Those that do not stop soon are released by a later
    /// [`tend`](Self::tend).
    pub(crate) fn release(&mut self) {
        self.interrupt();
        let start = Instant::now();
        // A thread that has stopped waits until it is released.
        while !self.is_idle() && start.elapsed() < SOON {
            thread::sleep(STEP);
            self.tend();
        }
    }

    fn interrupt(&mut self) {
        for (tid, state) in &mut self.threads {
            // It fails for a thread that has ended.
            let _ = ptrace::interrupt(of(*tid));
            *state = State::Stopping;
        }
        self.tend();
    }

    /// Releases all threads. Those that sleep in the kernel are released by it, at the end of this process.
    pub(crate) fn finish(&mut self) {
        for _ in 0..1000 {
            if self.is_idle() {
                return;
            }
            self.interrupt();
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_idle(&self) -> bool {
        self.threads.is_empty()
    }

    fn tend_one(&mut self, tid: u32) {
        // As a thread of another process, it is waited for by its number alone.
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::__WALL;
        loop {
            let state = self.threads.get(&tid).copied();
            let status = match waitpid(of(tid), Some(flags)) {
                Ok(WaitStatus::StillAlive) => return,
                Ok(status) => status,
                Err(Errno::EINTR) => continue,
                Err(_) => {
                    self.threads.remove(&tid);
                    return;
                }
            };
            let stopping = state == Some(State::Stopping);
            let signal = match status {
                WaitStatus::Stopped(_, Signal::SIGTRAP) if is_lost_trap(tid) => {
                    self.kept += 1;
                    None
                }
                WaitStatus::Stopped(_, signal) => Some(signal),
                // The program is stopped, as by Ctrl-Z: it stays so.
                WaitStatus::PtraceEvent(_, signal, STOP) if signal != Signal::SIGTRAP => {
                    if !stopping {
                        let _ = listen(tid);
                        continue;
                    }
                    None
                }
                // A trap that has come, and has not been handed out, would end the thread.
                WaitStatus::PtraceEvent(..) if stopping && process::has_trap_pending(tid) => {
                    let _ = ptrace::cont(of(tid), None);
                    let _ = ptrace::interrupt(of(tid));
                    continue;
                }
                WaitStatus::PtraceEvent(..) => None,
                WaitStatus::Exited(..) | WaitStatus::Signaled(..) => {
                    self.ended.insert(tid, status);
                    self.threads.remove(&tid);
                    return;
                }
                _ => None,
            };
            // Both fail for a thread that was killed meanwhile.
            if stopping {
                let _ = ptrace::detach(of(tid), signal);
                self.threads.remove(&tid);
                return;
            }
            let _ = ptrace::cont(of(tid), signal);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.finish();
    }
}

/// `PTRACE_EVENT_STOP`: a thread that was asked to stop, or whose process is stopped.
pub(super) const STOP: i32 = 128;

pub(super) fn of(tid: u32) -> Pid {
    Pid::from_raw(tid.cast_signed())
}

/// Whether a SIGTRAP is what becomes of a breakpoint's trap without a reason.
pub(super) fn is_lost_trap(tid: u32) -> bool {
    ptrace::getsiginfo(of(tid)).is_ok_and(|it| is_lost(it.si_code))
}

/// The same, of the code of a signal. A breakpoint instruction's own has another one, and so have those that programs
/// send.
pub(super) fn is_lost(code: i32) -> bool {
    const TRAP_BRKPT: i32 = 1;
    const TRAP_HWBKPT: i32 = 4;
    matches!(code, TRAP_BRKPT | TRAP_HWBKPT)
}

/// Leaves a stopped program stopped.
pub(super) fn listen(tid: u32) -> io::Result<()> {
    // SAFETY: the request takes no addresses, and fails for threads that are not traced.
    let result = unsafe {
        nix::libc::ptrace(
            nix::libc::PTRACE_LISTEN,
            tid.cast_signed(),
            std::ptr::null_mut::<()>(),
            std::ptr::null_mut::<()>(),
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
