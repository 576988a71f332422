//! [`Dying`]: the objects that have lost their last handle, and who sees to their end.
//!
//! Whoever drops a last handle pushes the block and adds one to `turn`. If nobody has the turn they take it, and end
//! what has been pushed, all with one barrier. If somebody has it they leave: the one who has it cannot give it back
//! without noticing the addition, and then goes round again. So threads that drop at once share barriers, and none
//! waits for another. Nor does anybody depend on the turn for soundness: blocks that are taken from the stack are
//! the taker's. A thread that has no number, or that has gone round often enough, ends what it finds without it.
//! So does one that finds [`MANY`] additions in one turn: otherwise those who drop faster than one thread can end
//! what they dropped, or while that thread does not run, would fill the memory.
//!
//! The turn of a thread that a fork left behind is taken over. What that thread had in hand is lost to the child.

use super::slot::Object;
use crate::memory::{Atomic, Ordering, Pointer, Threads};
use core::ptr::{self, NonNull};

/// Objects to be ended.
pub struct Dying<T, M: Threads, const VERIFY: bool> {
    first: M::Pointer<Object<T, M, VERIFY>>,
    /// Above: who has the turn, a thread's number and one. Below: additions since it was taken. Each addition has
    /// a block of its own in memory, so that there are never 2^32.
    turn: M::AtomicU64,
}

impl<T, M: Threads, const VERIFY: bool> Default for Dying<T, M, VERIFY> {
    fn default() -> Self {
        Self { first: Pointer::new(ptr::null_mut()), turn: Atomic::new(0) }
    }
}

const OWNER_SHIFT: u32 = 32;
const NOBODY: u64 = 0;

const fn owner(turn: u64) -> u64 {
    turn >> OWNER_SHIFT
}

/// How many additions are left to whoever has the turn.
const MANY: u32 = 256;

/// A turn, and how many additions its owner has seen.
pub(super) struct Turn(u64);

/// Who ends what has been pushed.
#[must_use]
pub(super) enum Ender {
    /// The caller, and what others push meanwhile as well.
    Turn(Turn),
    /// Whoever has the turn.
    Other,
    /// The caller: whoever has the turn has enough to do.
    Both,
}

impl<T, M: Threads, const VERIFY: bool> Dying<T, M, VERIFY> {
    /// Adds a block.
    ///
    /// # Safety
    ///
    /// It is the caller's.
    pub(super) unsafe fn push(&self, block: NonNull<Object<T, M, VERIFY>>) {
        // SAFETY: the caller's.
        let next = &unsafe { Object::header(block) }.next;
        // Relaxed, here and on failure: compared only; whoever takes the stack acquires all of it.
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

    /// All blocks there are, which are the caller's from now on.
    pub(super) fn take(&self) -> List<T, M, VERIFY> {
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
                // Not `first`, which may have been another block at the same address.
                Ok(taken) => return List { first: taken },
                Err(found) => first = found,
            }
        }
        List::new()
    }

    /// After a push: takes the turn, unless somebody has it.
    pub(super) fn begin(&self, thread: usize) -> Ender {
        // Release: pairs with the Acquire in `end` and with the one below. Whoever sees the addition sees the push.
        let mut turn = self.turn.fetch_add(1, Ordering::Release) + 1;
        loop {
            let by = owner(turn);
            if by != NOBODY && !M::is_lost(by as usize - 1) {
                return if turn as u32 > MANY { Ender::Both } else { Ender::Other };
            }
            let mine = (thread as u64 + 1) << OWNER_SHIFT | u64::from(turn as u32);
            // Acquire: pairs with the Release above, because others whose additions are in there leave their pushes to this
            // thread. Without it `take` may load the stack as it was before them. It need not release: the addition before
            // did. Relaxed on failure: it is the exchange that takes the turn which has to see them.
            match self.turn.compare_exchange(turn, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ender::Turn(Turn(mine)),
                Err(found) => turn = found,
            }
        }
    }

    /// Gives the turn back, unless there are pushes that its owner may not have seen.
    pub(super) fn end(&self, Turn(turn): Turn) -> Result<(), Turn> {
        // Relaxed: the next owner needs nothing of this one. It acquires blocks from the stack, and additions from those who
        // added, for this exchange continues their release sequences. Acquire on failure: see `begin`.
        self.turn
            .compare_exchange(turn, NOBODY, Ordering::Relaxed, Ordering::Acquire)
            .map(drop)
            .map_err(Turn)
    }

    /// Gives the turn back. What was pushed before that is the caller's to take.
    pub(super) fn give_up(&self, mut turn: Turn) {
        while let Err(now) = self.end(turn) {
            turn = now;
        }
    }
}

/// Blocks of one owner, linked.
pub(super) struct List<T, M: Threads, const VERIFY: bool> {
    first: *mut Object<T, M, VERIFY>,
}

impl<T, M: Threads, const VERIFY: bool> List<T, M, VERIFY> {
    pub(super) const fn new() -> Self {
        Self { first: ptr::null_mut() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    pub(super) fn pop(&mut self) -> Option<NonNull<Object<T, M, VERIFY>>> {
        let block = NonNull::new(self.first)?;
        self.first = next(block);
        Some(block)
    }

    /// # Safety
    ///
    /// The block is the caller's.
    pub(super) unsafe fn push(&mut self, block: NonNull<Object<T, M, VERIFY>>) {
        // SAFETY: the caller's.
        let header = unsafe { Object::header(block) };
        // Relaxed: the list has one owner.
        header.next.store(self.first, Ordering::Relaxed);
        self.first = block.as_ptr();
    }
}

/// What follows `block` in the list that has it.
fn next<T, M: Threads, const VERIFY: bool>(
    block: NonNull<Object<T, M, VERIFY>>,
) -> *mut Object<T, M, VERIFY> {
    // SAFETY: a list's owner owns its blocks.
    let header = unsafe { Object::header(block) };
    // Relaxed: acquired by whoever took the list.
    header.next.load(Ordering::Relaxed)
}
