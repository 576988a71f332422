//! [`Blocks`]: the memory of a pool: who allocates it, who frees it, and how much there may be.
//!
//! A *block* is the memory of one buffer. It lies in a slot of its class's shelf, as the slot's contents, for which
//! the slot holds a reference to all this (see `Shared`):
//!
//! 1. **`allocate`** fills a vacant slot, which is in use then, and takes the reference.
//! 2. **`dismantle`** empties one that is neither in use nor idle, and gives the reference up, as its last
//!    step. There is no other place where a block is freed.
//! 3. In between, the slot goes from idle to in use and back, and nothing is counted.
//!
//! The bytes of a block are counted before it is allocated and until it has been freed, so that there are never
//! more than the limit.

use super::{AcquireError, Builder, ClassStatistics, Counts, Statistics};
use crate::memory::{Atomic, Memory, Ordering, Plain, Resident};
use crate::pool::list::FreeList;
use crate::pool::shelf::{self, Shelf};
use crate::shared::{RawShared, Shared};
use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use alloc::boxed::Box;
use alloc::sync::Weak;
use core::ops::ControlFlow;
use core::ptr::{self, NonNull};

/// Blocks of this size and more begin at a page.
const PAGE: usize = 4096;
const OPEN: u32 = 0;
const CLOSED: u32 = 1;

/// The part of a pool that lives as long as one of its buffers.
pub(super) struct Blocks<L: FreeList> {
    pub(super) classes: Box<[Class<L>]>,
    /// Binary logarithm of the smallest class's size.
    smallest_shift: u32,
    limit: u64,
    /// Bytes of all blocks, idle and in use.
    held: <L::Memory as Memory>::AtomicU64,
    closed: <L::Memory as Memory>::AtomicU32,
}

/// The blocks of one size.
pub(super) struct Class<L: FreeList> {
    shelf: Shelf<Place<L>, L>,
    /// Bytes of a block: a power of two.
    size: usize,
    /// Whether blocks are zeroed before they become idle.
    zero: bool,
    allocated: <L::Memory as Memory>::AtomicU64,
    freed: <L::Memory as Memory>::AtomicU64,
    downgraded: <L::Memory as Memory>::AtomicU64,
}

/// A slot of a class.
pub(super) type Slot<L> = shelf::Slot<Place<L>, <L as FreeList>::Memory>;

/// The permanent part of a slot. It leads to all that a buffer comes from, so that a buffer need not.
pub(super) struct Place<L: FreeList> {
    pool: RawShared<Blocks<L>, L::Memory>,
    /// One of `pool`'s.
    class: NonNull<Class<L>>,
    /// Bytes of a block: a power of two.
    pub(super) size: usize,
    /// Null if the slot is vacant.
    block: <L::Memory as Memory>::Plain<*mut u8>,
}

// SAFETY: the block is written by the owner of a slot that is not in use, read by its user, and passed on between
// them by the lists' Release and Acquire. It is bytes, and the owner's. Pool and class are shared by all threads.
unsafe impl<L: FreeList> Send for Place<L> {}
// SAFETY: as above.
unsafe impl<L: FreeList> Sync for Place<L> {}

/// Why a class has no block for a new buffer.
enum Refused {
    /// The limit would be exceeded.
    Limit,
    /// For a reason that a smaller buffer would not remove.
    ForGood(AcquireError),
}

impl<L: FreeList> Place<L> {
    /// The block of a slot that has one.
    ///
    /// # Safety
    ///
    /// The slot has a block, and is the caller's.
    #[inline(always)]
    pub(super) unsafe fn block(&self) -> NonNull<u8> {
        // SAFETY: the slot is the caller's, so that nobody writes.
        let block = unsafe { self.block.read() };
        debug_assert!(!block.is_null(), "a slot in use has a block");
        // SAFETY: the slot has a block.
        unsafe { NonNull::new_unchecked(block) }
    }

    /// Whether blocks are zeroed before they become idle.
    ///
    /// # Safety
    ///
    /// The slot has a block, and is the caller's.
    #[inline(always)]
    pub(super) unsafe fn zero(&self) -> bool {
        // SAFETY: a slot with a block keeps the pool alive, and the class with it.
        unsafe { self.class.as_ref() }.zero
    }
}

