//! Why a pool cannot be built, or has nothing to hand out.

use core::fmt;

/// Why a pool has nothing to hand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireError {
    /// The pool is closed.
    Closed,
    /// The [`SlotPool`](super::SlotPool) has as many objects as it may, none of them idle.
    Exhausted {
        /// How many it may have.
        limit: usize,
    },
    /// More bytes were asked of a [`BufferPool`](super::BufferPool) than its largest size class has.
    TooLarge {
        /// Bytes that were asked for.
        asked: usize,
        /// Bytes of a buffer of the largest class.
        largest: usize,
    },
    /// The `BufferPool` would exceed its memory limit, and no buffer is idle. A buffer counts with its class's size.
    LimitReached {
        /// Bytes that the pool may hold.
        limit: u64,
        /// Bytes that it holds.
        held: u64,
        /// Bytes that were asked for.
        asked: usize,
    },
    /// The allocator has no memory.
    OutOfMemory {
        /// Bytes that the allocator was asked for.
        asked: usize,
    },
    /// A size class of the `BufferPool` has as many buffers as it can have: 2^28 - 8.
    TooManyBuffers {
        /// Bytes of a buffer of that class.
        size: usize,
    },
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the pool is closed: acquire before calling close()"),
            Self::Exhausted { limit } => write!(
                f,
                "no object: all {limit} that the pool may have are in use; drop a guard, or build the pool with a higher \
                 limit"
            ),
            Self::TooLarge { asked, largest } => write!(
                f,
                "no buffer of {asked} bytes: the pool's largest have {largest}; ask for less, or build the pool with more \
                 size classes"
            ),
            Self::LimitReached { limit, held, asked } => write!(
                f,
                "no buffer of {asked} bytes: the pool holds {held} of at most {limit} bytes; drop buffers, or build the \
                 pool with a higher limit"
            ),
            Self::OutOfMemory { asked } => write!(
                f,
                "no buffer of {asked} bytes: the allocator has no memory; drop buffers, or build the pool with a limit"
            ),
            Self::TooManyBuffers { size } => write!(
                f,
                "no buffer: the pool cannot count more buffers of {size} bytes; drop some, or use another pool"
            ),
        }
    }
}

impl core::error::Error for AcquireError {}

/// Why the settings of a [`BufferPoolBuilder`](super::BufferPoolBuilder) make no pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigError {
    /// The smallest class is not a power of two, or less than 64.
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
    /// The limit does not allow a single buffer of the smallest class.
    Limit {
        /// Bytes that the pool may hold.
        limit: u64,
        /// Bytes of the smallest class.
        smallest: usize,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmallestClass { smallest } => {
                write!(
                    f,
                    "the smallest size class has {smallest} bytes: take a power of two, 64 or more"
                )
            }
            Self::NumberOfClasses { smallest, count, most } => {
                write!(f, "{count} size classes from {smallest} bytes: take 1 to {most} of them")
            }
            Self::Limit { limit, smallest } => write!(
                f,
                "a limit of {limit} bytes is less than one buffer of the smallest class: take {smallest} or more"
            ),
        }
    }
}

impl core::error::Error for ConfigError {}
