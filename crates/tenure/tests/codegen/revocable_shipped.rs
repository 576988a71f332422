//! Uses of revocable references and cells as the library ships them. Compiled by the tests, never run.

#![crate_type = "lib"]

use tenure::counter::Counter;
use tenure::revocable::{Context, Counted, LocalHandle, Mask, RcuReader, Shootdown};
use tenure::owner::Shared;

macro_rules! uses {
    ($($scheme:ty: $enter:ident $(, $lazy:ident)?;)*) => {$(
        #[unsafe(no_mangle)]
        pub fn $enter(local: &mut LocalHandle<u64, $scheme>, strong: &Strong<u64, $scheme>) -> u64 {
            *local.enter(strong)
        }

        $(#[unsafe(no_mangle)]
        pub fn $lazy(local: &mut LocalHandle<u64, $scheme>) -> u64 {
            local.kept().map_or(0, |kept| *kept)
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
pub fn reader_read(reader: &mut RcuReader<u64>) -> u64 {
    *reader.read()
}

/// A control: counts, on the object.
#[unsafe(no_mangle)]
pub fn context_clone(strong: &Strong<u64>) -> Strong<u64> {
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
