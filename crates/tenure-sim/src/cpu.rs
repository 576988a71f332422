//! [`Cpu`]: what a simulated thread can ask of its machine.

use crate::engine::context::{self, Context};
use crate::machine::{ns, ps};
use crate::memory::Word;
use std::rc::Rc;
use tenure::memory::{Atomic as _, Ordering};

/// The CPU that a simulated thread runs on.
///
/// [`Simulation::run`](crate::Simulation::run) passes one to each thread; code that is too deep to be
/// handed it asks [`Cpu::current`]. It is always the CPU of whoever calls: one that another thread left
/// in a variable of the host's thread is no other.
///
/// Where a thread is unwound because the simulation failed, destructors may still call everything:
/// nothing waits and nothing runs any more.
pub struct Cpu {
    /// Of the CPU that runs: no other can ask.
    context: Rc<Context>,
}

impl Cpu {
    pub(crate) fn new(context: Rc<Context>) -> Self {
        Self { context }
    }

    /// The CPU of the simulated thread that calls; `None` outside of a simulation, and while the thread
    /// panics.
    #[must_use]
    pub fn current() -> Option<Self> {
        context::current().map(Self::new)
    }

    /// Its number, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.context.running()
    }

    /// The number of its core, which it may share with other CPUs.
    #[must_use]
    pub fn core(&self) -> usize {
        self.context.with(|engine| engine.core(self.index()))
    }

    /// Whether this CPU's time is not over yet: whether a thread should begin another operation. Costs no
    /// simulated time.
    #[must_use]
    pub fn running(&self) -> bool {
        self.context.is_on() && self.context.with(|engine| engine.is_running(self.index()))
    }

    /// The CPU's time since the beginning, in simulated nanoseconds. Threads begin within the first
    /// 100. Costs no simulated time.
    #[must_use]
    pub fn now_ns(&self) -> f64 {
        self.context.with(|engine| ns(engine.cpus[self.index()].clock))
    }

    /// Says that one of the program's operations is done. Reports count those that end in the measured
    /// time. Costs no simulated time.
    pub fn done(&self) {
        self.context.with(|engine| engine.count_operation(self.index()));
    }

    /// Spends time on something private, give or take a tenth: work of exactly the same length would
    /// keep threads in step, as no real machine does. What is not above 0 is nothing.
    pub fn work(&self, ns: f64) {
        if ns > 0.0 {
            self.context.with(|engine| engine.work(self.index(), ps(ns)));
        }
    }

    /// Sleeps until somebody [wakes](Self::wake) those who sleep on `word`, unless it holds something
    /// else than `expected`: a futex. Returns whether it slept; who slept looks again, as another may have
    /// been faster.
    ///
    /// Looking at the word and falling asleep are one step: a thread that writes the word and then
    /// wakes is not missed. Costs a load and a system call.
    pub fn wait(&self, word: &Word<u32>, expected: u32) -> bool {
        // Who sleeps must not do so ahead of others, who may look for it.
        self.context.take_turn();
        // Relaxed: the simulator runs one thread at a time, in one order.
        if word.load(Ordering::Relaxed) != expected {
            self.context.with(|engine| engine.system_call(self.index()));
            return false;
        }
        if !self.context.is_on() {
            return false;
        }
        // Nobody can have written or woken since: no other thread has run.
        self.context.block(word.address());
        true
    }

    /// Wakes up to `most` of the threads that sleep on `word`, those who came first first. Returns how
    /// many.
    ///
    /// Costs a system call; those who wake run later by the machine's
    /// [`wake`](crate::machine::Kernel::wake).
    pub fn wake(&self, word: &Word<u32>, most: usize) -> usize {
        self.context.take_turn();
        self.context.with(|engine| engine.wake(self.index(), word.address(), most))
    }

    /// Interrupts every other CPU that does not sleep, and waits until all have served it: what
    /// Linux's `membarrier` does in its expedited commands. Returns how many were interrupted.
    ///
    /// Simulated memory is in order anyway: this is about what it costs. The caller: a system call, the
    /// sending of each interrupt, and the latency and handler of the last; each of the others its handler,
    /// at its next access. See [`Kernel`](crate::machine::Kernel).
    pub fn membarrier(&self) -> usize {
        self.context.membarrier()
    }
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cpu").field("index", &self.index()).finish_non_exhaustive()
    }
}
