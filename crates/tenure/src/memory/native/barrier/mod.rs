//! Asymmetric barriers: on Linux the heavy side interrupts the other threads; elsewhere both sides are full fences.
//!
//! An interrupted CPU passes a full fence, and so does a thread that is switched in. So if the heavy side interrupts
//! every CPU on which this process runs, the light one can be a compiler fence. The first barrier of the process
//! decides for all, unless [`use_full_fences`] was called before:
//!
//! | state | light | heavy |
//! |---|---|---|
//! | `UNKNOWN` | asks the system; full fence | asks the system, then as below |
//! | `INTERRUPTS` | compiler fence | full fence, [interrupts](interrupt) the others, full fence |
//! | `FENCES` | full fence | full fence |
//!
//! Asking registers the process for `membarrier`: a few milliseconds if there are threads already. A light barrier that
//! reads an old `UNKNOWN` does more than it has to; a heavy one has the answer before it chooses.
//!
//! A decision for compiler fences is final: a thread that passed one may go on without a fence for any time. So if the
//! kernel refuses `membarrier` later, something else has to [interrupt].

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this directory wraps core's"
)]

#[cfg(all(feature = "std", target_os = "linux", not(miri)))]
mod interrupt;
#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
mod interrupt {
    pub(super) fn register() -> bool {
        false
    }
    pub(super) fn others() {}
}
// Under Miri and sanitizers no store is late, so the control would fail.
#[cfg(all(test, feature = "std", not(any(miri, sanitized))))]
mod tests;

use core::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

const UNKNOWN: u8 = 0;
const INTERRUPTS: u8 = 1;
const FENCES: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

#[inline(always)]
pub(super) fn light() {
    // Relaxed: see the table; an old value only costs time.
    light_in(STATE.load(Ordering::Relaxed));
}

#[inline(always)]
fn light_in(state: u8) {
    match state {
        INTERRUPTS => free_light(),
        FENCES => fence(Ordering::SeqCst),
        _ => {
            ask();
            fence(Ordering::SeqCst);
        }
    }
}

/// A light barrier where the system can interrupt threads.
#[inline(always)]
pub(super) fn free_light() {
    compiler_fence(Ordering::SeqCst);
}

pub(super) fn light_is_free() -> bool {
    answer() == INTERRUPTS
}

#[cold]
pub(super) fn heavy() {
    heavy_in(answer(), interrupt::others);
}

fn answer() -> u8 {
    // Relaxed: the answer is always the same, and orders nothing.
    match STATE.load(Ordering::Relaxed) {
        UNKNOWN => ask(),
        known => known,
    }
}

#[cold]
fn ask() -> u8 {
    decide(if interrupt::register() { INTERRUPTS } else { FENCES })
}

fn decide(state: u8) -> u8 {
    // Relaxed: as in `answer`.
    match STATE.compare_exchange(UNKNOWN, state, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => state,
        Err(known) => known,
    }
}

/// Makes every barrier of this process a full fence. Returns `false` if a barrier was passed before and relies on
/// `membarrier`.
///
/// For programs that enter a sandbox. On Linux a pool, a domain, an [`RcuCell`](crate::rcu::RcuCell), a
/// [`Registry`](mod@crate::registry) or an [`Owner`](crate::owner::Owner) interrupts the other threads of the process by
/// the system call `membarrier`: when it is trimmed or closed, when objects end, or when a value is stored. If a seccomp filter refuses the call *before*
/// the first of them, the library uses full fences. If it comes *later*, threads already rely on being interrupted. The
/// library then
///
/// - maps and unmaps a page (`mmap`, `munmap`), on x86-64 CPUs which interrupt each other for that, or
/// - runs on every CPU in turn (`sched_setaffinity`, `sched_getaffinity`, and `gettid` and `/proc/self/task` to check
///   that it saw all), for tens of microseconds up to a time slice for each CPU. This misses tasks that share the
///   memory without being threads of the process (`clone` with `CLONE_VM` and without `CLONE_THREAD`), and needs a
///   `/proc` of the same PID namespace.
///
/// If the filter refuses these as well, the process aborts with a line on standard error; if it kills for `membarrier`,
/// the process dies. Call this function first thing in `main` to need no system call; or allow `membarrier`, which is
/// faster.
///
/// Cost: one or two full fences (some nanoseconds each) whenever a thread takes a slot from a pool or gives it back,
/// enters an object, looks one up, or clones or drops a [`Shared`](crate::owner::Shared). Threads scale as before.
///
/// # Example
///
/// ```
/// // First thing in `main`, before any pool or domain is used.
/// if !tenure::process::use_full_fences() {
///     eprintln!("membarrier has to stay allowed in the sandbox");
/// }
/// ```
#[must_use = "if barriers rely on membarrier already, it has to stay allowed"]
pub fn use_full_fences() -> bool {
    decide(FENCES) == FENCES
}

fn heavy_in(state: u8, interrupt_others: impl FnOnce()) {
    fence(Ordering::SeqCst);
    if state == INTERRUPTS {
        interrupt_others();
        fence(Ordering::SeqCst);
    }
}
