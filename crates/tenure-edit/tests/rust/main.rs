//! Programs that are edited, built by rustc until no error is left, and run.

mod apart;
mod borrow;
mod count;
mod order;
mod program;
mod store;
