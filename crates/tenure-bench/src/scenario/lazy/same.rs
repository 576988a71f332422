//! All threads use one object: a switch to idle and back to what was there before.

use super::workers::{Value, Work};
use crate::scenario::{Host, Member};
use std::hint::black_box;
use tenure::lazy::{Context, Domain, LocalHandle, Scheme};
use tenure::line::Isolated;
use tenure::memory::{Atomic, Memory, Ordering};

/// A local handle enters and leaves the object, and its thread works for so long on something else.
pub(crate) struct Same<S: Scheme<Memory: Host>, const WORK_NS: u32 = 0> {
    domain: Domain<Value<S::Memory>, S>,
    object: Context<Value<S::Memory>, S>,
}

impl<S: Scheme<Memory: Host>, const WORK_NS: u32> Work for Same<S, WORK_NS> {
    type Own = LocalHandle<Value<S::Memory>, S>;

    fn prepare() -> Self {
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

/// The limit: a load and a store, to a line of the thread's own.
pub(crate) struct OwnLine<M: Host, const WORK_NS: u32 = 0> {
    value: Isolated<Value<M>>,
}

/// Nobody else's.
type Word<M> = Isolated<<M as Memory>::AtomicU32>;

impl<M: Host, const WORK_NS: u32> Work for OwnLine<M, WORK_NS> {
    type Own = Box<Word<M>>;

    fn prepare() -> Self {
        Self { value: Isolated::new(Value::new()) }
    }
    fn own(&self, _thread: usize) -> Self::Own {
        Box::new(Isolated::new(Atomic::new(0)))
    }
    #[inline(always)]
    fn step(&self, word: &mut Self::Own) {
        // Relaxed, twice: nobody else has it.
        black_box(word.load(Ordering::Relaxed));
        word.store(1, Ordering::Relaxed);
        black_box(M::work(self.value.read(), WORK_NS));
    }
}
