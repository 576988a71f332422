//! [`Stats`]: what pools have done, and what they have.

use super::lifecycle::Usage;

/// What a pool, or a size class of a [`BufferPool`](super::BufferPool), has done, and what it has: in buffers or objects.
///
/// A snapshot: the figures are read one after the other, while other threads go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of one; 0 for several size classes together.
    pub size: usize,
    /// Times that an idle one was handed out.
    pub reused: u64,
    /// Those that were made.
    pub made: u64,
    /// Buffers that were given back to the allocator, objects that were dropped.
    pub freed: u64,
    /// Times that a request for buffers of this class got a smaller one, which its own class counts.
    pub downgraded: u64,
    /// Those in use now, by one owner or shared.
    pub in_use: u64,
    /// Those that wait for their next user, in the depot and in magazines.
    pub idle: u64,
    /// Bytes of all, in use and idle.
    pub bytes: u64,
}

impl Stats {
    /// `present` are in use or idle, each of `size` bytes.
    pub(super) fn new(usage: &Usage, present: u64, size: u64) -> Self {
        let &Usage { made, ended: freed, acquired, in_use } = usage;
        Self {
            size: size as usize,
            reused: acquired.saturating_sub(made),
            made,
            freed,
            downgraded: 0,
            in_use,
            idle: present.saturating_sub(in_use),
            bytes: present * size,
        }
    }

    /// Times that one was handed out.
    #[must_use]
    pub fn acquired(&self) -> u64 {
        self.reused + self.made
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.reused += other.reused;
        self.made += other.made;
        self.freed += other.freed;
        self.downgraded += other.downgraded;
        self.in_use += other.in_use;
        self.idle += other.idle;
        self.bytes += other.bytes;
    }
}
