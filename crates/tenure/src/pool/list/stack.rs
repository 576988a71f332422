//! [`Stack`]: a lock-free stack of indices whose head has a tag.
//!
//! ```text
//! 63                                  29  28   27                        0
//! ├── tag: removals, modulo 2^35 ───────┤ closed ├── index of the top ─────┤
//! ```
//!
//! The links lie elsewhere, one word for each index, in memory that stays readable (`Segments`).
//!
//! # What happens when they collide
//!
//! - **push ‖ push, pop ‖ pop**: one compare-exchange wins, the other starts again.
//! - **pop ‖ pop, push (ABA)**: A reads top X and its link Y. B pops X, pops Y and pushes X back. X is on
//!   top again, and what A knows of its link is wrong: were A to succeed, Y would be on the stack and in
//!   use. Each removal increments the tag, so A fails and starts again.
//! - **pop reads the link of an index that it has lost**: the word may hold anything by then, but it is
//!   memory of the list, and the compare-exchange fails for the tag.
//! - **close ‖ push**: closing sets a bit of the head, which is in every value that a push compares with. A push sees
//!   the bit and is refused, or was in time and is among what whoever closes then pops.
//!
//! # Wrap-around
//!
//! A pop goes wrong if between its load and its compare-exchange exactly a multiple of 2^35 removals
//! happen and the same index is on top. 2^35 removals at 10 ns each take 340 seconds, in which the
//! popping thread would have to stand still between two instructions; waking one removal earlier or
//! later is harmless. As the list of all slots this is the `TaggedStack`; as the stack of crates in the depot of
//! `Magazines`, which move 32 slots at once, the same takes three hours.
//!
//! # Orderings
//!
//! A push is Release and a pop Acquire: who pops an index sees what its last owner did. All changes of
//! the head are read-modify-writes, which continue the release sequence of every push below the top.
//!
//! A pop is Release as well, for those who ask whether several stacks were empty at one moment
//! ([`emptiness`](Stack::emptiness)): who sees that an index is gone sees what its taker had pushed before, here or
//! on another stack.

use super::Closed;
use crate::line::Isolated;
use crate::memory::{Atomic, Memory, Ordering};
use crate::segments::{INDEX_BITS, NO_INDEX};

const CLOSED: u64 = 1 << INDEX_BITS;
const ONE_REMOVAL: u64 = CLOSED << 1;
const INDEX: u64 = CLOSED - 1;

/// A stack of indices. [`Linked`] says where their links are.
///
/// The word alone: a reference to it may outlive it for the rest of a call, as one to memory with padding may not.
pub(crate) struct Stack<M: Memory>(M::AtomicU64);

/// The memory of a stack's links.
pub(crate) trait Linked<M: Memory> {
    /// The link of an index that is, or was, on the stack.
    fn link(&self, index: u32) -> &M::AtomicU32;
}

#[inline(always)]
const fn top(head: u64) -> u32 {
    (head & INDEX) as u32
}

#[inline(always)]
const fn with_top(head: u64, index: u32) -> u64 {
    head & !INDEX | index as u64
}

impl<M: Memory> Stack<M> {
    /// An empty stack, on a line of its own.
    pub(crate) fn isolated() -> Isolated<Self> {
        Isolated::new(Self(Atomic::new(u64::from(NO_INDEX))))
    }

    /// Takes the index on top.
    #[inline]
    pub(crate) fn pop(&self, links: &impl Linked<M>) -> Option<u32> {
        // Acquire: pairs with the Release of the push: the link, and what the last owner did.
        let mut head = self.0.load(Ordering::Acquire);
        loop {
            let index = top(head);
            if index == NO_INDEX {
                return None;
            }
            // Relaxed: the push stored the link before its Release. Another value means that the index
            // was taken meanwhile, and that the tag is another.
            let next = links.link(index).load(Ordering::Relaxed);
            let new = with_top(head, next).wrapping_add(ONE_REMOVAL);
            // Release: pairs with the Acquire in `emptiness`. Acquire on failure, as above; on success the load
            // above has acquired already.
            match self.0.compare_exchange_weak(head, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Some(index),
                Err(found) => head = found,
            }
            M::spin_hint();
        }
    }

    /// Puts `index` on top.
    ///
    /// The index has to be the caller's: nobody else may push it or use its link.
    #[inline]
    pub(crate) fn push(&self, index: u32, links: &impl Linked<M>) -> Result<(), Closed> {
        let link = links.link(index);
        // Relaxed: the value is checked by the compare-exchange, and nothing below is looked at.
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            if head & CLOSED != 0 {
                return Err(Closed);
            }
            // Relaxed: published by the Release below.
            link.store(top(head), Ordering::Relaxed);
            let new = with_top(head, index);
            // Release: pairs with the Acquire in `pop` and `emptiness`.
            match self.0.compare_exchange_weak(head, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(found) => head = found,
            }
            M::spin_hint();
        }
    }

    /// Refuses pushes from now on. What is on the stack stays, to be popped.
    pub(crate) fn close(&self) {
        // Relaxed: a push that comes later finds the bit in the word that it changes. Nothing else is passed on.
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Whether the stack was [closed](Self::close), as far as the caller knows.
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: a hint.
        self.0.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// `None` if there is an index on the stack. Otherwise a number which is another one once an index was
    /// popped: twice the same number says that the stack was empty all the time between.
    pub(crate) fn emptiness(&self) -> Option<u64> {
        // Acquire: pairs with the Release of the push and the pop: what whoever emptied the stack did before. And
        // what the caller reads next is read after this.
        let head = self.0.load(Ordering::Acquire);
        (top(head) == NO_INDEX).then_some(head)
    }
}
