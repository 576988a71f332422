//! [`Workers`]: threads that all do the same, each with something of its own; and what their objects hold.

use crate::scenario::host::PerThread;
use crate::scenario::{Looped, Member, Place, Placed};
use tenure::line::Isolated;
use tenure::memory::{Atomic, Memory, Ordering};

/// What the objects hold: a word that every use reads.
pub(crate) struct Value<M: Memory>(M::AtomicU64);

impl<M: Memory> Value<M> {
    pub(crate) fn new() -> Self {
        Self(Atomic::new(7))
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> u64 {
        // Relaxed: nobody writes it.
        self.0.load(Ordering::Relaxed)
    }
}

/// What all threads do.
pub(crate) trait Work: Send + Sync + Sized + 'static {
    /// What each thread has of its own: its local handle.
    type Own: Send;

    /// What they share.
    fn prepare() -> Self;
    /// What that thread has.
    fn own(&self, thread: usize) -> Self::Own;
    /// Does the operation once.
    fn step(&self, own: &mut Self::Own);
    /// The parts of what they share that have a name.
    fn members(&self) -> Vec<Member> {
        Vec::new()
    }
}

/// Work, and what its threads have.
pub(crate) struct Workers<W: Work> {
    shared: Isolated<W>,
    threads: PerThread<W::Own>,
}

impl<W: Work> Placed for Workers<W> {
    fn prepare(threads: usize) -> Self {
        let shared = Isolated::new(W::prepare());
        let threads = PerThread::new(threads, |thread| shared.own(thread));
        Self { shared, threads }
    }
}

impl<W: Work> Looped for Workers<W> {
    #[inline(never)]
    fn run(&self, place: Place, steps: u64) -> u64 {
        self.threads.with(place.thread, |own| {
            for _ in 0..steps {
                self.shared.step(own);
            }
        });
        0
    }

    fn settle(&self, _steps: u64) {}

    fn members(&self) -> Vec<Member> {
        self.shared.members()
    }
}
