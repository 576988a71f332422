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
            Self::Closed => f.write_str("the pool is closed and hands out no objects any more"),
            Self::Exhausted { limit } => {
                write!(
                    f,
                    "all objects of the pool are in use, and its limit is {limit}: drop a guard first, or raise the limit"
                )
            }
        }
    }
}

impl core::error::Error for AcquireError {}

/// What a [`SlotPool`](super::SlotPool) has done and has, from
/// [`SlotPool::statistics`](super::SlotPool::statistics). Numbers of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Objects that were made.
    pub made: u64,
    /// Times that an object was used again instead.
    pub reused: u64,
    /// Objects in use.
    pub in_use: u64,
    /// Objects that are there and not in use.
    pub idle: u64,
}
