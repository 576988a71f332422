//! Uses of revocable references and cells as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::counter::Counter;
use tenure::owner::Shared;
use tenure::rcu::RcuReader;
use tenure::revocable::generic::{self, Counted, Mask};
use tenure::revocable::{LocalHandle, Strong};

#[unsafe(no_mangle)]
pub fn local_enter(local: &mut LocalHandle<u64>, strong: &Strong<u64>) -> u64 {
    *local.enter(strong)
}

#[unsafe(no_mangle)]
pub fn local_kept(local: &mut LocalHandle<u64>) -> u64 {
    local.kept().map_or(0, |kept| *kept)
}

#[unsafe(no_mangle)]
pub fn mask_enter(
    local: &mut generic::LocalHandle<u64, Mask>,
    strong: &generic::Strong<u64, Mask>,
) -> u64 {
    *local.enter(strong)
}

#[unsafe(no_mangle)]
pub fn mask_kept(local: &mut generic::LocalHandle<u64, Mask>) -> u64 {
    local.kept().map_or(0, |kept| *kept)
}

/// A control: counts, elsewhere.
#[unsafe(no_mangle)]
pub fn counted_enter(
    local: &mut generic::LocalHandle<u64, Counted>,
    strong: &generic::Strong<u64, Counted>,
) -> u64 {
    *local.enter(strong)
}

#[unsafe(no_mangle)]
pub fn reader_load(reader: &mut RcuReader<u64>) -> u64 {
    *reader.load()
}

/// A control: counts, on the object.
#[unsafe(no_mangle)]
pub fn strong_clone(strong: &Strong<u64>) -> Strong<u64> {
    strong.clone()
}

#[unsafe(no_mangle)]
pub fn counter_add(counter: &Counter, n: u64) {
    counter.add(n);
}

#[unsafe(no_mangle)]
pub fn shared_clone(shared: &Shared<u64>) -> Shared<u64> {
    shared.clone()
}
