//! Ends one after the other: a destructor that ends the next object does not call its destructor.
//!
//! A value may have the last context of another one, and that one of a third: a list. If each destructor called the next,
//! a list of some ten thousand objects would overflow the stack. So a thread that destroys an object opens a *queue*
//! for its domain, on its stack, and says where that is in [a word of its own](Memory::thread_word). What the destructor
//! ends in the same domain goes there, and is destroyed when the destructor has returned: in the order in which it came.
//!
//! Queues of other domains may be open below: a list through two domains has two. Where threads have no word of their
//! own (without the feature `std`) no queue is found, and destructors do call each other.
//!
//! # Why a queue holds what is found through the word
//!
//! A queue is closed before the call that opened it returns, also by a panic; so the word, and what it leads to, are
//! always queues of calls that are under way on this thread. One that is of the domain at this address is of this type:
//! while a destructor runs the object that it belongs to keeps the domain, so that no other one is at its address.
//! Lifetimes are those of the domain's `T` too, in which it is invariant: what is queued is destroyed before the
//! call returns which opened the queue, and whoever made that had such a `T` at hand.

use super::Protocol;
use super::block::Block;
use super::core::Core;
use crate::memory::{Memory, Ordering, Pointer};
use alloc::boxed::Box;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

/// What queues of any type have in common.
struct Open {
    /// The domain.
    core: *const (),
    /// The queue that was opened before this one.
    below: *const Open,
}

/// Objects of one domain to be destroyed by this thread, linked.
#[repr(C)]
struct Queue<T, S: Protocol<M>, M: Memory> {
    open: Open,
    first: Cell<*mut Block<T, S, M>>,
    last: Cell<*mut Block<T, S, M>>,
}

impl<T, S: Protocol<M>, M: Memory> Queue<T, S, M> {
    /// A queue to be opened.
    fn new(core: *const Core<T, S, M>) -> Self {
        let below = M::thread_word(Cell::get).unwrap_or(ptr::null()).cast();
        let none = || Cell::new(ptr::null_mut());
        Self { open: Open { core: core.cast(), below }, first: none(), last: none() }
    }

    /// The queue of this thread for that domain, if there is one.
    ///
    /// # Safety
    ///
    /// The domain exists, and the queue is not used after the function that asks has returned.
    unsafe fn find<'q>(core: *const Core<T, S, M>) -> Option<&'q Self> {
        let mut open = M::thread_word(Cell::get)?.cast::<Open>();
        // SAFETY: see the module: the call that opened it is under way.
        while let Some(queue) = unsafe { open.as_ref() } {
            if queue.core == core.cast() {
                // SAFETY: see the module: it is of this domain, and so of this type.
                return Some(unsafe { &*open.cast::<Self>() });
            }
            open = queue.below;
        }
        None
    }

    /// # Safety
    ///
    /// The block is the caller's.
    unsafe fn push(&self, block: NonNull<Block<T, S, M>>) {
        // SAFETY: the caller's.
        let header = unsafe { Block::header(block) };
        // Relaxed, here and below: the queue and its blocks are this thread's.
        header.next.store(ptr::null_mut(), Ordering::Relaxed);
        match NonNull::new(self.last.replace(block.as_ptr())) {
            Some(last) => {
                // SAFETY: the queue owns its blocks.
                let last = unsafe { Block::header(last) };
                last.next.store(block.as_ptr(), Ordering::Relaxed);
            }
            None => self.first.set(block.as_ptr()),
        }
    }

    fn pop(&self) -> Option<NonNull<Block<T, S, M>>> {
        let block = NonNull::new(self.first.get())?;
        // SAFETY: the queue owns its blocks.
        let next = unsafe { Block::header(block) }.next.load(Ordering::Relaxed);
        self.first.set(next);
        if next.is_null() {
            self.last.set(next);
        }
        Some(block)
    }

    fn destroy(&self) {
        while let Some(block) = self.pop() {
            // SAFETY: allocated by `Block::allocate`, and the queue's alone. Where the value's drop panics the box is freed
            // all the same.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

/// Closes the queue, which is the last to be opened, when it is dropped.
struct Close<'q, M: Memory>(&'q Open, PhantomData<M>);

impl<M: Memory> Drop for Close<'_, M> {
    fn drop(&mut self) {
        M::thread_word(|word| word.set(self.0.below.cast()));
    }
}

/// If a destructor panics the others run all the same, as those of a vector do.
struct IfOnePanics<'q, T, S: Protocol<M>, M: Memory>(&'q Queue<T, S, M>);

impl<T, S: Protocol<M>, M: Memory> Drop for IfOnePanics<'_, T, S, M> {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

/// Drops the value and frees the block: now, or when the destructor that ended it has returned.
///
/// # Safety
///
/// Nobody has the block, and all that anybody did with it happened before.
pub(in crate::lazy) unsafe fn destroy<T, S: Protocol<M>, M: Memory>(
    block: NonNull<Block<T, S, M>>,
) {
    // SAFETY: the caller's.
    let core = &raw const *unsafe { Block::header(block) }.core;
    // SAFETY: the block keeps the domain.
    if let Some(queue) = unsafe { Queue::find(core) } {
        // SAFETY: the caller's.
        unsafe { queue.push(block) };
        return;
    }
    let queue = Queue::new(core);
    M::thread_word(|word| word.set((&raw const queue).cast()));
    let _close = Close::<M>(&queue.open, PhantomData);
    // SAFETY: the caller's.
    unsafe { queue.push(block) };
    IfOnePanics(&queue).0.destroy();
}

/// [`destroy`], of those that nobody has without a strong reference, and counts them.
///
/// # Safety
///
/// The blocks' last strong puts were told to the caller, and whoever has a block has such a reference.
pub(in crate::lazy) unsafe fn destroy_each<T, S: Protocol<M>, M: Memory>(
    core: &Core<T, S, M>,
    blocks: impl Iterator<Item = NonNull<Block<T, S, M>>>,
) {
    for block in blocks {
        core.counters.ended.add(1);
        // SAFETY: the caller's.
        unsafe { destroy(block) };
    }
}
