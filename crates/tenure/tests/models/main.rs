//! The shipping protocols, model-checked by plain `cargo test`. Each has its models, `orderings`, none of which can be
//! weakened, read-modify-writes that cannot be [`torn`], and [`twins`], which break one rule and have to fail. [`memory`] and
//! [`clocks`] are the machine; its limits are listed there.
//!
//! A model over two or three threads is explored exhaustively where that takes about a second, otherwise with as many
//! preemptions as a second or two pays for. Published bugs of this kind show at one to three. With `TENURE_MODELS=all` the
//! slowest models have one more. `cargo test --test models -- --nocapture` prints executions, bound and time of each.

// loom switches threads in assembly, which Miri does not run, and does not compile for 32 bits.
#![cfg(all(feature = "alloc", target_pointer_width = "64", not(miri)))]

#[macro_use]
#[path = "../support/table.rs"]
mod table;
#[path = "../support/waits.rs"]
mod waits;

mod arc;
mod cells;
mod clocks;
mod counts;
mod handles;
mod large_stack;
mod memory;
mod needed;
mod numbers;
mod pool;
mod quarantine;
#[cfg(feature = "registry")]
mod registry;
mod revocable;
mod slots;
mod stage;
mod ticket;
mod torn;
mod twins;
mod weakening;
