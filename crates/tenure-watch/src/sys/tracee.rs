//! A traced thread: what it stops with, also if that is a real-time signal, which `nix` does not know. Nothing here allocates.

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::unistd::Pid;
use tenure_model::Ended;

use crate::arch;

/// What has become of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitStatus {
    /// Nothing that is new.
    None,
    /// It has stopped, since it is about to have this signal.
    Signal(i32),
    /// Its process was stopped, as by Ctrl-Z.
    Stopped,
    /// It has stopped, as it was asked to.
    Asked,
    Ended(Ended),
    /// It is not there, or not traced.
    Gone,
}

pub(super) fn of(tid: u32) -> Pid {
    Pid::from_raw(tid.cast_signed())
}

/// Whether anything has become of any thread that is traced, or of a child of ours. It is still there to be asked for.
pub(super) fn is_any_changed() -> bool {
    // SAFETY: it is made of numbers.
    let mut of: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the kernel writes to `of`, which says afterwards what process it is of, if there is one.
    let result = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut of, flags) };
    // SAFETY: the kernel has set this field, or it is zero.
    result != 0 || unsafe { of.si_pid() } != 0
}

/// What has become of a thread since this was asked last. As one of another process, it is waited for by its number alone.
pub(super) fn changed(tid: u32) -> WaitStatus {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one number.
        let got = unsafe {
            libc::waitpid(tid.cast_signed(), &raw mut status, libc::WNOHANG | libc::__WALL)
        };
        match got {
            0 => return WaitStatus::None,
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => return WaitStatus::Gone,
            _ => return read(status),
        }
    }
}

fn read(status: i32) -> WaitStatus {
    /// `PTRACE_EVENT_STOP`.
    const STOP: i32 = 128;
    if libc::WIFEXITED(status) {
        return WaitStatus::Ended(Ended::Exited { status: libc::WEXITSTATUS(status) });
    }
    if libc::WIFSIGNALED(status) {
        return WaitStatus::Ended(Ended::Killed { signal: libc::WTERMSIG(status) });
    }
    match (status >> 16, libc::WSTOPSIG(status)) {
        (0, signal) => WaitStatus::Signal(signal),
        (STOP, signal) if signal != libc::SIGTRAP => WaitStatus::Stopped,
        _ => WaitStatus::Asked,
    }
}

/// Lets a stopped thread go on with a signal, or without one if it is 0. This fails for one that was killed meanwhile, as all below.
pub(super) fn go_on(tid: u32, signal: i32) {
    request(libc::PTRACE_CONT, tid, signal);
}

/// The same, and it is not traced any more.
pub(super) fn detach(tid: u32, signal: i32) {
    request(libc::PTRACE_DETACH, tid, signal);
}

/// Leaves a stopped program stopped.
pub(super) fn listen(tid: u32) {
    request(libc::PTRACE_LISTEN, tid, 0);
}

/// Asks a thread to stop.
pub(super) fn interrupt(tid: u32) {
    request(libc::PTRACE_INTERRUPT, tid, 0);
}

fn request(which: arch::PtraceRequest, tid: u32, signal: i32) {
    // SAFETY: these requests take a number and no addresses, and fail for threads that are not traced.
    unsafe {
        libc::ptrace(
            which,
            tid.cast_signed(),
            std::ptr::null_mut::<libc::c_void>(),
            libc::c_long::from(signal),
        )
    };
}

/// Whether the SIGTRAP that a thread has stopped with is what becomes of a breakpoint's trap without a reason.
pub(super) fn is_lost_trap(tid: u32) -> bool {
    ptrace::getsiginfo(of(tid)).is_ok_and(|it| is_lost(it.si_code))
}

/// The same, of the code of a signal. Those that programs send have another one.
pub(super) fn is_lost(code: i32) -> bool {
    arch::TRAPS.contains(&code)
}

/// Whether a stopped thread has a lost trap that has not been handed out.
pub(super) fn has_trap_pending(tid: u32) -> bool {
    #[repr(C)]
    struct Arguments {
        offset: u64,
        flags: u32,
        most: i32,
    }
    const MAX_SIGNALS: i32 = 8;
    let mut arguments = Arguments { offset: 0, flags: 0, most: MAX_SIGNALS };
    // SAFETY: it is made of numbers.
    let mut signals: [libc::siginfo_t; MAX_SIGNALS as usize] = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the kernel reads the arguments, and writes at most `MOST` signals, for which there is room.
        let count = unsafe {
            libc::ptrace(
                libc::PTRACE_PEEKSIGINFO,
                tid.cast_signed(),
                &raw const arguments,
                signals.as_mut_ptr(),
            )
        };
        // A thread that was killed meanwhile has none.
        let count = usize::try_from(count).unwrap_or(0).min(signals.len());
        if signals[..count].iter().any(|it| it.si_signo == libc::SIGTRAP && is_lost(it.si_code)) {
            return true;
        }
        if count < signals.len() {
            return false;
        }
        arguments.offset += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_by_a_real_time_signal_is_one() {
        // With it glibc ends threads that are cancelled.
        const CANCEL: i32 = 32;
        assert_eq!(read(CANCEL << 8 | 0x7f), WaitStatus::Signal(CANCEL));
        assert_eq!(read(libc::SIGTRAP << 8 | 0x7f), WaitStatus::Signal(libc::SIGTRAP));
        assert_eq!(read(128 << 16 | libc::SIGTRAP << 8 | 0x7f), WaitStatus::Asked);
        assert_eq!(read(128 << 16 | libc::SIGTSTP << 8 | 0x7f), WaitStatus::Stopped);
        assert_eq!(read(3 << 8), WaitStatus::Ended(Ended::Exited { status: 3 }));
        assert_eq!(read(CANCEL), WaitStatus::Ended(Ended::Killed { signal: CANCEL }));
    }
}
