//! What pools have done, and what they have.

use super::lifecycle::Usage;
use alloc::vec::Vec;

/// What a [`SlotPool`](super::SlotPool) has done, and what it has, in objects.
///
/// A snapshot: the figures are read one after the other, while other threads go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct SlotStatistics {
    /// Objects that were made.
    pub made: u64,
    /// Times that an object was used again.
    pub reused: u64,
    /// Objects in use now, by one owner or shared.
    pub in_use: u64,
    /// Objects that wait for their next user, in the depot and in magazines.
    pub idle: u64,
}

impl SlotStatistics {
    pub(super) fn new(usage: &Usage, present: u64) -> Self {
        let &Usage { made, acquired, in_use, .. } = usage;
        Self {
            made,
            reused: acquired.saturating_sub(made),
            in_use,
            idle: present.saturating_sub(in_use),
        }
    }

    /// Times that an object was handed out.
    #[must_use]
    pub fn acquired(&self) -> u64 {
        self.reused + self.made
    }
}

/// What a [`BufferPool`](super::BufferPool) has done, and what it has.
///
/// A snapshot: the figures are read one after the other, while other threads go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferStatistics {
    /// By size class, the smallest first.
    pub classes: Vec<BufferCounts>,
    /// All classes together.
    pub total: BufferCounts,
}

/// Buffers of a size class, or of all classes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferCounts {
    /// Bytes of a buffer of this class; 0 for all classes together.
    pub size: usize,
    /// Times that an idle buffer was handed out.
    pub reused: u64,
    /// Buffers that were allocated.
    pub allocated: u64,
    /// Buffers that were given back to the allocator.
    pub freed: u64,
    /// Times that a request for this class got a smaller buffer, which its own class counts.
    pub downgraded: u64,
    /// Buffers in use now.
    pub in_use: u64,
    /// Buffers that wait for their next user, in the depot and in magazines.
    pub idle: u64,
    /// Capacity of all buffers, in use and idle, in bytes.
    pub bytes: u64,
}

impl BufferCounts {
    pub(super) fn new(usage: &Usage, downgraded: u64, size: u64) -> Self {
        let &Usage { made: allocated, ended: freed, acquired, in_use } = usage;
        let present = allocated.saturating_sub(freed);
        Self {
            size: size as usize,
            reused: acquired.saturating_sub(allocated),
            allocated,
            freed,
            downgraded,
            in_use,
            idle: present.saturating_sub(in_use),
            bytes: present * size,
        }
    }

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

impl BufferStatistics {
    pub(super) fn new(classes: Vec<BufferCounts>) -> Self {
        let mut total = BufferCounts::default();
        classes.iter().for_each(|class| total.add(class));
        Self { classes, total }
    }
}
