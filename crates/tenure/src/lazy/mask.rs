//! [`Mask`]: who has an object is a set of bits, and the set is the reference count.
//!
//! 1. A slot that has a block has its bit set in the block's mask; no other slot's owner touches that bit.
//! 2. A word of the mask that is not zero has one strong reference. Whoever sets its first bit takes it, with a
//!    reference of their own at hand; whoever clears its last bit gives it back.
//! 3. A bit is set while its slot has the block at all, in use or not. Entering the same block again touches nothing.
//! 4. The last put destroys the block: that of the last handle, or that of whoever clears the last bit.
//!
//! Clearing is AcqRel, so that whoever clears a word's last bit has seen what the others did with the block, and that
//! the word's reference was taken; the put passes it on to whoever destroys. Setting is Relaxed: it orders nothing that
//! the handle at hand does not.

use super::Scheme;
use super::context::give_back;
use super::protocol::{Block, Core, Protocol, destroy_each};
use crate::memory::{Atomic, Memory, Ordering, Pointer};
use crate::segments::Segments;
use core::ptr::{self, NonNull};

/// A bit for each seat that has the object: written when a seat enters another object, not when it goes on with the same.
///
/// No barrier and no interrupt, ever. The price is retention: an object whose last handle is gone stays until the last
/// seat that keeps it enters another one, is [cleared](super::Seat::clear), or goes: a seat whose worker sleeps keeps it
/// for as long. And switching between objects writes two words that other seats write: one bit is set, one cleared.
///
/// To have it: `Domain::<T, Mask>::new_in()`.
///
/// After a proposal in the review of Linux's lazy TLB: the mask of CPUs as the count. The answer there was that the mask
/// has bits that nobody needs any more, and that clearing them brings the shared write back. Here a seat clears its bit
/// when it enters another object, and that costs the shared write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {}

/// The seats that have a block, 64 to a word.
pub struct Holders<M: Memory>(Segments<M::AtomicU64, M>);

impl<M: Memory> Default for Holders<M> {
    fn default() -> Self {
        Self(Segments::new())
    }
}

/// The block that the slot has. Touched by the slot's owner alone.
pub struct Held<T, M: Memory>(M::Pointer<Block<T, Mask, M>>);

impl<T, M: Memory> Default for Held<T, M> {
    fn default() -> Self {
        Self(Pointer::new(ptr::null_mut()))
    }
}

const fn place(number: u32) -> (u32, u64) {
    (number / u64::BITS, 1 << (number % u64::BITS))
}

impl<T, M: Memory> Held<T, M> {
    fn replace(&self, number: u32, new: *mut Block<T, Mask, M>) {
        // Relaxed: nobody else touches it.
        let old = self.0.load(Ordering::Relaxed);
        let (word, bit) = place(number);
        if let Some(new) = NonNull::new(new) {
            // SAFETY: the caller of `switch` has a reference.
            let header = unsafe { Block::header(new) };
            let word = header.object.0.get_or_grow(word, |_| Atomic::new(0));
            // Relaxed: see the module.
            if word.fetch_or(bit, Ordering::Relaxed) == 0 {
                header.strong.get_held();
            }
        }
        // Relaxed: nobody else touches it.
        self.0.store(new, Ordering::Relaxed);
        if let Some(old) = NonNull::new(old) {
            // SAFETY: rule 2: the bit keeps the block.
            let header = unsafe { Block::header(old) };
            let word = header.object.0.get(word).expect("it has this slot's bit");
            // AcqRel: see the module.
            if word.fetch_sub(bit, Ordering::AcqRel) == bit {
                // SAFETY: rule 2: the word's reference is this one.
                unsafe { give_back(old) };
            }
        }
    }
}

impl<M: Memory> Scheme<M> for Mask {}

// SAFETY: rules 1 and 2 keep a block while its slot uses it, and the count says "last" once.
unsafe impl<M: Memory> Protocol<M> for Mask {
    const NAME: &'static str = "mask";
    type Object<T> = Holders<M>;
    type Slot<T> = Held<T, M>;
    type Domain<T> = ();

    #[inline(always)]
    fn has<T>(slot: &Held<T, M>, block: NonNull<Block<T, Self, M>>) -> bool {
        // Relaxed, here and below: nobody else touches it.
        slot.0.load(Ordering::Relaxed) == block.as_ptr()
    }

    #[inline(always)]
    unsafe fn resume<T>(_slot: &Held<T, M>, _block: NonNull<Block<T, Self, M>>) {}

    unsafe fn switch<T>(slot: &Held<T, M>, number: u32, block: NonNull<Block<T, Self, M>>) {
        slot.replace(number, block.as_ptr());
    }

    #[inline(always)]
    unsafe fn leave<T>(_slot: &Held<T, M>, _block: NonNull<Block<T, Self, M>>) {}

    #[inline(always)]
    unsafe fn lazy<T>(slot: &Held<T, M>) -> Option<NonNull<Block<T, Self, M>>> {
        // Relaxed: as above.
        NonNull::new(slot.0.load(Ordering::Relaxed))
    }

    unsafe fn clear<T>(slot: &Held<T, M>, number: u32) {
        slot.replace(number, ptr::null_mut());
    }

    unsafe fn retire<T>(
        core: &Core<T, Self, M>,
        blocks: impl Iterator<Item = NonNull<Block<T, Self, M>>>,
    ) {
        // SAFETY: the caller's, and rules 1 and 2.
        unsafe { destroy_each(core, blocks) };
    }
}
