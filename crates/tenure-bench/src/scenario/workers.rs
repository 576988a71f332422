//! Threads that all do the same, each with state of its own; and what their objects hold.

use super::{Looped, NamedMember, ThreadPlace, Variant};
use std::sync::{Mutex, PoisonError};
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Ordering};

/// A word that every use reads.
pub(crate) struct WorkerValue<M: Memory>(M::AtomicU64);

impl<M: Memory> WorkerValue<M> {
    pub(crate) fn new() -> Self {
        Self(Atomic::new(7))
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> u64 {
        // Relaxed: no thread writes it.
        self.0.load(Ordering::Relaxed)
    }
}

impl Variant {
    /// All threads do `step` with what `shared` makes for a number of threads, and what `own` makes for each. `members`
    /// are of the shared part.
    pub(super) fn workers<T: Send + Sync + 'static, O: Send + 'static>(
        name: &'static str,
        shared: impl Fn(usize) -> T + Send + Sync + 'static,
        own: impl Fn(&T, usize) -> O + Send + Sync + 'static,
        step: impl Fn(&T, &mut O) + Copy + Send + Sync + 'static,
        members: fn(&T) -> Vec<NamedMember>,
    ) -> Self {
        Self::new(name, move |threads| {
            let shared = CachePadded::new(shared(threads));
            let threads = PerThread::new(threads, |thread| own(&shared, thread));
            Box::new(Workers { shared, threads, step, members })
        })
    }
}

struct Workers<T, O, S> {
    shared: CachePadded<T>,
    threads: PerThread<O>,
    step: S,
    members: fn(&T) -> Vec<NamedMember>,
}

impl<T: Send + Sync, O: Send, S: Fn(&T, &mut O) + Send + Sync> Looped for Workers<T, O, S> {
    #[inline(never)]
    fn run(&self, place: ThreadPlace, steps: u64) -> u64 {
        self.threads.with(place.thread, |own| {
            for _ in 0..steps {
                (self.step)(&self.shared, own);
            }
        });
        0
    }

    fn members(&self) -> Vec<NamedMember> {
        (self.members)(&self.shared)
    }
}

pub(super) fn nameless<T>(_shared: &T) -> Vec<NamedMember> {
    Vec::new()
}

/// Each thread's part, on lines of its own.
pub(super) struct PerThread<T>(Vec<CachePadded<Mutex<Option<T>>>>);

impl<T> PerThread<T> {
    pub(super) fn new(threads: usize, part: impl FnMut(usize) -> T) -> Self {
        Self((0..threads).map(part).map(|part| CachePadded::new(Mutex::new(Some(part)))).collect())
    }

    /// Calls `work` with the calling thread's part, meanwhile a local variable, as in a program.
    #[inline(always)]
    pub(super) fn with<R>(&self, thread: usize, work: impl FnOnce(&mut T) -> R) -> R {
        let mut home = self.0[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let mut part = home.take().expect("its thread has not panicked with it");
        let result = work(&mut part);
        *home = Some(part);
        result
    }
}
