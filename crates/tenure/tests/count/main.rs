//! The reference counts, one thread at a time: every operation in every state, and what is reported.
#![cfg(target_has_atomic = "64")]

#[path = "../support/cases.rs"]
mod cases;
#[path = "../support/faults.rs"]
mod faults;
mod oracle;
#[cfg(feature = "std")]
mod reports;
mod revival;
mod zones;

use tenure::count::Readable;

fn readable() -> Readable<'static> {
    // SAFETY: every count here is a local that outlives its uses.
    unsafe { Readable::assume() }
}
