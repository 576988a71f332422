//! Uses of lazy references and cells as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::counter::Counter;
use tenure::lazy::{Context, Counted, LocalHandle, Mask, Reader, Shootdown};
use tenure::owner::Shared;

macro_rules! uses {
    ($($scheme:ty: $enter:ident $(, $lazy:ident)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub fn $enter(local: &mut LocalHandle<u64, $scheme>, context: &Context<u64, $scheme>) -> u64 {
            *local.enter(context)
        }

        $(#[unsafe(no_mangle)]
        pub fn $lazy(local: &mut LocalHandle<u64, $scheme>) -> u64 {
            local.lazy().map_or(0, |kept| *kept)
        })?
    )*};
}

uses! {
    Shootdown: local_enter, local_lazy;
    Mask: mask_enter, mask_lazy;
    // A control: counts, elsewhere.
    Counted: counted_enter;
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

#[unsafe(no_mangle)]
pub fn counter_add(counter: &Counter, n: u64) {
    counter.add(n);
}

#[unsafe(no_mangle)]
pub fn shared_clone(shared: &Shared<u64>) -> Shared<u64> {
    shared.clone()
}
