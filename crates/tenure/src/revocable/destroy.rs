//! Destroys blocks one after the other, so that a list of a million objects does not overflow the stack.
//!
//! A value may own the last strong handle of another one, and so on. If each destructor called the next, some ten thousand
//! objects would overflow the stack. So a thread that destroys objects opens a *queue* for the domain, on its stack,
//! and stores its address in [a word of the thread](Memory::thread_word). Objects of the same domain that a destructor
//! retires go to that queue, and are destroyed after it has returned.
//!
//! Queues of other domains may be open below it: a list through two domains has two. Without the feature `std` threads
//! have no such word, and destructors call each other.
//!
//! # Why the address in the word is good
//!
//! A queue is closed before the call that opened it returns, also by a panic: it is taken out of the list of the thread's
//! queues, in which it may not be the first. With stackful coroutines a call may end, on its own stack, before one that
//! began later. So the word leads only to queues of calls that are under way on this thread, running or suspended. A
//! queue that is not found in the list was opened on another thread, by a coroutine that has moved since. That thread
//! still has its address: the process is aborted.
//!
//! A queue that names this domain's address is of this type: while it is open the domain exists, so no other domain has
//! that address. Lifetimes in `T` are good, too: the queue is empty before the call that opened it returns, and its
//! caller had such a `T`.

use super::protocol::{Block, Inner, Protocol};
use crate::memory::{Memory, Ordering, Pointer};
use alloc::boxed::Box;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

/// What queues of all types begin with.
struct Open {
    domain: *const (),
    /// An [`Open`], as the thread's word.
    below: Cell<*const ()>,
}

/// Objects of one domain that this thread will destroy.
#[repr(C)]
struct Queue<T, S: Protocol> {
    open: Open,
    first: Cell<*mut Block<T, S>>,
    last: Cell<*mut Block<T, S>>,
}

impl<T, S: Protocol> Queue<T, S> {
    fn new(domain: *const Inner<T, S>) -> Self {
        let below = Cell::new(S::Memory::thread_word(Cell::get).unwrap_or(ptr::null()));
        let none = || Cell::new(ptr::null_mut());
        Self { open: Open { domain: domain.cast(), below }, first: none(), last: none() }
    }

    /// This thread's open queue for that domain, if there is one.
    ///
    /// # Safety
    ///
    /// The domain exists, and the queue is not used after the calling function has returned.
    unsafe fn find<'q>(domain: *const Inner<T, S>) -> Option<&'q Self> {
        let mut open = S::Memory::thread_word(Cell::get)?.cast::<Open>();
        // SAFETY: the call that opened it is under way: see the module.
        while let Some(queue) = unsafe { open.as_ref() } {
            if queue.domain == domain.cast() {
                // SAFETY: it is of this domain and so of this type: see the module.
                return Some(unsafe { &*open.cast::<Self>() });
            }
            open = queue.below.get().cast();
        }
        None
    }

    /// # Safety
    ///
    /// The caller owns the block, and gives it away.
    unsafe fn push(&self, block: NonNull<Block<T, S>>) {
        // SAFETY: the caller owns the block.
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

    fn pop(&self) -> Option<NonNull<Block<T, S>>> {
        let block = NonNull::new(self.first.get())?;
        // SAFETY: the queue owns its blocks.
        let next = unsafe { Block::header(block) }.next.load(Ordering::Relaxed);
        self.first.set(next);
        if next.is_null() {
            self.last.set(next);
        }
        Some(block)
    }

    fn run(&self) {
        while let Some(block) = self.pop() {
            // SAFETY: from `Block::allocate`, and the queue owns it. If the value's drop panics the box is freed all
            // the same.
            drop(unsafe { Box::from_raw(block.as_ptr()) });
        }
    }
}

struct Close<'q, M: Memory>(&'q Open, PhantomData<M>);

impl<M: Memory> Drop for Close<'_, M> {
    /// Not inlined, where the compiler could take the word's address from before a switch of threads.
    #[inline(never)]
    fn drop(&mut self) {
        let is_closed = M::thread_word(|mut word| {
            while !ptr::addr_eq(word.get(), self.0) {
                // SAFETY: the call that opened it is under way: see the module.
                let Some(queue) = (unsafe { word.get().cast::<Open>().as_ref() }) else {
                    return false;
                };
                word = &queue.below;
            }
            word.set(self.0.below.get());
            true
        });
        if is_closed == Some(false) {
            abort_on_another_thread();
        }
    }
}

/// `extern "C"`, so that the panic aborts.
extern "C" fn abort_on_another_thread() -> ! {
    panic!(
        "a destructor of an object of `tenure::revocable` ends on another thread than it began: \
         a coroutine that is suspended in one must be resumed on the same thread"
    )
}

/// Runs what is left when a destructor panics, as a vector does, or the iterator of blocks, which may be a user's.
struct Run<'q, T, S: Protocol>(&'q Queue<T, S>);

impl<T, S: Protocol> Drop for Run<'_, T, S> {
    fn drop(&mut self) {
        self.0.run();
    }
}

/// Drops the values and frees the blocks: before it returns, or after the destructor that retired them has returned.
///
/// # Safety
///
/// The blocks are of that domain, which exists until the first one is destroyed. The caller owns them, and all that
/// other threads did with them happened before.
pub(super) unsafe fn destroy_all<T, S: Protocol>(
    domain: *const Inner<T, S>,
    blocks: impl Iterator<Item = NonNull<Block<T, S>>>,
) {
    // SAFETY: the domain still exists.
    if let Some(queue) = unsafe { Queue::find(domain) } {
        // SAFETY: the caller owns the blocks.
        blocks.for_each(|block| unsafe { queue.push(block) });
        return;
    }
    let queue = Queue::new(domain);
    S::Memory::thread_word(|word| word.set((&raw const queue).cast()));
    let _close = Close::<S::Memory>(&queue.open, PhantomData);
    let _rest = Run(&queue);
    // SAFETY: the caller owns the blocks.
    blocks.for_each(|block| unsafe { queue.push(block) });
    queue.run();
}

/// [`destroy_all`] of one block.
///
/// # Safety
///
/// As there.
pub(super) unsafe fn destroy<T, S: Protocol>(block: NonNull<Block<T, S>>) {
    // SAFETY: the caller owns the block.
    let domain = &raw const **unsafe { &Block::header(block).inner };
    // SAFETY: the block keeps its domain; the caller answers for the rest.
    unsafe { destroy_all(domain, core::iter::once(block)) };
}
