//! What can go wrong: [`AcquireError`] and [`ConfigError`].

use core::fmt;

/// Why there is no buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireError {
    /// More bytes than a buffer of the largest size class has.
    TooLarge {
        /// Bytes that were asked for.
        asked: usize,
        /// Bytes of a buffer of the largest class.
        largest: usize,
    },
    /// The pool would have more memory than it may, and none is idle. A buffer counts with all bytes of its class.
    LimitReached {
        /// Bytes that the pool may have.
        limit: u64,
        /// Bytes that it has.
        held: u64,
        /// Bytes that were asked for.
        asked: usize,
    },
    /// The allocator has no memory.
    OutOfMemory {
        /// Bytes that the allocator was asked for.
        asked: usize,
    },
    /// The pool is closed.
    Closed,
    /// One size class has as many buffers as it can: 2^28 - 8.
    TooManyBuffers {
        /// Bytes of a buffer of that class.
        size: usize,
    },
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { asked, largest } => write!(
                f,
                "a buffer of {asked} bytes was asked for and the pool's largest have {largest}: \
                 ask for less, or build the pool with more size classes"
            ),
            Self::LimitReached { limit, held, asked } => write!(
                f,
                "no buffer of {asked} bytes: the pool holds {held} of the {limit} bytes that it may \
                 have; drop buffers, or build the pool with a higher limit"
            ),
            Self::OutOfMemory { asked } => write!(
                f,
                "no buffer of {asked} bytes: the allocator has no memory; drop buffers, or build the \
                 pool with a limit"
            ),
            Self::Closed => {
                f.write_str("no buffer: the pool is closed; build another one, or close it later")
            }
            Self::TooManyBuffers { size } => write!(
                f,
                "no buffer: the pool has all the buffers of {size} bytes that it can count; drop some, \
                 or use another pool"
            ),
        }
    }
}

impl core::error::Error for AcquireError {}

/// Why a pool cannot be built like that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigError {
    /// The smallest class is not a power of two from 64 up.
    SmallestClass {
        /// Bytes of the smallest class.
        smallest: usize,
    },
    /// There is no class, or the largest has half of the address space or more.
    NumberOfClasses {
        /// Bytes of the smallest class.
        smallest: usize,
        /// How many classes.
        count: usize,
        /// How many there can be.
        most: usize,
    },
    /// The limit allows not even one buffer of the smallest class.
    Limit {
        /// Bytes that the pool may have.
        limit: u64,
        /// Bytes of the smallest class.
        smallest: usize,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmallestClass { smallest } => write!(
                f,
                "the smallest size class has {smallest} bytes: take a power of two, 64 or more"
            ),
            Self::NumberOfClasses { smallest, count, most } => {
                write!(f, "{count} size classes from {smallest} bytes: take 1 to {most} of them")
            }
            Self::Limit { limit, smallest } => write!(
                f,
                "a limit of {limit} bytes is less than one buffer of the smallest class: take {smallest} \
                 or more"
            ),
        }
    }
}

impl core::error::Error for ConfigError {}
