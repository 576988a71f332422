//! `Arc` and `Weak`: what std documents of its own, and the differences.
//!
//! ThreadSanitizer runs this with an uninstrumented std: threads meet through spawn, join and tenure's own atomics.
#![cfg(feature = "alloc")]

mod behaviour;
#[path = "../support/cases.rs"]
mod cases;
mod dst;
#[cfg(all(feature = "arc-swap", feature = "stable_deref_trait"))]
mod foreign;
mod like_std;
#[cfg(all(tenure_nightly, feature = "std"))]
mod nightly;
mod threads;
#[cfg(feature = "std")]
mod traits;
#[cfg(feature = "std")]
mod types;
mod unsize;
#[cfg(feature = "std")]
mod waits;

use std::panic::{AssertUnwindSafe, catch_unwind};

fn panics<R>(body: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(body)).is_err()
}