impl<L: FreeList> Class<L> {
    fn new(size: usize, of: &Builder<L>, owner: Weak<dyn Resident>) -> Self {
        Self {
            shelf: Shelf::new(of.hoard / size, owner),
            size,
            zero: of.zero,
            allocated: Atomic::new(0),
            freed: Atomic::new(0),
            downgraded: Atomic::new(0),
        }
    }

    fn layout(&self) -> Layout {
        Layout::from_size_align(self.size, self.size.min(PAGE))
            .expect("the builder has checked the largest size")
    }

    /// Ends the use of a block, which has been zeroed if it has to be.
    ///
    /// # Safety
    ///
    /// The caller is the slot's user and no longer is so. Without another reason for the pool to be there, it may
    /// be gone.
    #[inline(always)]
    pub(super) unsafe fn release(slot: NonNull<Slot<L>>) {
        // SAFETY: the slot has contents, so the pool exists until it is released.
        let &Place { pool, class, .. } = &unsafe { slot.as_ref() }.part;
        // SAFETY: as above.
        let shelf = unsafe { &class.as_ref().shelf };
        // SAFETY: what comes home is a slot of this class with a block, that nobody has. The last one may end the
        // pool: nothing is done after it.
        let home = |home| unsafe { dismantle(class, pool, home) };
        // SAFETY: the caller's.
        unsafe { Shelf::release(NonNull::from(shelf), slot, home) };
    }

    fn statistics(&self) -> ClassStatistics {
        // Relaxed: figures, each for itself.
        let freed = self.freed.load(Ordering::Relaxed);
        let allocated = self.allocated.load(Ordering::Relaxed);
        let downgraded = self.downgraded.load(Ordering::Relaxed);
        let (mut acquired, mut in_use) = (0, 0);
        for slot in self.shelf.slots() {
            let uses = slot.uses();
            acquired += uses.div_ceil(2);
            in_use += uses % 2;
        }
        let blocks = allocated.saturating_sub(freed);
        let counts = Counts {
            // A block is used for the first time when it is allocated.
            reused: acquired.saturating_sub(allocated),
            allocated,
            freed,
            downgraded,
            in_use,
            idle: blocks.saturating_sub(in_use),
            bytes: blocks * self.size as u64,
        };
        ClassStatistics { size: self.size, counts }
    }
}

/// Frees the block of a slot that nobody has any more, and its reference.
///
/// # Safety
///
/// `class` is one of `pool`, and the slot is the caller's, with a block, and neither idle nor in use. Without
/// another reason for the pool to be there, it may be gone.
#[cold]
unsafe fn dismantle<L: FreeList>(
    class: NonNull<Class<L>>,
    pool: RawShared<Blocks<L>, L::Memory>,
    index: u32,
) {
    // SAFETY: the slot has contents: its reference keeps the pool until the end of this function, where it
    // is dropped.
    let pool = unsafe { Shared::from_raw(pool) };
    // SAFETY: as above.
    let class = unsafe { class.as_ref() };
    let place = &class.shelf.slot(index).part.block;
    // SAFETY: the slot is the caller's alone.
    let block = place.with_mut(|place| unsafe { place.replace(ptr::null_mut()) });
    // SAFETY: allocated with this layout, and nobody has it.
    unsafe { dealloc(block, class.layout()) };
    // Relaxed: a figure.
    class.freed.fetch_add(1, Ordering::Relaxed);
    // Relaxed: an amount; memory is passed on by the allocator.
    pool.held.fetch_sub(class.size as u64, Ordering::Relaxed);
    // SAFETY: the slot is the caller's, and empty.
    unsafe { class.shelf.vacate(index) };
}

impl<L: FreeList> Blocks<L> {
    pub(super) fn new(like: &Builder<L>, owner: &Weak<dyn Resident>) -> Self {
        let sizes = (0..like.count).map(|class| like.smallest << class);
        Self {
            classes: sizes.map(|size| Class::new(size, like, owner.clone())).collect(),
            smallest_shift: like.smallest.trailing_zeros(),
            limit: like.limit.unwrap_or(u64::MAX),
            held: Atomic::new(0),
            closed: Atomic::new(OPEN),
        }
    }

