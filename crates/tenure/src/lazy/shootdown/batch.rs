//! [`Batch`]: the objects that end together, to be found by address.

use super::dying::List;
use super::slot::Object;
use crate::memory::{Plain, Threads};
use core::ptr::{self, NonNull};

/// Buckets: a few seats and one object are the common case, many of both are bearable.
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 6;

/// Blocks of one owner, in a table that needs no memory of its own: there is none to be had in a drop.
pub(super) struct Batch<T, M: Threads, const VERIFY: bool> {
    /// All of them. In what order they are ended does not depend on where they are.
    blocks: List<T, M, VERIFY>,
    /// The first of each bucket; the others follow by `chain`.
    buckets: [*mut Object<T, M, VERIFY>; BUCKETS],
}

/// Blocks are far apart, and their addresses end in zeros: the upper bits of a product spread them (Fibonacci hashing).
fn bucket<B>(address: *mut B) -> usize {
    let product = (address.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product >> (u64::BITS - BUCKET_BITS)) as usize
}

impl<T, M: Threads, const VERIFY: bool> Batch<T, M, VERIFY> {
    pub(super) const fn new() -> Self {
        Self { blocks: List::new(), buckets: [ptr::null_mut(); BUCKETS] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// # Safety
    ///
    /// The block is the caller's.
    pub(super) unsafe fn push(&mut self, block: NonNull<Object<T, M, VERIFY>>) {
        let first = &mut self.buckets[bucket(block.as_ptr())];
        // SAFETY: the caller's.
        let chain = &unsafe { Object::header(block) }.object.chain;
        chain.with_mut(|chain| {
            // SAFETY: nobody else has the block.
            unsafe { *chain = *first };
        });
        *first = block.as_ptr();
        // SAFETY: the caller's.
        unsafe { self.blocks.push(block) };
    }

    /// The block at that address, if it is in the batch.
    #[inline]
    pub(super) fn find(
        &self,
        address: *mut Object<T, M, VERIFY>,
    ) -> Option<NonNull<Object<T, M, VERIFY>>> {
        let chained = |&block: &NonNull<Object<T, M, VERIFY>>| {
            // SAFETY: the batch owns its blocks.
            let header = unsafe { Object::header(block) };
            // SAFETY: so nobody writes it.
            NonNull::new(unsafe { header.object.chain.read() })
        };
        let first = NonNull::new(self.buckets[bucket(address)]);
        core::iter::successors(first, chained).find(|block| block.as_ptr() == address)
    }

    /// The blocks, which are the caller's.
    pub(super) fn into_blocks(mut self) -> impl Iterator<Item = NonNull<Object<T, M, VERIFY>>> {
        core::iter::from_fn(move || self.blocks.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_an_allocator_puts_side_by_side_spread_over_the_buckets() {
        // The lower half of it where addresses have 32 bits.
        const FIRST: usize = 0x7f00_1234_0000_u64 as usize;
        let mut sizes = [0; BUCKETS];
        for block in 0..6_400 {
            let address = core::ptr::without_provenance_mut::<u8>(FIRST + block * 384);
            sizes[bucket(address)] += 1;
        }
        assert!(sizes.iter().all(|size| (1..200).contains(size)), "{sizes:?}");
    }
}
