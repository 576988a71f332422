//! A value that many threads read, and that is replaced.

use super::beside::Event;
use crate::scenario::workers::{Value, Work};
use crate::scenario::{Host, Operation, Variant};
use std::hint::black_box;
use tenure::lazy::{Cached, Context, Domain, On, Reader, Shootdown};
use tenure::line::Isolated;
use tenure::memory::Native;

/// By a reader of the thread's own.
pub(super) struct ByReader<M: Host>(Cached<Value<M>, On<M, Shootdown>>);

impl<M: Host> Work for ByReader<M> {
    type Own = Reader<Value<M>, On<M, Shootdown>>;

    fn prepare(_threads: usize) -> Self {
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
pub(super) fn directly(name: &'static str) -> Variant {
    let read = |cached: &Isolated<Cached<Value<Native>>>| _ = black_box(cached.read().read());
    Variant::step(name, || Isolated::new(Cached::new(Value::new())), read)
}

/// By a reference that is counted, as those are that a lock hands out.
pub(super) struct ByClone<M: Host>(Context<Value<M>, On<M, Shootdown>>);

impl<M: Host> Operation for ByClone<M> {
    fn prepare() -> Self {
        Self(Domain::new_in().context(Value::new()))
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        black_box(self.0.clone().read());
    }
}

/// Readers that have read and read no more.
pub(super) const PARKED: usize = 64;

/// `Cached::store`, beside readers.
pub(super) struct Store {
    cached: Cached<Value<Native>>,
    _parked: Vec<Reader<Value<Native>>>,
}

impl Event for Store {
    type Actor = ();
    type Other = Reader<Value<Native>>;

    fn prepare() -> Self {
        let cached = Cached::new(Value::new());
        let parked = |_| {
            let mut reader = cached.reader();
            black_box(reader.read().read());
            reader
        };
        Self { _parked: (0..PARKED).map(parked).collect(), cached }
    }
    fn actor(&self) {}
    fn other(&self) -> Self::Other {
        self.cached.reader()
    }
    fn act(&self, _actor: &mut ()) {
        self.cached.store(Value::new());
    }
    #[inline(always)]
    fn go_on(&self, reader: &mut Self::Other) -> u64 {
        reader.read().read()
    }
}
