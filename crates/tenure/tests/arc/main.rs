//! `Arc` and `Weak`: what std documents of its own, and the differences.
#![cfg(feature = "alloc")]

#[cfg(feature = "std")]
#[macro_use]
#[path = "../support/has.rs"]
mod has;

mod behaviour;
mod dst;
#[cfg(all(feature = "arc-swap", feature = "stable_deref_trait"))]
mod foreign;
mod like_std;
#[cfg(all(tenure_nightly, feature = "std"))]
mod nightly;
#[cfg(feature = "std")]
#[path = "../support/staged.rs"]
mod staged;
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