    /// The first class whose blocks have `len` bytes; `classes.len()` or more if there is none.
    #[inline(always)]
    pub(super) fn class_for(&self, len: usize) -> usize {
        let above = len.saturating_sub(1) >> self.smallest_shift;
        (usize::BITS - above.leading_zeros()) as usize
    }

    pub(super) fn largest(&self) -> usize {
        self.classes.last().map_or(0, |class| class.size)
    }

    pub(super) fn limit(&self) -> Option<u64> {
        (self.limit != u64::MAX).then_some(self.limit)
    }

    pub(super) fn held(&self) -> u64 {
        // Relaxed: a figure.
        self.held.load(Ordering::Relaxed)
    }

    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: see `allocate` for what orders it.
        self.closed.load(Ordering::Relaxed) != OPEN
    }

    fn has_room(&self, size: usize) -> bool {
        self.held().checked_add(size as u64).is_some_and(|held| held <= self.limit)
    }

    /// Counts a block that is about to be allocated, if it may be.
    fn count_block(&self, size: usize) -> Result<(), Refused> {
        let mut held = self.held();
        loop {
            let with_it = held.checked_add(size as u64).filter(|&bytes| bytes <= self.limit);
            let with_it = with_it.ok_or(Refused::Limit)?;
            // Relaxed: an amount; memory is passed on by the allocator.
            match self.held.compare_exchange_weak(
                held,
                with_it,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                Err(found) => held = found,
            }
        }
    }

    fn uncount_block(&self, size: usize) {
        // Relaxed: an amount.
        self.held.fetch_sub(size as u64, Ordering::Relaxed);
    }

    pub(super) fn statistics(&self) -> Statistics {
        self.classes.iter().map(Class::statistics).collect()
    }

    /// The calling thread ends.
    ///
    /// # Safety
    ///
    /// As [`Resident::leave`].
    pub(super) unsafe fn leave(&self, thread: usize) {
        for class in &self.classes {
            // SAFETY: the caller's.
            unsafe { class.shelf.idle().leave(thread) };
        }
    }
}

/// What needs the reference that its callers have: the pool outlives the call.
impl<L: FreeList> Shared<Blocks<L>, L::Memory> {
    /// A slot with a block of that class that was idle, and is in use from now on, by the caller.
    #[inline(always)]
    pub(super) fn reuse(&self, at: usize) -> Option<&Slot<L>> {
        let class = self.classes.get(at)?;
        // SAFETY: what comes home is a slot of this class that nobody has.
        let home = |index| unsafe { dismantle(NonNull::from(class), self.as_raw(), index) };
        class.shelf.reuse(home)
    }

