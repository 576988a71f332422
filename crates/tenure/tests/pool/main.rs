//! What pools and their free lists promise.
//!
//! | module | claims |
//! |---|---|
//! | `lists`, `threads` | every free list keeps the promises of `List`, also when threads end |
//! | `buffers`, `contents` | what a `BufferPool` hands out and what becomes of it; what a buffer is |
//! | `slots`, `slots_end` | keys, guards and objects of a `SlotPool`; ends, panics, and users' code that uses the pool |
//! | `face` | the types that users have do what the generic ones do |
//! | `limits` | a refusal is true |
//! | `turns` | acquires that wait at the limit |
//! | `buffers_model` | random operations against an obviously right model |
//!
//! Forks are in `forks/pool.rs`, accounts of the allocator in `memory/buffers.rs`.
#![cfg(feature = "std")]

#[path = "../support/at_end.rs"]
mod at_end;
#[macro_use]
#[path = "../support/has.rs"]
mod has;
#[macro_use]
#[path = "../support/lists.rs"]
mod owned;
#[macro_use]
#[path = "../support/table.rs"]
mod table;
#[path = "../support/waits.rs"]
mod waits;

mod buffers;
mod buffers_model;
mod contents;
mod face;
mod limits;
mod lists;
mod slots;
mod slots_end;
mod support;
mod threads;
mod turns;
