//! Waiting at the limit: acquires take [`Turn`]s, first come, first served.
//!
//! While an acquire waits, the pool is *held*: [`WAITING`] is set in its account, and its lists are closed as at its
//! end. So releases need no look at the queue:
//!
//! ```text
//!   release                                 first that waits
//!   the list is open: the slot is idle      lock; account |= WAITING; close the lists
//!   it is closed: lock                      the slots that were idle are the stock; wait
//!     the slot is the stock                 unlock
//!     grant; unlock; wake
//! ```
//!
//! 1. **No wake-up is lost.** A release makes its slot idle before the list closes, and the closing thread has it; or
//!    the list refuses it, and the slot is granted under the lock. Room that contents leave is in the account, one
//!    word: who subtracts sees `WAITING`, or the thread that sets it sees the room.
//! 2. **Grants go to the first alone**, as a slot of its class or as room, taken from idle contents if need be. While
//!    the first cannot have what it wants, room gathers for it: other acquires are refused, or wait behind it.
//! 3. **What is granted has an owner**: the `Turn`, whose drop passes it on. In a fork's child it is lost, if it was not
//!    polled before.
//! 4. **The lock** guards the queue, and excludes acquires at the limit while a stock is in hand: those would not see
//!    it as idle. It is taken before those of the lists. User code (wakers, drops) runs when it is released.
//! 5. When the queue is empty, the lists open, and get what is left of the stock.

use super::super::lock::Held;
use super::{Class, Contents, List, Lock, Memory, Orphans, Pool, Refused, Reserved, Shared, Slot};
use crate::memory::{Atomic, Ordering, Plain, Threads};
use crate::wake::wake_all;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::future::poll_fn;
use core::mem::{forget, replace, swap};
use core::ptr;
use core::task::{Context, Poll, Waker};

/// Bit of the account: the pool is held. Changed under the lock.
pub(super) const WAITING: u64 = 1 << 63;

pub(super) struct Turns<M: Memory> {
    lock: Lock<M>,
    queue: M::Plain<Queue>,
}

// SAFETY: the queue, itself `Send`, is used under the lock alone.
unsafe impl<M: Memory> Send for Turns<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Sync for Turns<M> {}

#[derive(Default)]
pub(super) struct Queue {
    /// The number of the last turn. None is 0.
    last: u64,
    waiting: BTreeMap<u64, Waiter>,
    granted: BTreeMap<u64, Grant>,
    /// [`Threads::forks`] when the maps were made.
    forks: u32,
}

struct Waiter {
    /// Index of the class.
    class: usize,
    waker: Waker,
}

/// Owned by the turn.
enum Grant {
    /// A slot of its class, neither idle nor in use.
    Slot(u32),
    /// A part of the limit, as large as a slot of its class.
    Room,
}

/// Woken when this is dropped, after the lock was released, the first first.
#[derive(Default)]
struct Wakes(VecDeque<Waker>);

impl Drop for Wakes {
    fn drop(&mut self) {
        wake_all(self.0.drain(..));
    }
}

impl<M: Threads> Turns<M> {
    pub(super) fn new() -> Self {
        let queue = Queue { forks: M::forks(), ..Queue::default() };
        Self { lock: Lock::new(), queue: Plain::new(queue) }
    }

    pub(super) fn lock(&self) -> Held<'_, M> {
        self.lock.lock()
    }

    fn with<R>(&self, access: impl FnOnce(&mut Queue) -> R) -> R {
        let _held = self.lock();
        self.queue.with_mut(|queue| {
            // SAFETY: this thread has the lock.
            let queue = unsafe { &mut *queue };
            if queue.forks != M::forks() {
                // The turns of other threads stayed in the parent. The maps may be half changed: they are not looked
                // at again.
                let (last, forks) = (queue.last + 1, M::forks());
                forget(replace(queue, Queue { last, forks, ..Queue::default() }));
            }
            access(queue)
        })
    }
}

