//! Threads that race for the last reference, or for a free slot, with the memory freed for real.
//!
//! Each test creates and destroys tens to hundreds of thousands of objects. An object holds a word
//! that its holders check and its destroyer overwrites, both without atomics: a holder that comes
//! too late finds the overwritten word in a plain run, and is reported by a thread or address
//! sanitizer (`ci/tsan.sh`, `ci/asan.sh`), which see the access itself.
//!
//! Threads are made and joined by std; everything between them is this crate's own atomics,
//! because std is not instrumented when a sanitizer runs.
//!
//! `TENURE_STRESS` multiplies the number of objects: 10 for a long run, 0.1 for a short one.

#![cfg(all(target_has_atomic = "64", feature = "alloc"))]

#[macro_use]
#[path = "../support/table.rs"]
mod table_of_tests;

mod arc;
#[cfg(feature = "std")]
mod cached;
mod crowd;
mod deferred;
#[cfg(feature = "std")]
mod lazy;
#[cfg(feature = "std")]
mod pool;
#[cfg(feature = "registry")]
mod registry;
#[cfg(feature = "std")]
mod slots;
mod support;
mod table;
