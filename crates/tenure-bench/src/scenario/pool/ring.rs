//! [`RingChannel`]: a bounded channel from one thread to another.
//!
//! Each cell says whether it is full, so the two sides share no index (after Giacomoni, Moseley and Vachharajani,
//! "FastForward for efficient pipeline parallelism", PPoPP 2008): while neither waits for the other, they are on
//! different lines.
//!
//! An empty cell is the sender's, a full one the receiver's.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tenure::cache_line::CachePadded;
use tenure::memory::{Atomic, Memory, Ordering, Plain};

const EMPTY: u32 = 0;
const FULL: u32 = 1;

/// Up to [`CAPACITY`] values on their way.
pub(super) struct RingChannel<T, M: Memory> {
    cells: Box<[CachePadded<RingLine<T, M>>]>,
    sent: CachePadded<Mutex<usize>>,
    received: CachePadded<Mutex<usize>>,
}

pub(super) const CAPACITY: usize = LINES * CELLS;
const LINES: usize = 32;
/// Cells on one line.
const CELLS: usize = 8;

type RingLine<T, M> = [RingCell<T, M>; CELLS];

struct RingCell<T, M: Memory> {
    state: M::AtomicU32,
    value: M::Plain<Option<T>>,
}

// SAFETY: only the side that `state` names uses `value`, and passes it on with Release and Acquire.
unsafe impl<T: Send, M: Memory> Sync for RingCell<T, M> {}
// SAFETY: `T` is Send, and the cell owns the rest.
unsafe impl<T: Send, M: Memory> Send for RingCell<T, M> {}

impl<T, M: Memory> RingCell<T, M> {
    fn empty() -> Self {
        Self { state: Atomic::new(EMPTY), value: Plain::new(None) }
    }
}

fn locked(side: &Mutex<usize>) -> MutexGuard<'_, usize> {
    side.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send, M: Memory> RingChannel<T, M> {
    pub(super) fn new() -> Self {
        let line = |_| CachePadded::new(std::array::from_fn(|_| RingCell::empty()));
        Self {
            cells: (0..LINES).map(line).collect(),
            sent: CachePadded::new(Mutex::new(0)),
            received: CachePadded::new(Mutex::new(0)),
        }
    }

    /// One at a time.
    pub(super) fn sender(&self) -> Sender<'_, T, M> {
        Sender { ring: self, at: locked(&self.sent) }
    }

    /// One at a time.
    pub(super) fn receiver(&self) -> Receiver<'_, T, M> {
        Receiver { ring: self, at: locked(&self.received) }
    }

    #[inline(always)]
    fn cell(&self, at: usize) -> &RingCell<T, M> {
        &self.cells[at / CELLS % LINES][at % CELLS]
    }
}

pub(super) struct Sender<'a, T, M: Memory> {
    ring: &'a RingChannel<T, M>,
    at: MutexGuard<'a, usize>,
}

impl<T: Send, M: Memory> Sender<'_, T, M> {
    /// Gives `value` back if there is no room.
    #[inline(always)]
    pub(super) fn send(&mut self, value: T) -> Result<(), T> {
        let cell = self.ring.cell(*self.at);
        // Acquire: pairs with the Release in `receive`: the receiver is done with the cell.
        if cell.state.load(Ordering::Acquire) != EMPTY {
            return Err(value);
        }
        // SAFETY: an empty cell is the sender's, and this is the only one.
        cell.value.with_mut(|place| unsafe { *place = Some(value) });
        // Release: pairs with the Acquire in `receive`: the value.
        cell.state.store(FULL, Ordering::Release);
        *self.at = self.at.wrapping_add(1);
        Ok(())
    }
}

pub(super) struct Receiver<'a, T, M: Memory> {
    ring: &'a RingChannel<T, M>,
    at: MutexGuard<'a, usize>,
}

impl<T: Send, M: Memory> Receiver<'_, T, M> {
    /// The oldest value.
    #[inline(always)]
    pub(super) fn receive(&mut self) -> Option<T> {
        let cell = self.ring.cell(*self.at);
        // Acquire: pairs with the Release in `send`.
        if cell.state.load(Ordering::Acquire) != FULL {
            return None;
        }
        // SAFETY: a full cell is the receiver's, and this is the only one.
        let value = cell.value.with_mut(|place| unsafe { (*place).take() });
        // Release: pairs with the Acquire in `send`: the cell is free.
        cell.state.store(EMPTY, Ordering::Release);
        *self.at = self.at.wrapping_add(1);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::memory::Native;

    #[test]
    fn values_come_in_order_and_only_so_many_fit() {
        let ring = RingChannel::<usize, Native>::new();
        let (mut sender, mut receiver) = (ring.sender(), ring.receiver());
        for round in 0..3 {
            assert_eq!(receiver.receive(), None);
            let values = || (0..CAPACITY).map(|value| value + round);
            assert!(values().all(|value| sender.send(value).is_ok()));
            assert_eq!(sender.send(7), Err(7));
            assert!(values().all(|value| receiver.receive() == Some(value)));
        }
    }

    #[test]
    fn nothing_is_lost_between_two_threads() {
        const VALUES: u64 = 20_000;
        let ring = RingChannel::<Box<u64>, Native>::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut sender = ring.sender();
                for value in 0..VALUES {
                    let mut unsent = Box::new(value);
                    while let Err(back) = sender.send(unsent) {
                        unsent = back;
                        std::thread::yield_now();
                    }
                }
            });
            let mut receiver = ring.receiver();
            for value in 0..VALUES {
                let received = loop {
                    match receiver.receive() {
                        Some(received) => break received,
                        None => std::thread::yield_now(),
                    }
                };
                assert_eq!(*received, value);
            }
        });
    }
}
