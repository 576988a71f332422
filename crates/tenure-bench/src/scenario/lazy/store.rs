//! A value that many read is replaced.

use super::beside::Event;
use super::workers::Value;
use crate::scenario::Host;
use std::hint::black_box;
use tenure::lazy::Cached;
use tenure::lazy::cached::Reader;

/// Readers that have read and read no more.
pub(super) const PARKED: usize = 64;

/// `Cached::store`, beside readers.
pub(super) struct Store<M: Host> {
    cached: Cached<Value<M>, M>,
    _parked: Vec<Reader<Value<M>, M>>,
}

impl<M: Host> Event<M> for Store<M> {
    type Actor = ();
    type Other = Reader<Value<M>, M>;

    fn prepare() -> Self {
        let cached = Cached::new_in(Value::new());
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
