//! [`Blocks`]: the contents of a [`BufferPool`](super::BufferPool). A *block* is the memory of one buffer.

use crate::memory::{Memory, Plain};
use crate::pool::lifecycle::{self, Class, Contents, Part};
use crate::pool::list::List;
use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

/// Blocks of this size and more begin at a page.
const PAGE: usize = 4096;

pub(super) struct Blocks {
    /// Binary logarithm of the smallest class's size.
    pub(super) smallest_shift: u32,
    /// Whether blocks are zeroed before they become idle.
    pub(super) zero: bool,
}

pub(super) type Slot<L> = lifecycle::Slot<Blocks, L>;

pub(super) struct Place<L: List> {
    /// Of the slot's pool.
    class: NonNull<Class<Blocks, L>>,
    /// Null if the slot is vacant.
    block: <L::Memory as Memory>::Plain<*mut u8>,
    /// The user's.
    pub(super) extent: <L::Memory as Memory>::Plain<Extent>,
}

/// Which bytes of a block are contents: here and not in the guard, which is one pointer.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) start: usize,
    /// From `start` to the capacity.
    pub(super) end: usize,
    /// Bytes from the beginning of the block that may have been written to.
    pub(super) exposed: usize,
}

impl Extent {
    pub(super) const EMPTY: Self = Self { start: 0, end: 0, exposed: 0 };
}

// One line: what an acquire and a release write beside the thread's magazine.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use crate::memory::Native;
    use crate::pool::list::TaggedStack;
    assert!(size_of::<Slot<TaggedStack<Native>>>() == 64);
};

// SAFETY: the owner of a slot that is not in use writes the block, its user reads it and writes the extent, and the
// lists' Release and Acquire pass both on between them. A block is bytes. All threads share the class.
unsafe impl<L: List> Send for Place<L> {}
// SAFETY: as above.
unsafe impl<L: List> Sync for Place<L> {}

impl<L: List> Place<L> {
    /// # Safety
    ///
    /// The slot has a block, and the caller owns it.
    #[inline(always)]
    pub(super) unsafe fn block(&self) -> NonNull<u8> {
        // SAFETY: the slot has a block, and the caller owns it, so no thread writes.
        unsafe { NonNull::new_unchecked(self.block.read()) }
    }

    /// The class of the slot, and of its block.
    ///
    /// # Safety
    ///
    /// As [`Contents::class`].
    #[inline(always)]
    pub(super) unsafe fn class<'a>(&self) -> &'a Class<Blocks, L> {
        // SAFETY: passed on to the caller: the pool is kept, and its class with it.
        unsafe { self.class.as_ref() }
    }
}

/// A block, which is freed when dropped.
pub(super) struct Block {
    first: NonNull<u8>,
    size: usize,
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, size.min(PAGE)).expect("the builder has checked the largest size")
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and not used any more.
        unsafe { dealloc(self.first.as_ptr(), layout(self.size)) };
    }
}

/// The allocator has no memory for a block of this size.
pub(super) struct OutOfMemory(pub(super) usize);

impl<L: List> Contents<L> for Blocks {
    type Made = Block;
    type Failure = OutOfMemory;
    type Place = Place<L>;
    type Classes = Box<[Class<Self, L>]>;
    const QUIET: bool = true;
    const LAST_USE: u64 = u64::MAX;

    fn make(&self, class: &Class<Self, L>) -> Result<Block, OutOfMemory> {
        let size = class.size as usize;
        // SAFETY: a class has a size, not 0.
        let first = NonNull::new(unsafe { alloc_zeroed(layout(size)) });
        first.map(|first| Block { first, size }).ok_or(OutOfMemory(size))
    }

    fn vacant(class: &Class<Self, L>) -> Place<L> {
        let (block, extent) = (Plain::new(ptr::null_mut()), Plain::new(Extent::EMPTY));
        Place { class: NonNull::from(class), block, extent }
    }

    unsafe fn fill(place: &Place<L>, made: Block) {
        let block = ManuallyDrop::new(made).first.as_ptr();
        // SAFETY: the caller owns the slot.
        place.block.with_mut(|place| unsafe { *place = block });
    }

    unsafe fn end(place: &Place<L>) {
        // SAFETY: the caller owns the slot.
        let block = place.block.with_mut(|place| unsafe { place.replace(ptr::null_mut()) });
        let first = NonNull::new(block).expect("the slot has a block");
        // SAFETY: the slot has a block until here, which keeps the pool.
        let size = unsafe { place.class() }.size as usize;
        drop(Block { first, size });
    }

    #[inline(always)]
    unsafe fn class<'a>(part: &Part<Self, L>) -> &'a Class<Self, L> {
        // SAFETY: passed on to the caller.
        unsafe { part.place.class() }
    }
}
