//! [`SlotKey`]: which slot, and which of its uses.

use crate::segments::INDEX_BITS;

/// Bits of a generation.
const GENERATION_BITS: u32 = u64::BITS - INDEX_BITS;
const INDEX: u64 = (1 << INDEX_BITS) - 1;

/// [`Slot::uses`](crate::pool::shelf::Slot::uses) during the last use that a key can name, and one use more
/// than fits. A slot that has come here is retired.
pub(super) const LAST_USE: u64 = (1 << (GENERATION_BITS + 1)) - 1;

/// Names one use of one slot of a pool: what [`SlotPool::get`](super::SlotPool::get) looks for.
///
/// 64 bits, so that it fits where systems let a program keep a word: the user data of epoll and of io_uring.
///
/// ```text
/// 63                              28  27                        0
/// ├── generation: earlier uses ──────┤├── index of the slot ────┤
/// ```
///
/// When the slot is used again the generation is another, and the key is *stale*: it finds nothing, ever. A
/// slot is used 2^36 times and then retired, so that no key comes to name a second use.
///
/// A key says nothing of its pool. Another pool may find one of its own objects by it: alive, and of the type of
/// that pool, but not the one that was meant. To look up any 64 bits is memory-safe, whoever made them up; but
/// keys can be guessed, so they are no proof that somebody may use an object. [`u64::MAX`] is no object's key in any
/// pool.
///
/// The order of keys means nothing; it is there for sorted collections.
///
/// ```
/// use tenure::pool::{SlotKey, SlotPool};
///
/// let pool = SlotPool::<String>::new();
/// let key = pool.acquire()?.key();
/// assert_eq!(SlotKey::from_bits(key.to_bits()), key);
/// assert_ne!(pool.acquire()?.key(), key); // the same slot, another use
/// # Ok::<(), tenure::pool::slot::AcquireError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SlotKey(u64);

impl SlotKey {
    /// The key of a slot in use.
    #[inline(always)]
    pub(super) fn new(index: u32, uses: u64) -> Self {
        Self((uses >> 1) << INDEX_BITS | u64::from(index))
    }

    /// The key as a word.
    #[must_use]
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The key that [`to_bits`](Self::to_bits) made the word of. Other words make keys that find nothing, or
    /// something else.
    #[must_use]
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(super) const fn index(self) -> u32 {
        (self.0 & INDEX) as u32
    }

    /// What [`Slot::uses`](crate::pool::shelf::Slot::uses) is during the use that is named.
    #[inline(always)]
    pub(super) const fn uses(self) -> u64 {
        self.generation() << 1 | 1
    }

    const fn generation(self) -> u64 {
        self.0 >> INDEX_BITS
    }
}

impl core::fmt::Debug for SlotKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SlotKey")
            .field("index", &self.index())
            .field("generation", &self.generation())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments::CAPACITY;

    #[test]
    fn a_key_holds_every_index_and_every_generation() {
        for index in [0, 1, CAPACITY - 1] {
            for uses in [1, 3, LAST_USE - 2, LAST_USE] {
                let key = SlotKey::new(index, uses);
                assert_eq!((key.index(), key.uses()), (index, uses));
            }
        }
        assert!(SlotKey::from_bits(u64::MAX).index() >= CAPACITY);
    }
}
