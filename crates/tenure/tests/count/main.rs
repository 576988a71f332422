//! The reference counts, one thread at a time: every operation in every state, and what is reported.
#![cfg(target_has_atomic = "64")]

mod face;
#[path = "../support/faults.rs"]
mod faults;
#[cfg(feature = "std")]
mod reports;
#[cfg(feature = "std")]
mod revival;
#[cfg(feature = "std")]
#[path = "../support/staged.rs"]
mod staged;
mod zones;

use tenure::count::Readable;

fn readable() -> Readable<'static> {
    // SAFETY: every count here is a local that outlives its uses.
    unsafe { Readable::assume() }
}
