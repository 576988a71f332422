//! [`AcquireError`] and [`Statistics`]: what a pool says of itself.

use core::fmt;

/// Why there is no object to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireError {
    /// The pool was closed.
    Closed,
    /// There are as many objects as there may be, and none was found idle.
    Exhausted {
        /// How many there may be.
        limit: usize,
    },
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => {
                f.write_str("no object: the pool is closed; close it later, or build another one")
            }
            Self::Exhausted { limit } => {
                write!(
                    f,
                    "no object: the pool has the {limit} objects that it may have, and none is idle; drop a guard, \
                     or build the pool with a higher limit"
                )
            }
        }
    }
}

impl core::error::Error for AcquireError {}

/// What a [`SlotPool`](super::SlotPool) did so far, and what it has, in objects.
///
/// A snapshot: the figures are read one after the other while other threads go on, and may be off by what those do
/// meanwhile. With nobody else at work they are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Objects that were made.
    pub made: u64,
    /// Times that an object was used again instead.
    pub reused: u64,
    /// Objects that are in use now, by one owner or shared.
    pub in_use: u64,
    /// Objects that wait for their next user, in the depot and in hoards.
    pub idle: u64,
}

impl Statistics {
    /// Times that an object was handed out.
    #[must_use]
    pub fn acquired(&self) -> u64 {
        self.reused + self.made
    }
}
