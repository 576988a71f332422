use crate::engine::context::{self, FiberContext};
use crate::heat::HeatKind;
use crate::machine::{ns, ps};
use crate::memory::SimulatedWord;
use std::rc::Rc;
use tenure::memory::{Atomic as _, Ordering};

/// The CPU of a simulated thread. [`Simulation::run`](crate::Simulation::run) passes one to each thread; deep code asks
/// [`Cpu::current`]. It is always the caller's CPU, even if another thread left it in a variable. While a failed
/// simulation unwinds a thread, destructors may still call everything: nothing waits or runs any more.
pub struct Cpu {
    /// Engine of the running CPU, the only one to ask.
    context: Rc<FiberContext>,
}

impl Cpu {
    pub(crate) fn new(context: Rc<FiberContext>) -> Self {
        Self { context }
    }

    /// The caller's CPU; `None` outside a simulation, and while the thread panics.
    #[must_use]
    pub fn current() -> Option<Self> {
        context::current().map(Self::new)
    }

    /// Its number, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.context.running()
    }

    /// Its core's number, from 0.
    #[must_use]
    pub fn core(&self) -> usize {
        self.context.with(|engine| engine.core(self.index()))
    }

    /// Whether to begin another operation: this CPU has time left. Costs no simulated time.
    #[must_use]
    pub fn running(&self) -> bool {
        self.context.is_on() && self.context.with(|engine| engine.is_running(self.index()))
    }

    /// Simulated nanoseconds since the beginning. Threads begin within the first 100. Costs no simulated time.
    #[must_use]
    pub fn now_ns(&self) -> f64 {
        self.context.with(|engine| ns(engine.cpus[self.index()].clock))
    }

    /// Ends one of the program's operations. Reports count those that end in the measured time. Costs no simulated
    /// time.
    pub fn done(&self) {
        self.context.with(|engine| engine.count_operation(self.index()));
    }

    /// Private work, give or take a tenth, so that threads do not stay in step. Ignores what is not above 0.
    pub fn work(&self, ns: f64) {
        if ns > 0.0 {
            self.context.with(|engine| engine.work(self.index(), ps(ns)));
        }
    }

    /// A futex: sleeps until another thread [wakes](Self::wake) the sleepers on `word`, unless it holds something other
    /// than `expected`. Returns whether it slept; load the word again then, as another thread may have been faster.
    /// Check and sleep are one step: no wake-up is missed. Costs a load and a system call.
    pub fn wait(&self, word: &SimulatedWord<u32>, expected: u32) -> bool {
        // Relaxed: the simulator runs one thread at a time, in one order.
        self.wait_at(word.address(), || word.load(Ordering::Relaxed) == expected)
    }

    /// Wakes up to `most` sleepers on `word`, in their order. Returns how many. Costs a system call, and
    /// [`wake_send`](crate::machine::Kernel::wake_send) for each; the woken run later by the machine's
    /// [`wake`](crate::machine::Kernel::wake).
    pub fn wake(&self, word: &SimulatedWord<u32>, most: usize) -> usize {
        self.wake_at(word.address(), most)
    }

    /// Interrupts every other CPU that is awake, and waits until all have served it, as Linux's expedited `membarrier`.
    /// Returns how many. Simulated memory is in order anyway; this only costs: the caller a system call, the sending of
    /// each interrupt, and the latency and handler of the last; each other CPU its handler, at its next access. See
    /// [`Kernel`](crate::machine::Kernel).
    pub fn membarrier(&self) -> usize {
        self.context.membarrier()
    }
}

impl Cpu {
    /// Spends the time of an access, which must happen right after.
    pub(crate) fn access(&self, address: usize, bytes: usize, kind: HeatKind) {
        self.context.access(address, bytes, kind);
    }

    /// The last access was a failed compare-exchange.
    pub(crate) fn failed(&self, address: usize, bytes: usize) {
        self.context.with(|engine| engine.count_failure(self.index(), address, bytes));
    }

    pub(crate) fn pause(&self) {
        self.context.with(|engine| engine.pause(self.index()));
    }

    /// Sleeps on an address if `still`, which loads it, finds the expected value. Returns whether it slept.
    pub(crate) fn wait_at(&self, address: usize, still: impl FnOnce() -> bool) -> bool {
        // A sleeper must not be ahead of others, which may look for it.
        self.context.take_turn();
        if !still() {
            self.context.with(|engine| engine.system_call(self.index()));
            return false;
        }
        if !self.context.is_on() {
            return false;
        }
        // No other thread has run since, so none has written or woken.
        self.context.block(address);
        true
    }

    pub(crate) fn wake_at(&self, address: usize, most: usize) -> usize {
        self.context.take_turn();
        self.context.with(|engine| engine.wake(self.index(), address, most))
    }
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cpu").field("index", &self.index()).finish_non_exhaustive()
    }
}
