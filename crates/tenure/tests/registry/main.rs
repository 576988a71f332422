//! What a registry promises.
//!
//! Forks are in `forks/registry.rs`.
#![cfg(all(feature = "registry", target_has_atomic = "64"))]

#[macro_use]
mod behaviour;
mod linger;
mod tasks;
mod threads;
#[path = "../support/waits.rs"]
mod waits;
