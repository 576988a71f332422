//! [`SlotKey`]: which slot, and which of its uses.

use crate::segments::INDEX_BITS;

const GENERATION_BITS: u32 = u64::BITS - INDEX_BITS;
const INDEX: u64 = (1 << INDEX_BITS) - 1;

/// [`Slot::uses`](crate::pool::table::Slot::uses) in the last use that a key can name. Then the slot is retired.
pub(super) const LAST_USE: u64 = (1 << (GENERATION_BITS + 1)) - 1;

/// Names one use of one slot of a pool, for [`SlotPool::get`](super::SlotPool::get), in 64 bits, which fit the user
/// data of epoll and io_uring.
///
/// ```text
/// 63                              28  27                        0
/// ├── generation: earlier uses ──────┤├── index of the slot ────┤
/// ```
///
/// The next use of the slot has another generation; the old key is *stale* and never finds anything again: after 2^36
/// uses a slot is retired.
///
/// A key does not name its pool: another pool may find an object of its own by it. Looking up any 64 bits is
/// memory-safe, but keys can be guessed, so they prove no right to an object. [`u64::MAX`] is never a key. The order of
/// keys, which means nothing, is for sorted collections.
///
/// ```
/// use tenure::pool::{SlotKey, SlotMut, SlotPool};
///
/// let pool = SlotPool::<String>::new();
/// let key = SlotMut::key(&pool.acquire()?);
/// assert_eq!(SlotKey::from_bits(key.to_bits()), key);
/// assert_ne!(SlotMut::key(&pool.acquire()?), key); // the same slot, another use
/// # Ok::<(), tenure::pool::AcquireError>(())
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

    /// The key of a word of [`to_bits`](Self::to_bits). Keys of other words find nothing, or something else.
    #[must_use]
    #[inline(always)]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(super) const fn index(self) -> u32 {
        (self.0 & INDEX) as u32
    }

    /// [`Slot::uses`](crate::pool::table::Slot::uses) during the named use.
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
