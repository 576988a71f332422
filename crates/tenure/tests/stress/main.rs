//! Threads that race for the last reference, or for a free slot, with the memory freed for real.
//!
//! An object holds a word that its holders check and its destroyer overwrites, both without atomics: a late holder
//! finds the overwritten word in a plain run, and AddressSanitizer (`ci/asan.sh`) sees the access. std makes and joins threads;
//! between them are only this crate's atomics.
//!
//! `TENURE_STRESS` multiplies the number of objects: 10 for a long run, 0.1 for a short one.

#![cfg(all(target_has_atomic = "64", feature = "alloc"))]

#[macro_use]
#[path = "../support/table.rs"]
mod table;

mod deferred;
#[cfg(feature = "std")]
mod owner;
#[cfg(feature = "std")]
mod pool;
#[cfg(feature = "std")]
mod rcu_cell;
#[cfg(feature = "registry")]
mod registry;
#[cfg(feature = "std")]
mod revocable;
#[cfg(feature = "std")]
mod slots;
mod support;
#[cfg(feature = "std")]
mod turns;