    /// The same for at least `len` bytes, or with `fall_back` of a smaller class, where there was no idle one.
    #[cold]
    pub(super) fn acquire_slowly(
        &self,
        len: usize,
        fall_back: bool,
    ) -> Result<&Slot<L>, AcquireError> {
        let asked = self.class_for(len);
        let Some(class) = self.classes.get(asked) else {
            return Err(AcquireError::TooLarge { asked: len, largest: self.largest() });
        };
        match self.allocate(asked) {
            Err(Refused::Limit) => {}
            Err(Refused::ForGood(error)) => return Err(error),
            Ok(slot) => return Ok(slot),
        }
        let last = if fall_back { 0 } else { asked };
        // No room is made for what the limit can never allow.
        let most = (last..=asked).rev().find(|&at| self.classes[at].size as u64 <= self.limit);
        let mut found = most.and_then(|most| self.make_room(most));
        for at in most.into_iter().flat_map(|most| (last..=most).rev()) {
            let slot = match found.take().or_else(|| self.reuse(at)) {
                Some(slot) => slot,
                None => match self.allocate(at) {
                    Err(Refused::Limit) => continue,
                    Err(Refused::ForGood(error)) => return Err(error),
                    Ok(slot) => slot,
                },
            };
            if at != asked {
                // Relaxed: a figure.
                class.downgraded.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(slot);
        }
        Err(AcquireError::LimitReached { limit: self.limit, held: self.held(), asked: len })
    }

    /// The same, with a new block.
    fn allocate(&self, at: usize) -> Result<&Slot<L>, Refused> {
        let class = &self.classes[at];
        if self.is_closed() {
            return Err(Refused::ForGood(AcquireError::Closed));
        }
        self.count_block(class.size)?;
        let vacant = || Place {
            pool: self.as_raw(),
            class: NonNull::from(class),
            size: class.size,
            block: Plain::new(ptr::null_mut()),
        };
        let Some(slot) = class.shelf.vacancy(vacant) else {
            self.uncount_block(class.size);
            return Err(Refused::ForGood(AcquireError::TooManyBuffers { size: class.size }));
        };
        // The slot may be new to a list that was closed after the look above, and that only knows to send home
        // what it had when it was closed. Who was too late for that list to see the slot sees here that it is
        // closed: the list's own synchronisation orders the two.
        let block = if self.is_closed() {
            Err(AcquireError::Closed)
        } else {
            // SAFETY: a class has a size.
            NonNull::new(unsafe { alloc_zeroed(class.layout()) })
                .ok_or(AcquireError::OutOfMemory { asked: class.size })
        };
        let block = match block {
            Ok(block) => block,
            Err(error) => {
                self.uncount_block(class.size);
                // SAFETY: vacant, and this call's.
                unsafe { class.shelf.vacate(slot.index()) };
                return Err(Refused::ForGood(error));
            }
        };
        // SAFETY: the slot is this call's.
        slot.part.block.with_mut(|place| unsafe { *place = block.as_ptr() });
        // Relaxed: a figure.
        class.allocated.fetch_add(1, Ordering::Relaxed);
        slot.begin_use();
        // The reference of the slot's contents.
        let _: RawShared<_, _> = self.clone().into_raw();
        Ok(slot)
    }

    /// Frees idle blocks until there may be another one of that class. If there is an idle one of the class itself,
    /// which another thread kept, that is returned, in use.
    fn make_room(&self, at: usize) -> Option<&Slot<L>> {
        let class = &self.classes[at];
        let mut found = None;
        class.shelf.idle().reclaim(|index| {
            match found {
                None => found = Some(index),
                // SAFETY: the slot was reclaimed: it is idle, and this call's.
                Some(_) => unsafe { self.give_back(class, index) },
            }
            ControlFlow::Break(())
        });
        if let Some(index) = found {
            let slot = class.shelf.slot(index);
            slot.begin_use();
            return Some(slot);
        }
        for other in self.classes.iter().rev() {
            if self.has_room(class.size) {
                break;
            }
            other.shelf.idle().reclaim(|index| {
                if self.has_room(class.size) {
                    // SAFETY: as above.
                    unsafe { self.give_back(other, index) };
                    return ControlFlow::Break(());
                }
                // SAFETY: as above, and idle slots have a block.
                unsafe { dismantle(NonNull::from(other), self.as_raw(), index) };
                ControlFlow::Continue(())
            });
        }
        None
    }

    /// Frees all idle blocks. Returns their bytes.
    pub(super) fn trim(&self) -> u64 {
        let mut freed = 0;
        for class in &self.classes {
            class.shelf.idle().reclaim(|index| {
                // SAFETY: the slot was reclaimed: it is idle, and this call's.
                unsafe { dismantle(NonNull::from(class), self.as_raw(), index) };
                freed += class.size as u64;
                ControlFlow::Continue(())
            });
        }
        freed
    }

    /// Hands out nothing any more, and frees all idle blocks; those in use are freed by their users.
    pub(super) fn close(&self) {
        // Relaxed: see `allocate` for what orders it.
        if self.closed.fetch_or(CLOSED, Ordering::Relaxed) != OPEN {
            return;
        }
        for class in &self.classes {
            // SAFETY: what comes home is a slot of this class with a block, that nobody has.
            let home = |index| unsafe { dismantle(NonNull::from(class), self.as_raw(), index) };
            class.shelf.idle().close(home);
        }
    }

    /// Makes a slot idle.
    ///
    /// # Safety
    ///
    /// The slot has a block, is not in use, and the caller's.
    unsafe fn give_back(&self, class: &Class<L>, index: u32) {
        // SAFETY: as in `close`.
        let home = |index| unsafe { dismantle(NonNull::from(class), self.as_raw(), index) };
        // SAFETY: the caller's.
        unsafe { class.shelf.idle().release(index, home) };
    }
}
