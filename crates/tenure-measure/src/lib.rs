//! Which of two programs is faster: runs that take turns, ratios within rounds, their median and its interval.
//!
//! | module | subject |
//! |---|---|
//! | [`command`] | runs a command once, perhaps beside its server |
//! | [`judge`] | from the figures of the rounds to a verdict |
//! | [`metric`] | what a run achieved, from what it printed |

#[cfg(unix)]
pub mod command;
pub mod judge;
pub mod metric;

#[cfg(unix)]
mod usage;
