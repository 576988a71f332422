//! A value that many read is replaced.

use super::beside::Event;
use super::workers::Value;
use std::hint::black_box;
use tenure::lazy::{Cached, Reader};
use tenure::memory::Native;

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
