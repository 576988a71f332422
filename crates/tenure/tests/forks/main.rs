//! A process that forks while other threads are in the middle of something goes on.
//!
//! The child has one thread. What the others had in hand is lost with them, and may leak. The child must neither wait for
//! it nor give it to two owners, and what is its own ends as in the parent. Its exit status says how it went; an alarm
//! ends one that hangs.
#![cfg(all(unix, feature = "std", not(miri)))]

#[path = "../support/at_end.rs"]
mod at_end;
#[path = "../support/lists.rs"]
mod owned;
#[path = "../revocable/support.rs"]
mod support;
#[macro_use]
#[path = "../support/table.rs"]
mod table;
#[path = "../support/waits.rs"]
mod waits;

mod children;
mod stopping;

mod numbers;
mod owner;
mod pool;
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
mod registry;
mod revocable;
