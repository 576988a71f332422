//! The threads of a case, and how long they take.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Threads of a case. ci/predictions.py asks for more.
pub const THREADS: usize = match option_env!("THREADS") {
    Some(number) => match usize::from_str_radix(number, 10) {
        Ok(number) => number,
        Err(_) => panic!("THREADS has to be a number"),
    },
    None => 2,
};

/// Iterations of each thread. ci/run_cost.py asks for more than a start takes, and `tenure watch` ends the program.
pub const TIMES: u64 = match (option_env!("LONG"), option_env!("ENDLESS")) {
    (_, Some(_)) => 1 << 40,
    (Some(_), None) => 20_000_000,
    (None, None) => 2_000_000,
};

/// The same, unless slices are timed, and the rounds of work after each.
static ITERATIONS: AtomicU64 = AtomicU64::new(TIMES);
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Whether threads have a CPU each, and measure themselves.
static IS_TIMED: AtomicUsize = AtomicUsize::new(0);
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);
static SWITCHES: AtomicU64 = AtomicU64::new(0);

/// The iterations of one thread.
#[derive(Clone, Copy)]
pub struct Loop {
    times: u64,
    rounds: u64,
}

impl Loop {
    #[inline(always)]
    pub fn each(self, mut iteration: impl FnMut(u64)) {
        for i in 0..self.times {
            iteration(i);
            if self.rounds > 0 {
                let round = |hash: u64, round: u64| (hash ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
                black_box((0..self.rounds).fold(i, round));
            }
        }
    }
}

/// Runs a closure on all threads at once, with the number of each.
pub fn run(work: impl Fn(usize, Loop) + Sync) {
    run_with(0..THREADS, work);
}

/// Runs a closure on all threads at once, each with its own argument.
pub fn run_with<T: Send>(arguments: impl IntoIterator<Item = T>, work: impl Fn(T, Loop) + Sync) {
    let is_timed = IS_TIMED.load(Relaxed) != 0;
    let (are_there, have_begun) = (Barrier::new(THREADS), AtomicUsize::new(0));
    let all = Loop { times: ITERATIONS.load(Relaxed), rounds: ROUNDS.load(Relaxed) };
    thread::scope(|scope| {
        for (thread, argument) in arguments.into_iter().enumerate() {
            let (work, are_there, have_begun) = (&work, &are_there, &have_begun);
            scope.spawn(move || {
                if !is_timed {
                    are_there.wait();
                    return work(argument, all);
                }
                system::pin(thread);
                are_there.wait();
                let switches = system::involuntary_switches();
                // Awake at the same time.
                have_begun.fetch_add(1, AcqRel);
                while have_begun.load(Acquire) < THREADS {
                    std::hint::spin_loop();
                }
                let start = Instant::now();
                work(argument, all);
                NANOSECONDS.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
                SWITCHES.fetch_add(system::involuntary_switches() - switches, Relaxed);
            });
        }
    });
}

/// Runs a case as it is recorded.
pub fn once(case: fn(), rounds: u64) {
    ROUNDS.store(rounds, Relaxed);
    case();
}

/// Prints nanoseconds an iteration of both cases for each slice in which no thread was switched out, until there are enough
/// of them: one case after the other, in either order.
pub fn compare(cases: [fn(); 2], rounds: u64, slices: u64) {
    const NANOSECONDS: f64 = 500_000.0;
    const MOST_TRIES: u64 = 100;
    ROUNDS.store(rounds, Relaxed);
    IS_TIMED.store(1, Relaxed);
    ITERATIONS.store(5_000, Relaxed);
    let took = (0..5).map(|_| timed(cases[0]).0).fold(f64::INFINITY, f64::min);
    ITERATIONS.store((NANOSECONDS / took).clamp(5_000.0, 1_000_000.0) as u64, Relaxed);
    let mut done = 0;
    for slice in 0..slices as usize * MOST_TRIES as usize {
        let mut took = [(0.0, 0); 2];
        for at in [slice % 2, (slice + 1) % 2] {
            took[at] = timed(cases[at]);
        }
        if took.iter().all(|(_, switches)| *switches == 0) {
            println!("{:.3} {:.3}", took[0].0, took[1].0);
            done += 1;
            if done == slices {
                break;
            }
        }
    }
}

/// Nanoseconds an iteration, and involuntary switches.
fn timed(case: fn()) -> (f64, u64) {
    NANOSECONDS.store(0, Relaxed);
    SWITCHES.store(0, Relaxed);
    case();
    let iterations = ITERATIONS.load(Relaxed) * THREADS as u64;
    (NANOSECONDS.load(Relaxed) as f64 / iterations as f64, SWITCHES.load(Relaxed))
}

/// What std does not offer.
mod system {
    use std::ffi::{c_int, c_long};

    extern "C" {
        fn sched_getaffinity(thread: c_int, bytes: usize, set: *mut u64) -> c_int;
        fn sched_setaffinity(thread: c_int, bytes: usize, set: *const u64) -> c_int;
        fn getrusage(who: c_int, usage: *mut [c_long; 18]) -> c_int;
    }

    /// Has this thread run on one CPU, of those that it may use.
    pub fn pin(thread: usize) {
        let mut set = [0_u64; 16];
        // SAFETY: the kernel writes and reads as many bytes as the set has.
        unsafe { sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr()) };
        let allowed = (0..set.len() * 64).filter(|cpu| set[cpu / 64] >> (cpu % 64) & 1 == 1);
        let cpu = allowed.clone().nth(thread).or(allowed.clone().next()).unwrap();
        let mut one = [0_u64; 16];
        one[cpu / 64] = 1 << (cpu % 64);
        // SAFETY: as above.
        unsafe { sched_setaffinity(0, size_of_val(&one), one.as_ptr()) };
    }

    /// Of this thread so far.
    pub fn involuntary_switches() -> u64 {
        const THREAD: c_int = 1;
        let mut usage = [0; 18];
        // SAFETY: a `struct rusage` is two times of two longs, and fourteen longs.
        unsafe { getrusage(THREAD, &mut usage) };
        usage[17].unsigned_abs() as u64
    }
}
