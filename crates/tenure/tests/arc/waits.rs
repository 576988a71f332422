//! A thread that waits for a preempted one lets that run: it spins a little, then yields.
//!
//! Runs on a machine that stops a thread before one of its operations, for as long as the test wants. A thread that
//! only spins would never end; so after many spins without a yield it panics.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc as StdArc, Weak as StdWeak};
use std::thread;
use tenure::arc::Counts;
use tenure::memory::{Atomic, Memory, Native, Ordering, Resident, Threads};

enum Stopping {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    /// The thread's load of this number, from 1.
    Load(u32),
    Subtraction,
    CompareExchange,
}
use Operation::{CompareExchange, Load, Subtraction};

/// Where a thread stops, before its next operation of a kind.
#[derive(Clone)]
struct Stop {
    before: Operation,
    state: StdArc<<Native as Memory>::AtomicU32>,
}

const REACHED: u32 = 1;
const OPEN: u32 = 2;

impl Stop {
    fn before(before: Operation) -> Self {
        Self { before, state: StdArc::new(Atomic::new(0)) }
    }

    fn wait_until(&self, state: u32) {
        // Acquire: pairs with the Release below.
        while self.state.load(Ordering::Acquire) != state {
            thread::yield_now();
        }
    }

    fn tell(&self, state: u32) {
        // Release: pairs with the Acquire above.
        self.state.store(state, Ordering::Release);
    }

    fn reached(&self) {
        self.wait_until(REACHED);
    }

    fn open(&self) {
        self.tell(OPEN);
    }
}

thread_local! {
    /// Where the calling thread is to stop, in order.
    static STOPS: RefCell<VecDeque<Stop>> = const { RefCell::new(VecDeque::new()) };
    /// The thread that goes on when the calling thread yields.
    static PREEMPTED: RefCell<Option<Stop>> = const { RefCell::new(None) };
    static LOADS: Cell<u32> = const { Cell::new(0) };
    static SPINS: Cell<u32> = const { Cell::new(0) };
    static YIELDS: Cell<u32> = const { Cell::new(0) };
}

fn come_by(operation: Operation) {
    let is_next =
        |stops: &VecDeque<Stop>| stops.front().is_some_and(|stop| stop.before == operation);
    if STOPS.with_borrow(is_next) {
        let stop = STOPS.with_borrow_mut(VecDeque::pop_front).expect("seen a moment ago");
        stop.tell(REACHED);
        stop.wait_until(OPEN);
    }
}

fn go_on() {
    if let Some(stop) = PREEMPTED.take() {
        stop.open();
    }
}

// SAFETY: `Native`'s atomics and barriers.
unsafe impl Memory for Stopping {
    type AtomicU32 = <Native as Memory>::AtomicU32;
    type AtomicU64 = Word;
    type Pointer<T> = <Native as Memory>::Pointer<T>;
    type Plain<T> = <Native as Memory>::Plain<T>;

    fn light_barrier() {
        Native::light_barrier();
    }
    fn heavy_barrier() {
        Native::heavy_barrier();
    }
    fn spin_hint() {
        SPINS.set(SPINS.get() + 1);
        if SPINS.get() == 100_000 {
            go_on();
            panic!("spins and never yields");
        }
        Native::spin_hint();
    }
}

// SAFETY: `Native`'s threads.
unsafe impl Threads for Stopping {
    fn thread() -> Option<usize> {
        Native::thread()
    }
    fn is_lost(thread: usize) -> bool {
        Native::is_lost(thread)
    }
    fn yield_now() {
        YIELDS.set(YIELDS.get() + 1);
        go_on();
        Native::yield_now();
    }
    fn at_exit(resident: StdWeak<dyn Resident>) {
        Native::at_exit(resident);
    }
}

struct Word(<Native as Memory>::AtomicU64);

impl Atomic<u64> for Word {
    fn new(value: u64) -> Self {
        Self(Atomic::new(value))
    }
    fn load(&self, order: Ordering) -> u64 {
        LOADS.set(LOADS.get() + 1);
        come_by(Load(LOADS.get()));
        self.0.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
    fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
        come_by(Subtraction);
        self.0.fetch_sub(value, order)
    }
    fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_or(value, order)
    }
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        come_by(CompareExchange);
        self.0.compare_exchange(current, new, success, failure)
    }
    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.0.compare_exchange_weak(current, new, success, failure)
    }
}

/// Waits for the thread at `stop`, which goes on at the first yield. Returns how often this one yielded.
fn wait_for<R>(stop: Stop, wait: impl FnOnce() -> R) -> (R, u32) {
    PREEMPTED.set(Some(stop));
    let result = wait();
    (result, YIELDS.get())
}

#[test]
fn try_take_lets_a_drop_run_that_its_upgrade_overtook() {
    let counts = Counts::<Stopping>::new_in();
    counts.downgrade();
    let undecided = Stop::before(CompareExchange);
    thread::scope(|scope| {
        let (counts, stop) = (&counts, undecided.clone());
        let dropper = scope.spawn(move || {
            STOPS.with_borrow_mut(|stops| stops.push_back(stop));
            counts.drop_strong()
        });
        // Its subtraction is done; the verdict is not.
        undecided.reached();
        assert!(counts.upgrade().is_acquired());
        let (taken, yields) = wait_for(undecided, || counts.try_take());
        assert!(taken && yields > 0);
        assert!(!dropper.join().unwrap().is_last());
    });
}

#[test]
fn a_downgrade_lets_a_get_mut_run_that_holds_the_lock() {
    let counts = Counts::<Stopping>::new_in();
    counts.downgrade();
    // The first two are those of `strong`.
    let (unlocked, locked) = (Stop::before(Load(3)), Stop::before(Subtraction));
    thread::scope(|scope| {
        let (counts, stops) = (&counts, [unlocked.clone(), locked.clone()]);
        let unique = scope.spawn(move || {
            STOPS.with_borrow_mut(|list| list.extend(stops));
            counts.is_unique()
        });
        // It has seen one `Arc`. The `Weak` becomes a second.
        unlocked.reached();
        assert!(counts.upgrade().is_acquired());
        assert!(!counts.drop_weak());
        unlocked.open();
        locked.reached();
        let ((), yields) = wait_for(locked, || counts.downgrade());
        assert!(yields > 0);
        assert!(!unique.join().unwrap());
    });
    assert_eq!((counts.strong_count(), counts.weak_count()), (2, 1));
}
