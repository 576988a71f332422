//! The uses of lazy references as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::lazy::cached::Reader;
use tenure::lazy::{Context, Counted, Mask, Seat};

#[unsafe(no_mangle)]
pub fn seat_enter(seat: &mut Seat<u64>, context: &Context<u64>) -> u64 {
    *seat.enter(context)
}

#[unsafe(no_mangle)]
pub fn seat_lazy(seat: &mut Seat<u64>) -> u64 {
    seat.lazy().map_or(0, |kept| *kept)
}

#[unsafe(no_mangle)]
pub fn mask_enter(seat: &mut Seat<u64, Mask>, context: &Context<u64, Mask>) -> u64 {
    *seat.enter(context)
}

#[unsafe(no_mangle)]
pub fn mask_lazy(seat: &mut Seat<u64, Mask>) -> u64 {
    seat.lazy().map_or(0, |kept| *kept)
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
pub fn counted_enter(seat: &mut Seat<u64, Counted>, context: &Context<u64, Counted>) -> u64 {
    *seat.enter(context)
}
