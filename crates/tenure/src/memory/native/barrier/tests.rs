use super::*;
use core::sync::atomic::AtomicU32;
use std::vec::Vec;

/// On lines of its own, so that a store can wait in its CPU's buffer.
#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU32);

impl Word {
    fn wait_for(&self, value: u32) -> u32 {
        let mut turns = 0;
        loop {
            // Acquire: pairs with the Release stores in `run`.
            let found = self.0.load(Ordering::Acquire);
            if found >= value {
                return found;
            }
            turns += 1;
            if turns % 100 == 0 {
                std::thread::yield_now();
            } else {
                core::hint::spin_loop();
            }
        }
    }
}

/// More memory than a core's caches hold. A store behind stores to it waits until memory has delivered their lines,
/// also where both CPUs share a core and its caches.
struct Ballast(Vec<u64>);

impl Ballast {
    fn new() -> Self {
        // Not 0, which the system would deliver at the first store to each page: a fault empties the CPU's buffer.
        Self(std::vec![1; 4 << 20])
    }

    fn store(&mut self, round: u32) {
        for nth in 0..8 {
            // Knuth's multiplicative hash: no order that a prefetcher knows.
            let place = (8 * round + nth).wrapping_mul(2_654_435_761) >> 10;
            self.0[place as usize] = u64::from(round);
        }
    }
}

#[derive(Default)]
struct Litmus {
    words: [Word; 2],
    arrived: [Word; 2],
    /// Twice the round, plus 1 if the thread saw the other's store.
    seen: [Word; 2],
}

impl Litmus {
    /// Only the barrier stands between the store and the load. The first thread's store waits behind its ballast, and
    /// the second thread comes a little later: without barriers the first one's load is early.
    fn run(&self, rounds: u32, mine: usize, barrier: impl Fn()) -> u32 {
        let other = 1 - mine;
        let mut missed = 0;
        let mut ballast = (mine == 0).then(Ballast::new);
        for round in 1..=rounds {
            self.arrived[mine].0.store(round, Ordering::Release);
            self.arrived[other].wait_for(round);
            match &mut ballast {
                Some(ballast) => ballast.store(round),
                None => (0..round % 256).for_each(|turn| _ = core::hint::black_box(turn)),
            }
            // Relaxed: the barrier is what is tested.
            self.words[mine].0.store(round, Ordering::Relaxed);
            barrier();
            let saw = self.words[other].0.load(Ordering::Relaxed) == round;
            self.seen[mine].0.store(2 * round + u32::from(saw), Ordering::Release);
            let other_saw = self.seen[other].wait_for(2 * round) > 2 * round;
            missed += u32::from(!saw && !other_saw);
        }
        missed
    }
}

/// Returns in how many rounds neither thread saw the other's store.
fn both_missed(rounds: u32, one_barrier: impl Fn() + Send, other_barrier: impl Fn() + Send) -> u32 {
    let litmus = &Litmus::default();
    std::thread::scope(|scope| {
        let one = scope.spawn(move || on_cpu(0, || litmus.run(rounds, 0, one_barrier)));
        let other = scope.spawn(move || on_cpu(1, || litmus.run(rounds, 1, other_barrier)));
        let missed = one.join().unwrap();
        assert_eq!(other.join().unwrap(), missed, "both count the same rounds");
        missed
    })
}

fn on_cpu<R>(nth: usize, act: impl FnOnce() -> R) -> R {
    #[cfg(all(target_os = "linux", not(miri)))]
    interrupt::Cpus::stay_on(nth);
    let _ = nth;
    act()
}

/// As many rounds as show a missing interrupt, on this machine and now: so many that some of them missed stores with
/// barriers that interrupt no thread.
fn telling_rounds() -> u32 {
    // The probability that a missing interrupt shows in none of as many rounds is exp(-25).
    const ENOUGH: u32 = 25;
    const AT_ONCE: u32 = 5_000;
    const AT_MOST: u32 = 1_000_000;
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1) {
        std::eprintln!("skipped: with one CPU no store is ever missed");
        return 0;
    }
    // All of a heavy barrier but the interrupt.
    let heavy = || heavy_in(core::hint::black_box(INTERRUPTS), || ());
    let (mut rounds, mut missed) = (0, 0);
    while missed < ENOUGH {
        missed += both_missed(AT_ONCE, free_light, heavy);
        rounds += AT_ONCE;
        assert!(rounds < AT_MOST, "the control sees {missed} missed stores in {rounds} rounds");
    }
    rounds
}

/// Two litmus tests at a time would take the CPUs from each other.
fn alone() -> impl Drop {
    static BUSY: std::sync::Mutex<()> = std::sync::Mutex::new(());
    BUSY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn is_a_pair(one_barrier: impl Fn() + Send, other_barrier: impl Fn() + Send) {
    let _alone = alone();
    assert_eq!(both_missed(telling_rounds(), one_barrier, other_barrier), 0);
}

fn heavy_state() -> u8 {
    heavy();
    STATE.load(Ordering::Relaxed)
}

#[test]
fn of_a_light_and_a_heavy_barrier_one_sees_the_others_store() {
    if heavy_state() == INTERRUPTS {
        // `light` without its look at the state, which gives stores time in a debug build.
        is_a_pair(free_light, heavy);
    } else {
        is_a_pair(light, heavy);
    }
}

#[test]
fn light_barriers_from_before_the_answer_go_with_heavy_ones_from_after() {
    let state = heavy_state();
    is_a_pair(|| light_in(UNKNOWN), move || heavy_in(state, interrupt::others));
}

#[test]
fn where_the_system_cannot_interrupt_fences_do() {
    is_a_pair(|| light_in(FENCES), || heavy_in(FENCES, interrupt::others));
}

#[test]
fn two_heavy_barriers_are_a_pair_too() {
    is_a_pair(heavy, heavy);
}

#[test]
fn full_fences_cannot_be_chosen_once_barriers_interrupt() {
    let state = heavy_state();
    assert_eq!(use_full_fences(), state == FENCES);
    assert_eq!(heavy_state(), state, "and it stays so");
}

#[cfg(all(target_os = "linux", not(miri)))]
mod interrupts {
    use super::*;

    #[test]
    fn the_state_is_what_the_system_can_do() {
        assert_eq!(heavy_state(), if interrupt::is_there() { INTERRUPTS } else { FENCES });
    }

    /// As if the ways before it were refused.
    #[test]
    fn each_way_that_replaces_membarrier_goes_with_a_light_barrier_that_is_free() {
        // The first is `membarrier`, which `heavy` has passed already where there is one.
        for (at, way) in interrupt::WAYS.into_iter().enumerate().skip(1) {
            if !way() {
                std::eprintln!("way {at} is not to be had here");
                continue;
            }
            is_a_pair(free_light, move || heavy_in(INTERRUPTS, || assert!(way())));
        }
    }
}
