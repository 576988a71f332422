//! Edits of C and C++ sources: what is written, what is refused, and that it compiles to the layout that was asked for.

mod allocate;
mod apart;
mod compiled;
mod count;
#[path = "../../../tenure-run/tests/support/installed.rs"]
mod installed;
mod order;
mod store;
mod support;
