//! What `perf` has measured, joined with the program's types.
//!
//! A sample belongs to the variable at its address of data, or else to the member that its instruction accesses, as
//! [`sweep`](tenure_code::sweep) knows it. [`tenure_debuginfo::perf`] reads the recording.
//!
//! | module | subject |
//! |---|---|
//! | `parts` | samples by type and member |
//! | `join` | findings with what was measured, and findings that only measuring shows |

mod join;
mod parts;

pub(crate) use join::{EntrySource, Joined, ListEntry, Own, entries};
