//! A free list as pools use it: slots whose owners write to them, and a block that ends with its last slot.
//!
//! | room | claims |
//! |---|---|
//! | [`lists`] | every list: one owner a slot, none lost, each home exactly once, no touch after the last is home |
//! | [`magazines`] | `Magazines`: threads that end, that come, that sleep; magazines and depot |
//! | [`limit`] | `BufferPool`: an acquire is refused only if nothing was idle and the limit allowed no more |
//! | [`parts`] | `PooledBuf` and `PooledBytes`: the last holder releases the buffer |
//! | [`turns`] | `BufferPool`: an acquire that waits is woken for what is released, or its place in the queue is passed on |
//!
//! Every model ends in the same way: the list is closed, all slots are given back, and the last one to come home frees
//! the list. So "the list is freed" says that no slot was lost, and loom that no thread used the list after that.

/// Tests that run a model on the two machines, each with a bound of its own. [`Loom`](super::memory::Loom) has stores
/// that are seen late, but [overlooks](super::memory) interleavings that [`InOrder`](super::memory::InOrder) tries.
macro_rules! on_both_machines {
    ($($model:ident: $late:expr, $in_order:expr;)*) => {
        mod late {
            use super::*;
            tests! { $($model => passes($late, super::$model::<false>);)* }
        }
        mod in_order {
            use super::*;
            tests! { $($model => passes($in_order, super::$model::<true>);)* }
        }
    };
}

mod limit;
pub(crate) mod lists;
mod magazines;
pub(crate) mod orderings;
mod parts;
mod turns;

use super::memory::{Field, set_number};
use super::stage::{Heap, JoinHandle, spawn};
use std::iter::{from_fn, once};
use std::sync::{Arc, Weak};
use tenure::memory::{Atomic, Memory, Ordering, Plain, Resident};
use tenure::pool::list::List;

/// A list in a block of memory that its handles and its slots keep alive.
pub(crate) struct Pool<L: List>(Arc<Inner<L>>);

struct Inner<L: List> {
    list: Heap<L>,
    slots: Vec<Field<State>>,
    /// One for each slot that is not home, and one for each handle.
    references: <L::Memory as Memory>::AtomicU32,
}

// SAFETY: loom runs all threads of a model on one thread of the system, one at a time.
unsafe impl<L: List> Send for Inner<L> {}
// SAFETY: as above; and loom keeps readers and writers of the slots apart.
unsafe impl<L: List> Sync for Inner<L> {}

/// What is known of a slot. Written without atomics by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Owned,
    Home,
}

impl<L: List> Clone for Pool<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct NoOwner;

impl Resident for NoOwner {
    unsafe fn leave(&self, _thread: usize) {}
}

impl<L: List> Pool<L> {
    /// A pool with that many slots, all of them the caller's. The caller is thread 0.
    pub(crate) fn new(magazine: usize, slots: u32) -> Self {
        let pool = Self::not_admitted(magazine, slots);
        (0..slots).for_each(|slot| pool.list().admit(slot));
        pool
    }

    /// As [`new`](Self::new), but without admitting the slots.
    pub(crate) fn not_admitted(magazine: usize, slots: u32) -> Self {
        set_number(0);
        let list = Heap::new(L::new_in(magazine, Weak::<NoOwner>::new()));
        let states = (0..slots).map(|_| Plain::new(State::Owned)).collect();
        let references = Atomic::new(slots + 1);
        Self(Arc::new(Inner { list, slots: states, references }))
    }

    /// As [`new`](Self::new), with the slots released in their order.
    pub(crate) fn free(magazine: usize, slots: u32) -> Self {
        let pool = Self::new(magazine, slots);
        (0..slots).for_each(|slot| pool.give(slot));
        pool
    }

    pub(crate) fn list(&self) -> &L {
        &self.0.list
    }

    fn change(&self, slot: u32, from: State, to: State, otherwise: &str) {
        self.0.slots[slot as usize].with_mut(|state| {
            // SAFETY: loom panics where another thread reads or writes meanwhile.
            let state = unsafe { &mut *state };
            assert_eq!(*state, from, "{otherwise}");
            *state = to;
        });
    }

    fn home(&self, slot: u32) {
        self.change(slot, State::Free, State::Home, "a slot comes home that is not free");
        self.put_reference();
    }

    fn put_reference(&self) {
        if self.0.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.list.free();
        }
    }

    pub(crate) fn take(&self) -> Option<u32> {
        let slot = self.list().acquire()?;
        self.change(slot, State::Free, State::Owned, "a slot has two owners");
        Some(slot)
    }

    pub(crate) fn give(&self, slot: u32) {
        self.change(slot, State::Owned, State::Free, "another thread took an owner's slot");
        // SAFETY: owned until here, as far as the list lets us.
        if unsafe { self.list().release(slot) }.is_err() {
            self.home(slot);
        }
    }

    pub(crate) fn find(&self) -> Option<u32> {
        self.take().or_else(|| L::gather(once(self.list()), || self.take()))
    }

    pub(crate) fn visit(&self) {
        if let Some(slot) = self.take() {
            self.give(slot);
        }
    }

    pub(crate) fn trim(&self) -> u32 {
        let list = self.list();
        L::gather(once(list), || {
            from_fn(|| list.acquire()).fold(0, |taken, slot| {
                self.home(slot);
                taken + 1
            })
        })
    }

    pub(crate) fn close(&self) {
        self.list().close(|slot| self.home(slot));
        assert_eq!(self.list().acquire(), None, "a closed list has a slot");
        self.put_reference();
    }

    /// For when all threads have ended.
    pub(crate) fn is_freed(&self) -> bool {
        self.0.list.is_freed()
    }

    pub(crate) fn spawn<R: 'static>(
        &self,
        number: usize,
        thread: impl FnOnce(&Self) -> R + 'static,
    ) -> JoinHandle<R> {
        let pool = self.clone();
        spawn(move || {
            set_number(number);
            thread(&pool)
        })
    }

    pub(crate) fn spawn_with_handle(
        &self,
        number: usize,
        thread: impl FnOnce(&Self) + 'static,
    ) -> JoinHandle<()> {
        // Relaxed: the caller has a handle, and the thread is spawned after this.
        self.0.references.fetch_add(1, Ordering::Relaxed);
        self.spawn(number, |pool| {
            thread(pool);
            pool.put_reference();
        })
    }
}

/// The end of every model: `threads` end, the list is closed, and nothing of it is left.
fn end<L: List>(pool: &Pool<L>, threads: impl IntoIterator<Item = JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    pool.close();
    assert!(pool.is_freed(), "a slot is lost");
}
