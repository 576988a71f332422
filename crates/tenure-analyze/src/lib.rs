//! Turns a recording of what threads did to cache lines into findings.
//!
//! An instrument, such as `tenure-run`, writes a [`Recording`](tenure_model::recording::Recording). [`report()`] goes one way through
//! it; no step asks a later one.
//!
//! | module | step |
//! |---|---|
//! | [`lines`] | lines that one change of the source would fix, together, with the words that threads use |
//! | `naming` | what lines, words, code and threads are called |
//! | [`lines::Contended::kind`] | what is wrong with a line, by its words, once these are named |
//! | [`forecast`] | what threads do to a line as a pattern for the simulator, and what each repair would give |
//! | `report` | findings, the worst first, and what the report could not see |
//! | `time` | where the processor time went, and why CPUs were idle |
//! | `answer` | the answer in short: which changes are worth making |
//! | [`FindingFilter`] | the findings that a reader asked for |
//! | [`diff`], [`budget`] | whether a report passes: what differs from an older one, and which lines may be contended |

mod advice;
mod answer;
pub mod budget;
pub mod diff;
mod error;
mod filter;
pub mod forecast;
pub mod lines;
mod naming;
pub mod possible;
pub mod proportion;
mod report;
mod time;

#[cfg(test)]
mod fixtures;

pub use answer::{Unpredicted, leave_unpredicted};
pub use budget::Budget;
pub use error::InputError;
pub use filter::FindingFilter;
pub use forecast::{Analysis, Forecasts, MACHINE, Predicted};
pub use naming::names::Programs;
pub use report::report;
pub use tenure_sim::Machine;
