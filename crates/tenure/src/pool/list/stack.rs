//! [`Stack`]: a lock-free stack of indices whose head has a tag; and [`TaggedStack`], a free list that is one.
//!
//! ```text
//! 63                                  29  28   27                        0
//! ├── tag: removals, modulo 2^35 ───────┤ closed ├── index of the top ─────┤
//! ```
//!
//! The links lie elsewhere, one word per index, in memory that stays readable (`Segments`).
//!
//! # What happens when they collide
//!
//! - **push ‖ push, pop ‖ pop**: one compare-exchange wins, the other starts again.
//! - **pop ‖ pop, push (ABA)**: A reads top X and its link Y. B pops X and Y, and pushes X back. If A now succeeded
//!   with its stale link, Y would be on the stack and in use. Each removal changes the tag, so A fails, unless an exact
//!   multiple of 2^35 removals came between.
//! - **pop reads the link of an index that it has lost**: the word may hold anything, but it is the list's memory, and
//!   the tag fails the compare-exchange.
//! - **close ‖ push**: closing sets a bit of the head, which every push compares: it is refused, or came first and the
//!   closing thread finds what it pushed.
//!
//! # Orderings
//!
//! Push is Release and pop Acquire: a thread that pops an index sees what its last owner did. All changes of the head
//! are read-modify-writes, which continue the release sequence of every push below the top.
//!
//! Pop is Release too, for [`emptiness`](Stack::emptiness) of several stacks at one moment: a thread that sees an index
//! gone sees what its taker pushed before, on any stack.

use super::{Closed, List};
use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Native, Ordering, Resident, Threads};
use crate::segments::{INDEX_BITS, NO_INDEX, Segments};
use alloc::sync::Weak;
use core::ptr::NonNull;

const CLOSED: u64 = 1 << INDEX_BITS;
const ONE_REMOVAL: u64 = CLOSED << 1;
const INDEX: u64 = CLOSED - 1;

/// A stack of indices, whose links are [`Linked`].
///
/// The word alone, without padding: a reference to it may dangle for the rest of the call that pushed the last index.
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

impl Stack<Native> {
    /// [`isolated`](Self::isolated), for a static.
    pub(crate) const fn native() -> CachePadded<Self> {
        CachePadded::new(Self(<Native as Memory>::AtomicU64::new(NO_INDEX as u64)))
    }
}

impl<M: Memory> Stack<M> {
    /// An empty stack, on a line of its own.
    pub(crate) fn isolated() -> CachePadded<Self> {
        CachePadded::new(Self(Atomic::new(u64::from(NO_INDEX))))
    }

    #[inline]
    pub(crate) fn pop(&self, links: &impl Linked<M>) -> Option<u32> {
        // Acquire: pairs with the Release in `push`: the link, and what the last owner did.
        let mut head = self.0.load(Ordering::Acquire);
        loop {
            let index = top(head);
            if index == NO_INDEX {
                return None;
            }
            // Relaxed: the push stored the link before its Release. After a later store, the tag has changed.
            let next = links.link(index).load(Ordering::Relaxed);
            let new = with_top(head, next).wrapping_add(ONE_REMOVAL);
            // Release: pairs with the Acquire in `emptiness`. Acquire on failure, as above; on success the load has
            // acquired.
            match self.0.compare_exchange_weak(head, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Some(index),
                Err(found) => head = found,
            }
            M::spin_hint();
        }
    }

    /// Puts `index` on top, which the caller owns: no other thread pushes it or uses its link.
    #[inline]
    pub(crate) fn push(&self, index: u32, links: &impl Linked<M>) -> Result<(), Closed> {
        let link = links.link(index);
        // Relaxed: the compare-exchange checks the value, and nothing below the top is read.
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

    /// Refuses pushes from now on. What is on the stack stays.
    fn close(&self) {
        // Relaxed: a later push finds the bit in the word that it changes, and nothing else is passed on.
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Undoes [`close`](Self::close), which came before.
    fn reopen(&self) {
        // Relaxed: as above.
        self.0.fetch_sub(CLOSED, Ordering::Relaxed);
    }

    /// `None` if an index is on the stack. Otherwise a number that changes with each pop: if it is the same twice, the
    /// stack was empty all the time between.
    fn emptiness(&self) -> Option<u64> {
        // Acquire: pairs with the Release of the last push and pop, and orders the caller's next reads.
        let head = self.0.load(Ordering::Acquire);
        (top(head) == NO_INDEX).then_some(head)
    }
}

/// One lock-free stack of all idle slots.
pub struct TaggedStack<M: Memory = Native> {
    head: CachePadded<Stack<M>>,
    links: Links<M>,
}

struct Links<M: Memory>(Segments<M::AtomicU32, M>);

impl<M: Memory> Linked<M> for Links<M> {
    #[inline]
    fn link(&self, index: u32) -> &M::AtomicU32 {
        self.0.get(index).expect("the slot was admitted")
    }
}

// SAFETY: the tag ensures that a pop hands out what was pushed, once. The push is a release's last touch.
unsafe impl<M: Threads> List for TaggedStack<M> {
    type Memory = M;
    const NAME: &'static str = "tagged stack";

    fn new_in(_magazine: usize, _owner: Weak<dyn Resident>) -> Self {
        Self { head: Stack::isolated(), links: Links(Segments::new()) }
    }

    fn admit(&self, slot: u32) {
        self.links.0.get_or_grow(slot, |_| Atomic::new(NO_INDEX));
    }

    #[inline]
    fn acquire(&self) -> Option<u32> {
        self.head.pop(&self.links)
    }

    #[inline]
    unsafe fn release_raw(this: NonNull<Self>, slot: u32) -> Result<(), Closed> {
        // SAFETY: the caller owns a slot of the list, which therefore exists until the push.
        let Self { head, links } = unsafe { this.as_ref() };
        head.push(slot, links)
    }

    fn emptiness(&self) -> Option<u64> {
        self.head.emptiness()
    }

    fn close(&self, home: impl FnMut(u32)) {
        self.head.close();
        // One at a time: a child of a fork meanwhile loses one slot, and may close the list again.
        core::iter::from_fn(|| self.acquire()).for_each(home);
    }

    fn reopen(&self) {
        if self.is_closed() {
            self.head.reopen();
        }
    }
}

impl<M: Memory> TaggedStack<M> {
    /// Whether the list was closed, as far as the caller knows.
    pub(super) fn is_closed(&self) -> bool {
        // Relaxed: a hint.
        self.head.0.load(Ordering::Relaxed) & CLOSED != 0
    }
}

impl<M: Memory> core::fmt::Debug for TaggedStack<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TaggedStack").field("is_empty", &self.head.emptiness().is_some()).finish()
    }
}
