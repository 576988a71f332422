//! What references that are counted in cells, owners and counters promise.
//!
//! The protocol's models are in `models/cells`, races in `stress/owner.rs`, forks in `forks/owner.rs`.
#![cfg(feature = "std")]

#[path = "../support/at_end.rs"]
mod at_end;
#[path = "../support/staged.rs"]
mod staged;

mod behaviour;
mod copies;
mod counter;
mod sums;
#[path = "../support/waits.rs"]
mod waits;