impl<C: Contents<L>, L: List> Pool<C, L> {
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        // Relaxed: a hint, unless the caller has the lock or has just changed the word.
        self.account.held.load(Ordering::Relaxed) & WAITING != 0
    }

    /// Calls `look` under the lock, unless an acquire waits: `None`.
    pub(super) fn unless_held<R>(&self, look: impl FnOnce() -> Option<R>) -> Option<R> {
        // Opens what a fork left held. Before the look, for a waker may panic.
        self.serve_if_held();
        self.account.turns.with(|_| if self.is_held() { None } else { look() })
    }

    /// Passes on a slot that its list refused; or ends its contents, if the pool is closed.
    pub(super) fn hand_on(&self, class: &Class<C, L>, index: u32) {
        let mut stock = [Orphans::new(class)];
        stock[0].add(index);
        if !self.is_closed() {
            self.serve(&mut stock);
        }
    }

    /// Grants what there is, if an acquire waits.
    pub(super) fn serve_if_held(&self) {
        if self.is_held() {
            self.serve(&mut []);
        }
    }

    fn serve(&self, stock: &mut [Orphans<'_, C, L>]) {
        let mut wakes = Wakes::default();
        self.account.turns.with(|queue| self.settle(queue, stock, &mut wakes));
        drop(wakes);
    }

    /// Closes the lists, and returns what was idle, by class.
    fn hold(&self) -> Vec<Orphans<'_, C, L>> {
        // Relaxed: room is in the same word, and the lists' own steps order the rest.
        self.account.held.fetch_or(WAITING, Ordering::Relaxed);
        let mut stock: Vec<_> = self.classes.as_ref().iter().map(Orphans::new).collect();
        for orphans in &mut stock {
            orphans.class.table.idle.close(|index| orphans.add(index));
        }
        stock
    }

    /// Grants from the stock and the limit; opens the lists if no acquire waits any more. If the pool is closed the
    /// stock stays, whose drop ends the contents. For the thread with the lock.
    fn settle(&self, queue: &mut Queue, stock: &mut [Orphans<'_, C, L>], wakes: &mut Wakes) {
        if self.is_closed() {
            return;
        }
        while let Some(first) = queue.waiting.first_entry() {
            let class = &self.classes.as_ref()[first.get().class];
            let mut same = stock.iter_mut().filter(|orphans| ptr::eq(orphans.class, class));
            let grant = if let Some(index) = same.find_map(Orphans::pop) {
                Grant::Slot(index)
            } else if self.add(class.size, WAITING) {
                Grant::Room
            } else if C::QUIET && stock.iter_mut().rev().any(Orphans::empty_next) {
                // The largest first.
                continue;
            } else {
                return;
            };
            let (number, waiter) = first.remove_entry();
            queue.granted.insert(number, grant);
            wakes.0.push_back(waiter.waker);
        }
        let was_held = self.is_held();
        if was_held {
            self.lists().for_each(L::reopen);
        }
        for orphans in stock {
            while let Some(index) = orphans.pop() {
                // SAFETY: the stock owns the slot.
                let released = unsafe { orphans.class.table.idle.release(index) };
                debug_assert!(released.is_ok(), "a list is closed under the lock alone");
            }
        }
        if was_held {
            // Relaxed: as in `hold`.
            self.account.held.fetch_sub(WAITING, Ordering::Relaxed);
        }
    }

    /// Refuses acquires from now on, also those that wait. Returns what was idle.
    pub(super) fn shut(&self) -> Vec<Orphans<'_, C, L>> {
        let mut wakes = Wakes::default();
        let stock = self.account.turns.with(|queue| {
            // Also if it was closed before: a fork may have interrupted that.
            let stock = self.hold();
            // Relaxed: as in `hold`. From here on the lists stay closed.
            self.account.held.fetch_sub(WAITING, Ordering::Relaxed);
            let waiters = core::mem::take(&mut queue.waiting);
            wakes.0.extend(waiters.into_values().map(|waiter| waiter.waker));
            stock
        });
        drop(wakes);
        stock
    }
}

