//! What domains, contexts, local handles, guards and `Cached` promise.
//!
//! Behaviour is tested under every scheme (`support.rs`). Tests that need a process of their own are `lazy_*.rs`.
#![cfg(feature = "std")]

#[macro_use]
mod support;

mod behaviour;
mod cached;
mod cached_interrupted;
mod destructors;
mod forgotten;
mod interrupted;
mod lists;
#[path = "../support/staged.rs"]
mod staged;
mod threads;
mod traits;
