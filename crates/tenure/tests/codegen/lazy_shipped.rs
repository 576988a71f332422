//! The uses of lazy references as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::lazy::{Context, Counted, LocalHandle, Mask, Reader};

#[unsafe(no_mangle)]
pub fn local_enter(local: &mut LocalHandle<u64>, context: &Context<u64>) -> u64 {
    *local.enter(context)
}

#[unsafe(no_mangle)]
pub fn local_lazy(local: &mut LocalHandle<u64>) -> u64 {
    local.lazy().map_or(0, |kept| *kept)
}

#[unsafe(no_mangle)]
pub fn mask_enter(local: &mut LocalHandle<u64, Mask>, context: &Context<u64, Mask>) -> u64 {
    *local.enter(context)
}

#[unsafe(no_mangle)]
pub fn mask_lazy(local: &mut LocalHandle<u64, Mask>) -> u64 {
    local.lazy().map_or(0, |kept| *kept)
}

#[unsafe(no_mangle)]
pub fn reader_read(reader: &mut Reader<u64>) -> u64 {
    *reader.read()
}

/// A control: counts, on the object.
#[unsafe(no_mangle)]
pub fn context_clone(context: &Context<u64>) -> Context<u64> {
    context.clone()
}

/// A control: counts, elsewhere.
#[unsafe(no_mangle)]
pub fn counted_enter(local: &mut LocalHandle<u64, Counted>, context: &Context<u64, Counted>) -> u64 {
    *local.enter(context)
}
