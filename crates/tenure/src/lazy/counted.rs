//! [`Counted`]: every switch counts.
//!
//! 1. A slot that has a block has one of its strong references.
//! 2. Entering takes a reference to the new block, then gives back that of the old one: also where they are the
//!    same, as a scheduler does that counts the address space which an idle CPU borrows.
//! 3. The last put destroys the block, whoever does it.

use super::Scheme;
use super::context::give_back;
use super::protocol::{Block, Core, Protocol, destroy_each};
use crate::memory::{Memory, Ordering, Pointer};
use core::ptr::{self, NonNull};

/// Counts every enter on the object's one shared word, also of the same object again: the baseline.
///
/// The slow, obviously right scheme: what Linux did for lazy address spaces, at about a million switches per second
/// on 192 CPUs. An idle seat keeps the object alive until it enters another one, is
/// [cleared](super::Seat::clear), or goes. To have it: `Domain::<T, Counted>::new_in()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {}

/// The block whose reference the slot has. Touched by the slot's owner alone.
pub struct Held<T, M: Memory>(M::Pointer<Block<T, Counted, M>>);

impl<T, M: Memory> Default for Held<T, M> {
    fn default() -> Self {
        Self(Pointer::new(ptr::null_mut()))
    }
}

impl<T, M: Memory> Held<T, M> {
    fn replace(&self, block: *mut Block<T, Counted, M>) -> Option<NonNull<Block<T, Counted, M>>> {
        // Relaxed, here and below: nobody else touches it.
        let old = self.0.load(Ordering::Relaxed);
        self.0.store(block, Ordering::Relaxed);
        NonNull::new(old)
    }
}

impl<M: Memory> Scheme<M> for Counted {}

// SAFETY: rule 1 keeps a block while its slot uses it, and the count says "last" once.
unsafe impl<M: Memory> Protocol<M> for Counted {
    const NAME: &'static str = "counted";
    type Object<T> = ();
    type Slot<T> = Held<T, M>;
    type Domain<T> = ();

    /// Every switch counts, also to what the slot has.
    #[inline(always)]
    fn has<T>(_slot: &Held<T, M>, _block: NonNull<Block<T, Self, M>>) -> bool {
        false
    }

    unsafe fn resume<T>(_slot: &Held<T, M>, _block: NonNull<Block<T, Self, M>>) {}

    #[inline]
    unsafe fn switch<T>(slot: &Held<T, M>, _number: u32, block: NonNull<Block<T, Self, M>>) {
        // SAFETY: the caller has a reference.
        unsafe { Block::header(block) }.strong.get_held();
        if let Some(old) = slot.replace(block.as_ptr()) {
            // SAFETY: rule 1.
            unsafe { give_back(old) };
        }
    }

    #[inline(always)]
    unsafe fn leave<T>(_slot: &Held<T, M>, _block: NonNull<Block<T, Self, M>>) {}

    #[inline]
    unsafe fn lazy<T>(slot: &Held<T, M>) -> Option<NonNull<Block<T, Self, M>>> {
        // Relaxed: as above.
        NonNull::new(slot.0.load(Ordering::Relaxed))
    }

    unsafe fn clear<T>(slot: &Held<T, M>, _number: u32) {
        if let Some(old) = slot.replace(ptr::null_mut()) {
            // SAFETY: rule 1.
            unsafe { give_back(old) };
        }
    }

    unsafe fn retire<T>(
        core: &Core<T, Self, M>,
        blocks: impl Iterator<Item = NonNull<Block<T, Self, M>>>,
    ) {
        // SAFETY: the caller's, and rule 1.
        unsafe { destroy_each(core, blocks) };
    }
}
