//! From what the threads of a process did to cache lines to findings.
//!
//! A witness, such as `tenure-run`, writes a [`Recording`](tenure_model::recording::Recording). [`contend`] finds the lines that threads contend for
//! and says what is wrong with them; [`find`] names them and has the simulator predict what mending them would give.

pub mod contend;
pub mod find;
pub mod possible;
pub mod proportion;
