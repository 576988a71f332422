//! [`Workers`]: threads that all do the same, each with something of its own; and what their objects hold.

use super::{Looped, Member, Operation, Place, Placed};
use std::sync::{Mutex, PoisonError};
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

    /// What so many threads share.
    fn prepare(threads: usize) -> Self;
    fn own(&self, thread: usize) -> Self::Own;
    /// Does the operation once.
    fn step(&self, own: &mut Self::Own);
    /// [`Operation::members`].
    fn members(&self) -> Vec<Member> {
        Vec::new()
    }
}

/// Threads that have nothing of their own.
impl<O: Operation + 'static> Work for O {
    type Own = ();

    fn prepare(_threads: usize) -> Self {
        Operation::prepare()
    }
    fn own(&self, _thread: usize) {}
    #[inline(always)]
    fn step(&self, _own: &mut ()) {
        Operation::step(self, &mut 0);
    }
    fn members(&self) -> Vec<Member> {
        Operation::members(self)
    }
}

/// Work, and what its threads have.
pub(crate) struct Workers<W: Work> {
    shared: Isolated<W>,
    threads: PerThread<W::Own>,
}

impl<W: Work> Placed for Workers<W> {
    fn prepare(threads: usize) -> Self {
        let shared = Isolated::new(W::prepare(threads));
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

    fn members(&self) -> Vec<Member> {
        self.shared.members()
    }
}

/// A part for each thread, on lines of its own.
pub(super) struct PerThread<T>(Vec<Isolated<Mutex<Option<T>>>>);

impl<T> PerThread<T> {
    pub(super) fn new(threads: usize, part: impl FnMut(usize) -> T) -> Self {
        Self((0..threads).map(part).map(|part| Isolated::new(Mutex::new(Some(part)))).collect())
    }

    /// Calls `work` with the part of `thread`, the caller. Meanwhile it is a local variable, as in a program.
    #[inline(always)]
    pub(super) fn with<R>(&self, thread: usize, work: impl FnOnce(&mut T) -> R) -> R {
        let mut home = self.0[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let mut part = home.take().expect("its thread has not panicked with it");
        let result = work(&mut part);
        *home = Some(part);
        result
    }
}
