//! A value that all threads read, and that could be replaced.

use super::workers::{Value, Work};
use crate::scenario::Host;
use std::hint::black_box;
use tenure::lazy::{Cached, Context, Domain, On, Reader, Shootdown};
use tenure::memory::Native;

/// By a reader of the thread's own.
pub(super) struct ByReader<M: Host>(Cached<Value<M>, On<M, Shootdown>>);

impl<M: Host> Work for ByReader<M> {
    type Own = Reader<Value<M>, On<M, Shootdown>>;

    fn prepare() -> Self {
        Self(Cached::new_in(Value::new()))
    }
    fn own(&self, _thread: usize) -> Self::Own {
        self.0.reader()
    }
    #[inline(always)]
    fn step(&self, reader: &mut Self::Own) {
        black_box(reader.read().read());
    }
}

/// Without one: the thread's place is looked up. Places are made at the first read, so that on a simulated machine they
/// would lie where the host's allocator puts them.
pub(super) struct Directly(Cached<Value<Native>>);

impl Work for Directly {
    type Own = ();

    fn prepare() -> Self {
        Self(Cached::new(Value::new()))
    }
    fn own(&self, _thread: usize) {}
    #[inline(always)]
    fn step(&self, _own: &mut ()) {
        black_box(self.0.read().read());
    }
}

/// By a reference that is counted, as those are that a lock hands out.
pub(super) struct ByClone<M: Host>(Context<Value<M>, On<M, Shootdown>>);

impl<M: Host> Work for ByClone<M> {
    type Own = ();

    fn prepare() -> Self {
        Self(Domain::new_in().context(Value::new()))
    }
    fn own(&self, _thread: usize) {}
    #[inline(always)]
    fn step(&self, _own: &mut ()) {
        black_box(self.0.clone().read());
    }
}
