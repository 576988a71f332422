//! The retire list: objects that have lost their last handle, and which thread reclaims them.
//!
//! Threads *combine*: a thread that drops a last handle pushes the block and adds a request to one word. If there is no
//! combiner, it becomes the combiner, and reclaims everything that was pushed with one barrier. Otherwise it leaves:
//! the combiner cannot resign without noticing the request, and then goes round again. So threads that drop at once
//! share barriers, and none waits.
//!
//! Soundness does not depend on it: the thread that takes blocks from the list owns them. A thread that has no number,
//! or has gone round often enough, reclaims what it finds without being the combiner. So does a thread that finds
//! [`MANY_REQUESTS`]: otherwise threads that retire faster than one thread reclaims, or while that thread has no CPU,
//! would fill the memory.
//!
//! A combiner that a fork left behind is replaced. The child loses what it had in hand.

use super::Revoking;
use crate::memory::{Atomic, Memory, Ordering, Plain, Pointer, Threads};
use crate::revocable::protocol::{Block, BlockPointer};
use core::ptr::{self, NonNull};

pub struct RetireList<T, S: Revoking> {
    first: BlockPointer<T, S>,
    /// The upper half: the combiner's thread number, plus one. The lower half: requests since it began. Each has a
    /// block in memory, so there are never 2^32.
    combiner: <S::Memory as Memory>::AtomicU64,
}

impl<T, S: Revoking> Default for RetireList<T, S> {
    fn default() -> Self {
        Self { first: Pointer::new(ptr::null_mut()), combiner: Atomic::new(NO_COMBINER) }
    }
}

const NO_COMBINER: u64 = 0;
const THREAD_SHIFT: u32 = 32;

const fn combiner_of(word: u64) -> Option<usize> {
    ((word >> THREAD_SHIFT) as usize).checked_sub(1)
}

const MANY_REQUESTS: u32 = 256;

pub(super) struct Combiner(u64);

#[must_use]
pub(super) enum Role {
    /// The caller, also what others push meanwhile.
    Combiner(Combiner),
    /// Another thread.
    Delegated,
    /// The caller, beside a combiner that has enough to do.
    Alone,
}

