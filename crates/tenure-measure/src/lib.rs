//! Which of two programs is faster: runs that take turns, ratios within rounds, their median and its interval.
//!
//! | module | subject |
//! |---|---|
//! | [`metric`] | what a run achieved, from what it printed |

pub mod metric;
