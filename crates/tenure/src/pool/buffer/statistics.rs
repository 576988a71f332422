//! [`Statistics`]: what a pool did and has.

use alloc::vec::Vec;

/// What a pool did so far, and what it has.
///
/// A snapshot: the figures are read one after the other while other threads go on, and may be off by what those do
/// meanwhile. With nobody else at work they are exact.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// By size class, the smallest first.
    pub classes: Vec<ClassStatistics>,
    /// All classes together.
    pub total: Counts,
}

/// The [`Counts`] of a size class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassStatistics {
    /// Bytes of a buffer of this class.
    pub size: usize,
    /// What was counted.
    pub counts: Counts,
}

/// Numbers of buffers, and their memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Times that an idle buffer was handed out.
    pub reused: u64,
    /// Buffers that were allocated.
    pub allocated: u64,
    /// Buffers that were given back to the allocator.
    pub freed: u64,
    /// Times that a buffer of this class was asked for, and one of a smaller class was handed out. Counted here;
    /// as `reused` or `allocated` it counts in the smaller class.
    pub downgraded: u64,
    /// Buffers that are in use now.
    pub in_use: u64,
    /// Buffers that wait for their next user, in the depot and in hoards.
    pub idle: u64,
    /// Bytes of the buffers in use and idle: of their capacities.
    pub bytes: u64,
}

impl Counts {
    /// Times that a buffer was handed out.
    #[must_use]
    pub fn acquired(&self) -> u64 {
        self.reused + self.allocated
    }

    fn add(&mut self, other: &Self) {
        self.reused += other.reused;
        self.allocated += other.allocated;
        self.freed += other.freed;
        self.downgraded += other.downgraded;
        self.in_use += other.in_use;
        self.idle += other.idle;
        self.bytes += other.bytes;
    }
}

impl FromIterator<ClassStatistics> for Statistics {
    fn from_iter<I: IntoIterator<Item = ClassStatistics>>(classes: I) -> Self {
        let classes = Vec::from_iter(classes);
        let mut total = Counts::default();
        classes.iter().for_each(|class| total.add(&class.counts));
        Self { classes, total }
    }
}