impl<T, S: Revoking> RetireList<T, S> {
    /// # Safety
    ///
    /// The caller owns the block, and gives it away.
    pub(super) unsafe fn push(&self, block: NonNull<Block<T, S>>) {
        // SAFETY: the caller owns the block.
        let next = &unsafe { Block::header(block) }.next;
        // Relaxed, here and on failure: compared only; `take` acquires the whole list.
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            next.store(first, Ordering::Relaxed);
            // Release: pairs with the Acquire in `take`: the link, and what happened to the block.
            match self.first.compare_exchange(
                first,
                block.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }

    /// Takes all blocks for the caller.
    pub(super) fn take(&self) -> List<T, S> {
        // Relaxed, here and on failure: compared only.
        let mut first = self.first.load(Ordering::Relaxed);
        while !first.is_null() {
            // Acquire: pairs with the Release of every push: all of them are in one release sequence.
            match self.first.compare_exchange(
                first,
                ptr::null_mut(),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                // Not `first`, which may point to an earlier block at the same address.
                Ok(taken) => return List { first: taken },
                Err(found) => first = found,
            }
        }
        List::new()
    }

    /// Called after a push: adds a request. Makes the caller the combiner unless there is one.
    pub(super) fn request(&self, thread: usize) -> Role {
        // Release: pairs with the Acquire in `finish` and below. A thread that sees the request sees the push.
        let mut word = self.combiner.fetch_add(1, Ordering::Release) + 1;
        loop {
            let requests = word as u32;
            if combiner_of(word).is_some_and(|combiner| !S::Memory::is_lost(combiner)) {
                return if requests > MANY_REQUESTS { Role::Alone } else { Role::Delegated };
            }
            let mine = (thread as u64 + 1) << THREAD_SHIFT | u64::from(requests);
            // Acquire: pairs with the Release above: other threads have left the pushes of these requests to this one.
            // Without it `take` may load the list as it was before them. No Release: the requests have released.
            // Relaxed on failure: only the exchange that succeeds has to see them.
            match self.combiner.compare_exchange(word, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Role::Combiner(Combiner(mine)),
                Err(found) => word = found,
            }
        }
    }

    /// Resigns, unless there are requests that it may not have seen.
    pub(super) fn finish(&self, Combiner(seen): Combiner) -> Result<(), Combiner> {
        // Relaxed: the next combiner acquires blocks from the list, and requests from the threads that added them,
        // whose release sequences this exchange continues. Acquire on failure: as in `request`.
        self.combiner
            .compare_exchange(seen, NO_COMBINER, Ordering::Relaxed, Ordering::Acquire)
            .map(drop)
            .map_err(Combiner)
    }

    /// Resigns. The caller takes what was pushed before that.
    pub(super) fn resign(&self, mut combiner: Combiner) {
        while let Err(again) = self.finish(combiner) {
            combiner = again;
        }
    }
}

/// Blocks of one owner, linked.
pub(super) struct List<T, S: Revoking> {
    first: *mut Block<T, S>,
}

impl<T, S: Revoking> List<T, S> {
    pub(super) const fn new() -> Self {
        Self { first: ptr::null_mut() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// # Safety
    ///
    /// The caller owns the block, and gives it away.
    pub(super) unsafe fn push(&mut self, block: NonNull<Block<T, S>>) {
        // SAFETY: the caller owns the block.
        let next = &unsafe { Block::header(block) }.next;
        // Relaxed, here and below: the list has one owner.
        next.store(self.first, Ordering::Relaxed);
        self.first = block.as_ptr();
    }
}

impl<T, S: Revoking> Iterator for List<T, S> {
    type Item = NonNull<Block<T, S>>;

    fn next(&mut self) -> Option<NonNull<Block<T, S>>> {
        let block = NonNull::new(self.first)?;
        // SAFETY: the list owns its blocks.
        self.first = unsafe { Block::header(block) }.next.load(Ordering::Relaxed);
        Some(block)
    }
}

/// Enough for a few local handles and one object. Many of both still work.
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 6;

/// The objects that are reclaimed together, by address: a hash table that allocates nothing, as a drop cannot fail.
pub(super) struct Batch<T, S: Revoking> {
    /// Their order does not depend on their addresses.
    blocks: List<T, S>,
    /// The first block of each bucket; the others follow by `chain`.
    buckets: [*mut Block<T, S>; BUCKETS],
}

/// Blocks' addresses end in zeros: the upper bits of a product spread them (Fibonacci hashing).
fn bucket<B>(address: *mut B) -> usize {
    let product = (address.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product >> (u64::BITS - BUCKET_BITS)) as usize
}

impl<T, S: Revoking> Batch<T, S> {
    pub(super) const fn new() -> Self {
        Self { blocks: List::new(), buckets: [ptr::null_mut(); BUCKETS] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// # Safety
    ///
    /// The caller owns the block, and gives it away.
    pub(super) unsafe fn push(&mut self, block: NonNull<Block<T, S>>) {
        let first = &mut self.buckets[bucket(block.as_ptr())];
        // SAFETY: the caller owns the block.
        let chain = &unsafe { Block::header(block) }.object.chain;
        // SAFETY: so no other thread uses the field.
        chain.with_mut(|chain| unsafe { *chain = *first });
        *first = block.as_ptr();
        // SAFETY: the caller gives the block away.
        unsafe { self.blocks.push(block) };
    }

    #[inline]
    pub(super) fn find(&self, address: *mut Block<T, S>) -> Option<NonNull<Block<T, S>>> {
        // Most slots of readers that sleep have none.
        if address.is_null() {
            return None;
        }
        let chained = |&block: &NonNull<Block<T, S>>| {
            // SAFETY: the batch owns its blocks.
            let header = unsafe { Block::header(block) };
            // SAFETY: so no thread writes the field.
            NonNull::new(unsafe { header.object.chain.read() })
        };
        let first = NonNull::new(self.buckets[bucket(address)]);
        core::iter::successors(first, chained).find(|block| block.as_ptr() == address)
    }

    pub(super) fn into_blocks(self) -> List<T, S> {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_an_allocator_puts_side_by_side_spread_over_the_buckets() {
        // Its lower half where addresses have 32 bits.
        const FIRST: usize = 0x7f00_1234_0000_u64 as usize;
        let mut sizes = [0; BUCKETS];
        for block in 0..6_400 {
            let address = core::ptr::without_provenance_mut::<u8>(FIRST + block * 384);
            sizes[bucket(address)] += 1;
        }
        assert!(sizes.iter().all(|size| (1..200).contains(size)), "{sizes:?}");
    }
}
