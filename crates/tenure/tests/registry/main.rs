//! What a registry promises.
//!
//! | module | claims |
//! |---|---|
//! | `behaviour` | on one thread, for every count |
//! | `threads` | to threads that meet, and to threads that end |
//! | `model` | random operations against a map of weak pointers |
//!
//! Forks need a process of their own: `registry_fork.rs`.
#![cfg(all(feature = "registry", target_has_atomic = "64"))]

mod behaviour;
#[path = "../support/cases.rs"]
mod cases;
mod model;
mod threads;
