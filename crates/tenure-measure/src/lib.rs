//! Which of two programs is faster: runs that take turns, ratios within rounds, their median and its interval.
//!
//! | module | subject |
//! |---|---|
//! | [`compare`] | runs two commands in turns |
//! | [`figures`] | what of a run is compared |
//! | [`command`] | runs a command once, perhaps beside its server |
//! | [`git`] | runs git on the user's repository and on copies of it |
//! | [`mirror`] | copies of a repository below another root |
//! | [`revision`] | a revision of a repository in a folder of its own |
//! | [`judge`] | from the figures of the rounds to a verdict |
//! | [`metric`] | what a run achieved, from what it printed |

#[cfg(unix)]
pub mod command;
#[cfg(unix)]
pub mod compare;
#[cfg(unix)]
pub mod figures;
#[cfg(unix)]
pub mod git;
pub mod judge;
pub mod metric;
#[cfg(unix)]
pub mod mirror;
#[cfg(unix)]
pub mod revision;

#[cfg(unix)]
mod usage;
