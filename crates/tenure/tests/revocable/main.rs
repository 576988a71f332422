//! What domains, strong handles, local handles, guards and `RcuCell` promise.
//!
//! Behaviour is tested under every scheme (`support.rs`). Forks are in `forks/revocable.rs`, the end of a process in `revocable_exit.rs`.
#![cfg(feature = "std")]

#[path = "../support/at_end.rs"]
mod at_end;
#[macro_use]
#[path = "../support/has.rs"]
mod has;
#[macro_use]
mod support;

mod behaviour;
#[cfg(all(target_pointer_width = "64", not(any(miri, sanitized))))]
mod coroutines;
mod destructors;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    feature = "registry",
    not(any(miri, sanitized))
))]
mod filter;
mod forgotten;
mod lists;
mod rcu_cell;
mod rcu_cell_interrupted;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    feature = "registry",
    not(any(miri, sanitized))
))]
mod sandbox;
#[path = "../support/staged.rs"]
mod staged;
mod threads;
mod traits;