/// Serves acquires that wait when dropped, after contents ended.
pub(super) struct Serve<'a, C: Contents<L>, L: List>(pub(super) &'a Pool<C, L>);

impl<C: Contents<L>, L: List> Drop for Serve<'_, C, L> {
    fn drop(&mut self) {
        self.0.serve_if_held();
    }
}

/// A place in the queue, taken by the first poll.
struct Turn<'a, C: Contents<L>, L: List> {
    pool: &'a Pool<C, L>,
    class: usize,
    number: u64,
}

impl<C: Contents<L>, L: List> Turn<'_, C, L> {
    fn poll(&mut self, context: &Context<'_>) -> Poll<Option<Grant>> {
        // Wakers are cloned and dropped while the lock is free: the closure has them by reference.
        let (mut waker, mut own) = (Some(context.waker().clone()), None);
        let (mut stock, mut wakes) = (Vec::new(), Wakes::default());
        let (pool, number) = (self.pool, &mut self.number);
        let result = pool.account.turns.with(|queue| {
            if let Some(grant) = queue.granted.remove(number) {
                return Poll::Ready(Some(grant));
            }
            if pool.is_closed() {
                return Poll::Ready(None);
            }
            if let (Some(waiter), Some(waker)) = (queue.waiting.get_mut(number), &mut waker) {
                swap(&mut waiter.waker, waker);
                return Poll::Pending;
            }
            if queue.waiting.is_empty() {
                // Also if a lost thread was holding it.
                stock = pool.hold();
            }
            queue.last += 1;
            *number = queue.last;
            let waiter = waker.take().map(|waker| Waiter { class: self.class, waker });
            queue.waiting.extend(waiter.map(|waiter| (*number, waiter)));
            pool.settle(queue, &mut stock, &mut wakes);
            if queue.granted.contains_key(number) {
                // Its own, the last.
                own = wakes.0.pop_back();
            }
            Poll::Pending
        });
        drop(wakes);
        if own.is_some() {
            // Taken when nothing can panic any more, and it has an owner.
            return self.poll(context);
        }
        if result.is_ready() {
            self.number = 0;
        }
        result
    }
}

impl<C: Contents<L>, L: List> Drop for Turn<'_, C, L> {
    /// Leaves the queue, and passes on what was granted.
    fn drop(&mut self) {
        if self.number == 0 {
            return;
        }
        let class = &self.pool.classes.as_ref()[self.class];
        let (mut stock, mut wakes, mut left) = ([Orphans::new(class)], Wakes::default(), None);
        self.pool.account.turns.with(|queue| {
            match queue.granted.remove(&self.number) {
                Some(Grant::Slot(index)) => stock[0].add(index),
                Some(Grant::Room) => self.pool.give_back(class.size),
                None => left = queue.waiting.remove(&self.number),
            }
            self.pool.settle(queue, &mut stock, &mut wakes);
        });
        drop(left);
        drop(wakes);
    }
}

impl<C: Contents<L>, L: List> Shared<Pool<C, L>, L::Memory> {
    /// A slot of class `asked`, after those who asked before. Never comes if the limit does not allow one.
    pub(crate) async fn acquire_in_turn(
        &self,
        asked: usize,
    ) -> Result<&Slot<C, L>, Refused<C::Failure>> {
        let class = &self.classes.as_ref()[asked];
        if let Some(slot) = class.table.reuse() {
            return Ok(slot);
        }
        // Without closing the lists, if it need not wait.
        match self.acquire_slowly(asked, asked) {
            Err(Refused::Limit) => {}
            result => return result,
        }
        let mut turn = Turn { pool: self, class: asked, number: 0 };
        match poll_fn(move |context| turn.poll(context)).await {
            Some(Grant::Slot(index)) => {
                let slot = class.table.slot(index);
                slot.transition_to_in_use();
                Ok(slot)
            }
            Some(Grant::Room) => self.fill(class, Reserved { pool: self, size: class.size }),
            None => Err(Refused::Closed),
        }
    }
}
