//! Asymmetric barriers: `membarrier` on Linux, a full fence on both sides elsewhere.
//!
//! `membarrier(PRIVATE_EXPEDITED)` interrupts every CPU on which a thread of this process runs, and
//! each passes a full fence; threads that do not run pass one when they are switched in. So who pays on
//! the heavy side makes a compiler fence enough on the light one (man page membarrier(2), Linux
//! `kernel/sched/membarrier.c`, 4.14).
//!
//! Which it is has to be the same for both sides, and the first barrier of the process finds out:
//!
//! | state | light | heavy |
//! |---|---|---|
//! | `UNKNOWN` | asks the system; full fence | asks the system, then as below |
//! | `EXPEDITED` | compiler fence | full fence, `membarrier` |
//! | `FENCES` | full fence | full fence |
//!
//! Asking registers the process, which takes the kernel a few milliseconds if there are threads already. A
//! light barrier that still believes in `UNKNOWN` does more than it has to. A heavy one never does less: it
//! has the answer of the system before it chooses, and that answer is the same for all.

use core::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

const UNKNOWN: u8 = 0;
const EXPEDITED: u8 = 1;
const FENCES: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

#[inline(always)]
pub(super) fn light() {
    // Relaxed: see the table; an old value only costs time.
    match STATE.load(Ordering::Relaxed) {
        EXPEDITED => compiler_fence(Ordering::SeqCst),
        FENCES => fence(Ordering::SeqCst),
        _ => {
            ask();
            fence(Ordering::SeqCst);
        }
    }
}

#[cold]
pub(super) fn heavy() {
    fence(Ordering::SeqCst);
    // Relaxed: what others know orders nothing.
    let state = match STATE.load(Ordering::Relaxed) {
        UNKNOWN => ask(),
        known => known,
    };
    if state == EXPEDITED {
        system::interrupt_others();
        fence(Ordering::SeqCst);
    }
}

#[cold]
fn ask() -> u8 {
    let state = if system::register() { EXPEDITED } else { FENCES };
    // Relaxed: as above.
    STATE.store(state, Ordering::Relaxed);
    state
}

#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod system {
    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the system call takes three integers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Whether threads can be interrupted from now on.
    pub(super) fn register() -> bool {
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    pub(super) fn interrupt_others() {
        let interrupted = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        // A process that was forked may have to register again.
        let done = interrupted() || (register() && interrupted());
        // Light barriers are compiler fences by now: going on would be a race.
        assert!(done, "membarrier was there when it was registered, and is gone now");
    }
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
mod system {
    pub(super) fn register() -> bool {
        false
    }
    pub(super) fn interrupt_others() {}
}
