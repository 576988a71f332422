//! The shipping protocols, model-checked by plain `cargo test`.
//!
//! | room | claims |
//! |---|---|
//! | [`counts`] | each count, whose memory outlives it: one verdict, no revival after it, no race on the value |
//! | [`ticket`] | `TicketRef`: memory freed at once by the last put; slots given a new life under failed gets |
//! | [`arc`] | the counts of `Arc`: value and allocation go once; upgrade, get_mut, try_unwrap, into_inner, new_cyclic |
//! | [`pool`] | free lists: one owner a slot, none lost, each home exactly once, no touch after the last is home |
//! | [`slots`] | `SlotPool`: a key finds the use that it names or nothing; the last to hold an object gives it back |
//! | [`lazy`] | domains and `Cached`: no value is read after its end, which waits for its readers alone |
//! | [`registry`] | one live object per key: created once, destroyed once, and no memory is freed under a lookup or a put |
//! | [`numbers`] | numbers of threads: one owner at a time, who sees what the one before did |
//! | `orderings` of a room | no ordering of its files can be weakened: [`needed`], [`weakening`] |
//! | [`twins`] | for each rule a small copy that breaks it: has to fail, in the way that the flaw predicts |
//! | [`memory`], [`clocks`] | the machine: loom's atomics, with memory that can be freed. Its limits are listed there |
//! | [`stage`], [`handles`], [`quarantine`] | what a model is made of |
//!
//! A model over two or three threads is explored exhaustively where that takes about a second, and
//! otherwise with as many preemptions as a few seconds pay for. Published bugs of this kind show at
//! one to three. `cargo test --test models -- --nocapture` prints executions, bound and time of
//! each.

// loom switches threads in assembly, which Miri does not run, and does not compile for 32 bits.
#![cfg(all(feature = "alloc", target_pointer_width = "64", not(miri)))]

#[macro_use]
#[path = "../support/table.rs"]
mod table;

mod arc;
mod clocks;
mod counts;
mod handles;
mod lazy;
mod memory;
mod needed;
mod numbers;
mod pool;
mod quarantine;
#[cfg(feature = "registry")]
mod registry;
mod slots;
mod stage;
mod ticket;
mod twins;
mod weakening;
