//! [`Blocks`]: the contents of a [`BufferPool`](super::BufferPool). A *block* is the memory of one buffer.

use super::erase::erase;
use crate::memory::{Atomic, Memory, Ordering, Plain};
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
    /// The slot's class, which its pool has.
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
    /// A place from `start` to the capacity.
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

/// More holders than this are too many.
const MAX_HOLDERS: u32 = 1 << 31;

/// Whether the calling holder of a block is the only one. The slot's `next` counts the others: the buffer and its
/// parts, less one. So a buffer without parts pays a load.
#[inline(always)]
pub(super) fn is_only_holder<L: List>(slot: &Slot<L>) -> bool {
    // Acquire: pairs with the Release in `put_one`: the others read the block, and the buffer wrote its extent, before.
    slot.next.load(Ordering::Acquire) == 0
}

/// Another holder, beside the caller.
///
/// # Panics
///
/// If there are too many.
#[track_caller]
pub(super) fn hold<L: List>(slot: &Slot<L>) {
    // Relaxed: the caller's own hold is passed on with what it gives away.
    if slot.next.fetch_add(1, Ordering::Relaxed) >= MAX_HOLDERS {
        // Relaxed: as above.
        slot.next.fetch_sub(1, Ordering::Relaxed);
        panic!("{MAX_HOLDERS} parts of a buffer");
    }
}

/// Whether the holder that ends was the last. Otherwise the slot may be gone: the word alone is borrowed.
#[cold]
fn put_one<M: Memory>(others: &M::AtomicU32) -> bool {
    // Release: pairs with the Acquire here and in `is_only_holder`: what this holder did to the block and its extent.
    // Acquire: what the others did, if they went after the caller looked.
    let is_last = others.fetch_sub(1, Ordering::AcqRel) == 0;
    if is_last {
        // Relaxed: no other holder is left.
        others.store(0, Ordering::Relaxed);
    }
    is_last
}

/// Ends a holder. The last one erases what could have been written to, and gives the block back to its pool.
///
/// # Safety
///
/// The slot has a block, and the caller, one of its holders, does not use it any more.
#[inline]
pub(super) unsafe fn put<L: List>(slot: NonNull<Slot<L>>) {
    // SAFETY: the slot has a block, which keeps the pool until the last holder has released the slot.
    let this = unsafe { slot.as_ref() };
    if !is_only_holder(this) && !put_one::<L::Memory>(&this.next) {
        return;
    }
    let Part { pool, place } = &this.part;
    // SAFETY: this is the last holder; what the buffer wrote comes before.
    let exposed = unsafe { place.extent.read() }.exposed;
    // SAFETY: the block keeps the pool.
    if exposed > 0 && unsafe { pool.core() }.contents.zero {
        // SAFETY: the block is the last holder's alone, and `exposed` no more than its size.
        unsafe { erase(place.block(), exposed) };
    }
    // SAFETY: the slot has a block, which keeps the pool; its user, the last holder, ends.
    unsafe {
        let idle = NonNull::from(&place.class().table.idle);
        lifecycle::release(slot, idle);
    }
}
