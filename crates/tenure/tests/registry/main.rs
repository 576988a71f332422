//! What a registry promises.
//!
//! Forks need a process of their own: `registry_fork.rs`.
#![cfg(all(feature = "registry", target_has_atomic = "64"))]

#[macro_use]
mod behaviour;
mod linger;
mod tasks;
mod threads;
