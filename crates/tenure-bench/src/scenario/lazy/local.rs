//! What a local handle does: it enters one object again and again, goes from object to object, or uses what it kept.

use crate::scenario::workers::{Value, Work};
use crate::scenario::{Host, Member};
use std::hint::black_box;
use tenure::lazy::{Context, Domain, LocalHandle, Scheme};
use tenure::line::Isolated;
use tenure::memory::{Atomic, Ordering};

/// A local handle enters and leaves the one object, and its thread works for so long on something else.
pub(crate) struct Same<S: Scheme<Memory: Host>, const WORK_NS: u32 = 0> {
    domain: Domain<Value<S::Memory>, S>,
    object: Context<Value<S::Memory>, S>,
}

impl<S: Scheme<Memory: Host>, const WORK_NS: u32> Work for Same<S, WORK_NS> {
    type Own = LocalHandle<Value<S::Memory>, S>;

    fn prepare(_threads: usize) -> Self {
        let domain = Domain::new_in();
        Self { object: domain.context(Value::new()), domain }
    }
    fn own(&self, _thread: usize) -> Self::Own {
        self.domain.register()
    }
    #[inline(always)]
    fn step(&self, local: &mut Self::Own) {
        let seen = local.enter(&self.object).read();
        black_box(S::Memory::work(seen, WORK_NS));
    }
    fn members(&self) -> Vec<Member> {
        vec![Member::of("value", &*self.object)]
    }
}

/// A local handle uses what it keeps, without a strong handle, and leaves it: what a `Weak` is for.
pub(super) struct Kept<S: Scheme<Memory: Host>>(Same<S>);

impl<S: Scheme<Memory: Host>> Work for Kept<S> {
    type Own = LocalHandle<Value<S::Memory>, S>;

    fn prepare(threads: usize) -> Self {
        Self(Same::prepare(threads))
    }
    fn own(&self, thread: usize) -> Self::Own {
        let mut local = self.0.own(thread);
        drop(local.enter(&self.0.object));
        local
    }
    #[inline(always)]
    fn step(&self, local: &mut Self::Own) {
        let kept = local.lazy().expect("there is a handle");
        black_box(kept.read());
    }
    fn members(&self) -> Vec<Member> {
        self.0.members()
    }
}

pub(super) const OBJECTS: usize = 16;

/// A local handle enters the next of the objects and leaves it: nothing that it keeps is of use.
pub(super) struct Objects<S: Scheme<Memory: Host>> {
    domain: Domain<Value<S::Memory>, S>,
    objects: [Context<Value<S::Memory>, S>; OBJECTS],
}

impl<S: Scheme<Memory: Host>> Work for Objects<S> {
    /// And where it is.
    type Own = (LocalHandle<Value<S::Memory>, S>, usize);

    fn prepare(_threads: usize) -> Self {
        let domain = Domain::new_in();
        let objects = std::array::from_fn(|_| domain.context(Value::new()));
        Self { domain, objects }
    }
    fn own(&self, thread: usize) -> Self::Own {
        (self.domain.register(), thread)
    }
    #[inline(always)]
    fn step(&self, (local, at): &mut Self::Own) {
        *at = (*at + 1) % OBJECTS;
        black_box(local.enter(&self.objects[*at]).read());
    }
}

/// The limit: a load and a store, to a line of the thread's own.
pub(super) struct OwnLine<M: Host, const WORK_NS: u32 = 0> {
    value: Isolated<Value<M>>,
}

impl<M: Host, const WORK_NS: u32> Work for OwnLine<M, WORK_NS> {
    type Own = Box<Isolated<M::AtomicU32>>;

    fn prepare(_threads: usize) -> Self {
        Self { value: Isolated::new(Value::new()) }
    }
    fn own(&self, _thread: usize) -> Self::Own {
        Box::new(Isolated::new(Atomic::new(0)))
    }
    #[inline(always)]
    fn step(&self, word: &mut Self::Own) {
        // Relaxed, twice: no other thread has it.
        black_box(word.load(Ordering::Relaxed));
        word.store(1, Ordering::Relaxed);
        black_box(M::work(self.value.read(), WORK_NS));
    }
}
