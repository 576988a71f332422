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
//! more than the limit. Idle blocks are freed for want of room, or by a trim, by the thread whose turn it is: while
//! one looks for room, no other has a block in its hands that is neither idle nor in use.

use super::{AcquireError, Builder, ClassStatistics, Counts, Statistics};
use crate::memory::{Atomic, Memory, Ordering, Plain, Resident};
use crate::pool::list::FreeList;
use crate::pool::shelf::{self, Shelf};
use crate::pool::turn::Turn;
use crate::shared::{RawShared, Shared};
use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use alloc::boxed::Box;
use alloc::sync::Weak;
use core::iter;
use core::ptr::{self, NonNull};

/// Blocks of this size and more begin at a page.
const PAGE: usize = 4096;
/// How many blocks a trim frees before it lets others have the turn.
const BATCH: usize = 32;
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
    /// Whose turn it is to free idle blocks.
    turn: Turn<L::Memory>,
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

/// What there is for a buffer where there was no room.
enum Found<'a, L: FreeList> {
    /// A slot with a block that was idle, and is in use from now on.
    Idle(&'a Slot<L>),
    /// Room for a new block, which is counted from now on.
    Room,
}

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
            turn: Turn::new(),
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
        // Relaxed: as in `close`.
        self.closed.load(Ordering::Relaxed) != OPEN
    }

    /// `held` bytes and another block of `size`, if there may be so many.
    fn with_another(&self, held: u64, size: usize) -> Option<u64> {
        held.checked_add(size as u64).filter(|&bytes| bytes <= self.limit)
    }

    /// The lists of idle blocks, class by class.
    fn lists(&self) -> impl Iterator<Item = &L> + Clone {
        self.classes.iter().map(|class| class.shelf.idle())
    }

    /// Whether at some moment of the call no block was idle, and the limit allowed no other one of `size`. To be asked
    /// by the thread whose turn it is, while the lists are gathered.
    fn is_full(&self, size: usize) -> bool {
        // There are fewer classes than a size has bits.
        let mut before = [0; usize::BITS as usize];
        for (list, before) in self.lists().zip(&mut before) {
            let Some(emptiness) = list.emptiness() else { return false };
            *before = emptiness;
        }
        // Acquire: comes before the second look, as the first look, which acquires, comes before it. This is the
        // moment: whoever released a block before it, or acquired one after, did not do the reverse unseen.
        let held = self.held.load(Ordering::Acquire);
        let mut lists = self.lists().zip(&before);
        self.with_another(held, size).is_none()
            && lists.all(|(list, &before)| list.emptiness() == Some(before))
    }

    /// Counts a block that is about to be allocated, if it may be.
    fn count_block(&self, size: usize) -> Result<(), Refused> {
        let mut held = self.held();
        loop {
            let with_it = self.with_another(held, size).ok_or(Refused::Limit)?;
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
        let refused = || match self.is_closed() {
            true => AcquireError::Closed,
            false => {
                AcquireError::LimitReached { limit: self.limit, held: self.held(), asked: len }
            }
        };
        let most = most.ok_or_else(refused)?;
        let (at, found) = {
            let _turn = self.turn.wait();
            L::gather(self.lists(), || {
                let mut classes = (last..=most).rev();
                classes.find_map(|at| self.make_room(at).map(|found| (at, found)))
            })
            .ok_or_else(refused)?
        };
        let slot = match found {
            Found::Idle(slot) => slot,
            Found::Room => self.fill(at)?,
        };
        if at != asked {
            // Relaxed: a figure.
            class.downgraded.fetch_add(1, Ordering::Relaxed);
        }
        Ok(slot)
    }

    /// A slot with a new block.
    fn allocate(&self, at: usize) -> Result<&Slot<L>, Refused> {
        if self.is_closed() {
            return Err(Refused::ForGood(AcquireError::Closed));
        }
        self.count_block(self.classes[at].size)?;
        self.fill(at).map_err(Refused::ForGood)
    }

    /// A slot with a new block, which has been counted.
    fn fill(&self, at: usize) -> Result<&Slot<L>, AcquireError> {
        let class = &self.classes[at];
        let vacant = || Place {
            pool: self.as_raw(),
            class: NonNull::from(class),
            size: class.size,
            block: Plain::new(ptr::null_mut()),
        };
        let Some(slot) = class.shelf.vacancy(vacant) else {
            self.uncount_block(class.size);
            return Err(AcquireError::TooManyBuffers { size: class.size });
        };
        // Meanwhile: what is allocated after that is for nobody.
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
                return Err(error);
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

    /// An idle block of that class, or room for a new one, for which idle blocks of others are freed. `None`: at some
    /// moment of the call there was neither. For the thread whose turn it is, while the lists are gathered.
    fn make_room(&self, at: usize) -> Option<Found<'_, L>> {
        let size = self.classes[at].size;
        loop {
            if let Some(slot) = self.reuse(at) {
                return Some(Found::Idle(slot));
            }
            if self.count_block(size).is_ok() {
                return Some(Found::Room);
            }
            // The largest first. Another thread may be faster to what is found or freed: then once more.
            let freed = self.classes.iter().rev().any(|class| self.free_idle(class, 1) == 1);
            if !freed && self.is_full(size) {
                return None;
            }
        }
    }

    /// Frees up to `most` idle blocks of a class, whose list is gathered. Returns how many.
    fn free_idle(&self, class: &Class<L>, most: usize) -> usize {
        let idle = class.shelf.idle();
        iter::from_fn(|| idle.acquire(|_| ()))
            .take(most)
            // SAFETY: the list gave the slot to this call: it has a block, and is not in use.
            .map(|index| unsafe { dismantle(NonNull::from(class), self.as_raw(), index) })
            .count()
    }

    /// Frees all idle blocks. Returns their bytes.
    pub(super) fn trim(&self) -> u64 {
        let mut bytes = 0;
        for class in &self.classes {
            loop {
                let turn = self.turn.wait();
                let list = iter::once(class.shelf.idle());
                let freed = L::gather(list, || self.free_idle(class, BATCH));
                drop(turn);
                bytes += (freed * class.size) as u64;
                if freed < BATCH {
                    break;
                }
            }
        }
        bytes
    }

    /// Hands out nothing any more, and frees all idle blocks; those in use are freed by their users.
    pub(super) fn close(&self) {
        // Relaxed: whoever was told that the pool is closed sees it; for others the order does not matter.
        self.closed.store(CLOSED, Ordering::Relaxed);
        // Also if it was set before: a fork may have come in the middle of that.
        for class in &self.classes {
            // SAFETY: what comes home is a slot of this class with a block, that nobody has.
            let home = |index| unsafe { dismantle(NonNull::from(class), self.as_raw(), index) };
            class.shelf.idle().close(home);
        }
    }
}
