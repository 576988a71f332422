//! Children that go on where a fork has left their parent's other threads behind.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// After that many seconds a child hangs.
const PATIENCE: u32 = 20;

/// Runs `child` in a process of its own, whose only thread it has, and says how that ended: 0 if well.
pub(crate) fn in_child(child: impl FnOnce()) -> libc::c_int {
    // SAFETY: the child runs `child` and ends: it returns to nobody's code.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "no process to be had");
    if process == 0 {
        // SAFETY: sets a timer.
        unsafe { libc::alarm(PATIENCE) };
        let failed = catch_unwind(AssertUnwindSafe(child)).is_err();
        // SAFETY: ends the process, and runs nothing of what the other threads registered.
        unsafe { libc::_exit(libc::c_int::from(failed)) };
    }
    let mut status = 0;
    // SAFETY: `status` is a place for the status of a child that nobody else waits for.
    let ended = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!(ended, process);
    status
}

/// Fails unless the child of that turn ended well.
pub(crate) fn expect_well(turn: usize, status: libc::c_int) {
    let how = if status == libc::SIGALRM { "hangs" } else { "failed" };
    assert_eq!(status, 0, "child {turn}: {how}");
}

/// Calls its function when it is dropped.
pub(crate) struct AtEnd<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
