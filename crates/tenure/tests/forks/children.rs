//! Children that go on where a fork has left their parent's other threads behind.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seconds, after which a child hangs.
const PATIENCE: u32 = 20;

/// Runs `child` in a process of its own with one thread, and returns its status: 0 if well.
pub(crate) fn in_child(child: impl FnOnce()) -> libc::c_int {
    let process = fork();
    if process == 0 {
        end_child(child);
    }
    wait_for(process)
}

/// Returns 0 in the child, which is to come to [`end_child`], and its number in the parent.
pub(crate) fn fork() -> libc::pid_t {
    // SAFETY: the child has this thread alone, whose code is made for that, and ends before it returns to others'.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "no process to be had");
    if process == 0 {
        // SAFETY: sets a timer.
        unsafe { libc::alarm(PATIENCE) };
    }
    process
}

/// Ends the child, well unless this panics.
pub(crate) fn end_child(child: impl FnOnce()) -> ! {
    let failed = catch_unwind(AssertUnwindSafe(child)).is_err();
    // SAFETY: ends the process, and runs nothing of what the other threads registered.
    unsafe { libc::_exit(libc::c_int::from(failed)) };
}

/// The child's status: 0 if well.
pub(crate) fn wait_for(process: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: `status` is a place for the status of a child of this thread alone.
    let ended = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!(ended, process);
    status
}

pub(crate) fn expect_well(turn: usize, status: libc::c_int) {
    let how = if status == libc::SIGALRM { "hangs" } else { "failed" };
    assert_eq!(status, 0, "child {turn}: {how}");
}

pub(crate) struct AtEnd<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
