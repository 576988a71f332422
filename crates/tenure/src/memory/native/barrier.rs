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
//! has the answer before it chooses, and the first answer that anybody got is the answer for all.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this directory wraps core's"
)]

use core::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

const UNKNOWN: u8 = 0;
const EXPEDITED: u8 = 1;
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
        EXPEDITED => free_light(),
        FENCES => fence(Ordering::SeqCst),
        _ => {
            ask();
            fence(Ordering::SeqCst);
        }
    }
}

/// What a light barrier is where the system can interrupt threads.
#[inline(always)]
pub(super) fn free_light() {
    compiler_fence(Ordering::SeqCst);
}

pub(super) fn light_is_free() -> bool {
    answer() == EXPEDITED
}

#[cold]
pub(super) fn heavy() {
    fence(Ordering::SeqCst);
    heavy_in(answer());
}

/// What the system says, which is always the same.
fn answer() -> u8 {
    // Relaxed: what others know orders nothing.
    match STATE.load(Ordering::Relaxed) {
        UNKNOWN => ask(),
        known => known,
    }
}

#[cold]
fn ask() -> u8 {
    let state = if system::register() { EXPEDITED } else { FENCES };
    // The first answer is everybody's, should the system change its mind meanwhile. Relaxed: as above.
    match STATE.compare_exchange(UNKNOWN, state, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => state,
        Err(known) => known,
    }
}

/// What follows the full fence of a heavy barrier.
fn heavy_in(state: u8) {
    if state == EXPEDITED {
        system::interrupt_others();
        fence(Ordering::SeqCst);
    }
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

    /// Whether the system says that it can interrupt threads.
    #[cfg(test)]
    pub(super) fn is_there() -> bool {
        // SAFETY: as above.
        let commands =
            unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
        let all = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED
            | libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
        commands >= 0 && commands & libc::c_long::from(all) == libc::c_long::from(all)
    }

    pub(super) fn interrupt_others() {
        let interrupted = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        // A process that was forked may have to register again.
        let done = interrupted() || (register() && interrupted());
        if !done {
            // Light barriers are compiler fences by now: going on would be a race, and unwinding would leave
            // others waiting for whoever needed the barrier.
            std::eprintln!(
                "tenure: membarrier was there when it was registered, and is refused now (a seccomp filter?): \
                 cannot go on"
            );
            std::process::abort();
        }
    }
}

#[cfg(not(all(feature = "std", target_os = "linux", not(miri))))]
mod system {
    pub(super) fn register() -> bool {
        false
    }
    #[cfg(test)]
    pub(super) fn is_there() -> bool {
        false
    }
    pub(super) fn interrupt_others() {}
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU32;

    /// A word on lines of its own, so that a store can wait in its CPU's buffer.
    #[derive(Default)]
    #[repr(align(128))]
    struct Word(AtomicU32);

    #[derive(Default)]
    struct Litmus {
        words: [Word; 2],
        seen: [Word; 2],
        arrived: Word,
    }

    impl Litmus {
        /// Returns when both threads have called it as often.
        fn meet(&self, times: u32) {
            self.arrived.0.fetch_add(1, Ordering::AcqRel);
            let mut turns = 0;
            while self.arrived.0.load(Ordering::Acquire) < 2 * times {
                turns += 1;
                if turns % 1_000 == 0 {
                    std::thread::yield_now();
                }
            }
        }

        fn run(&self, rounds: u32, mine: usize, barrier: impl Fn()) -> u32 {
            let mut missed = 0;
            for round in 1..=rounds {
                self.meet(2 * round - 1);
                // Whoever came first hears of the other later: now and then the two are even.
                for _ in 0..round * [7, 13][mine] % 61 {
                    core::hint::spin_loop();
                }
                // Relaxed: the barrier is what is tested.
                self.words[mine].0.store(round, Ordering::Relaxed);
                barrier();
                let other = self.words[1 - mine].0.load(Ordering::Relaxed);
                self.seen[mine].0.store(other, Ordering::Relaxed);
                self.meet(2 * round);
                let saw = |who: usize| self.seen[who].0.load(Ordering::Relaxed) == round;
                missed += u32::from(!saw(0) && !saw(1));
            }
            missed
        }
    }

    /// Two threads each store a word of their own, pass a barrier, and load the other's word. Returns in how
    /// many of the rounds neither saw the other's store.
    fn both_missed(
        rounds: u32,
        one_barrier: impl Fn() + Send + 'static,
        other_barrier: impl Fn(),
    ) -> u32 {
        let litmus = std::sync::Arc::<Litmus>::default();
        let its = std::sync::Arc::clone(&litmus);
        let other = std::thread::spawn(move || its.run(rounds, 0, one_barrier));
        let missed = litmus.run(rounds, 1, other_barrier);
        assert_eq!(other.join().unwrap(), missed, "both count the same rounds");
        missed
    }

    /// The heavy side without the question to the system.
    fn heavy_as(state: u8) {
        fence(Ordering::SeqCst);
        heavy_in(state);
    }

    #[test]
    fn the_state_is_what_the_system_can_do() {
        assert_eq!(heavy_state(), if system::is_there() { EXPEDITED } else { FENCES });
        assert_eq!(heavy_state(), STATE.load(Ordering::Relaxed), "and it stays so");
    }

    fn heavy_state() -> u8 {
        heavy();
        STATE.load(Ordering::Relaxed)
    }

    #[test]
    fn of_a_light_and_a_heavy_barrier_one_sees_the_others_store() {
        heavy();
        assert_eq!(both_missed(5_000, light, heavy), 0);
    }

    #[test]
    fn light_barriers_from_before_the_answer_go_with_heavy_ones_from_after() {
        let state = heavy_state();
        assert_eq!(both_missed(5_000, || light_in(UNKNOWN), || heavy_as(state)), 0);
    }

    #[test]
    fn where_the_system_cannot_interrupt_fences_do() {
        assert_eq!(both_missed(20_000, || light_in(FENCES), || heavy_as(FENCES)), 0);
    }

    #[test]
    fn two_heavy_barriers_are_a_pair_too() {
        assert_eq!(both_missed(5_000, heavy, heavy), 0);
    }
}
