use super::slots::Slots;
use crossbeam_queue::{ArrayQueue, SegQueue};
use std::sync::{Mutex, PoisonError};
use tenure::cache_line::CachePadded;

pub(super) struct LockedVec(CachePadded<Mutex<NumberPool>>);

struct NumberPool {
    free: Vec<u32>,
    made: u32,
}

impl LockedVec {
    fn with<R>(&self, work: impl FnOnce(&mut NumberPool) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Slots for LockedVec {
    type Taken = u32;

    fn prepared(in_use: u32, free: u32) -> Self {
        let made = in_use + free;
        Self(CachePadded::new(Mutex::new(NumberPool { free: (in_use..made).collect(), made })))
    }
    #[inline(always)]
    fn acquire(&self) -> u32 {
        self.with(|numbers| {
            numbers.free.pop().unwrap_or_else(|| {
                numbers.made += 1;
                numbers.made - 1
            })
        })
    }
    #[inline(always)]
    fn release(&self, slot: u32) {
        self.with(|numbers| numbers.free.push(slot));
    }
    #[cfg(test)]
    fn made(&self) -> Option<u32> {
        Some(self.with(|numbers| numbers.made))
    }
}

/// crossbeam's bounded queue, with a place for every slot.
pub(super) struct Bounded(ArrayQueue<u32>);

/// The number of all slots beyond the prepared ones.
const ANOTHER: u32 = u32::MAX;

impl Slots for Bounded {
    type Taken = u32;

    fn prepared(in_use: u32, free: u32) -> Self {
        let queue = ArrayQueue::new((in_use + free) as usize);
        for slot in in_use..in_use + free {
            queue.push(slot).expect("there is a place for every slot");
        }
        Self(queue)
    }
    #[inline(always)]
    fn acquire(&self) -> u32 {
        self.0.pop().unwrap_or(ANOTHER)
    }
    #[inline(always)]
    fn release(&self, slot: u32) {
        // Without a place, there is one too many.
        let _ = self.0.push(slot);
    }
}

pub(super) struct Unbounded(SegQueue<u32>);

impl Slots for Unbounded {
    type Taken = u32;

    fn prepared(in_use: u32, free: u32) -> Self {
        let queue = SegQueue::new();
        (in_use..in_use + free).for_each(|slot| queue.push(slot));
        Self(queue)
    }
    #[inline(always)]
    fn acquire(&self) -> u32 {
        self.0.pop().unwrap_or(ANOTHER)
    }
    #[inline(always)]
    fn release(&self, slot: u32) {
        self.0.push(slot);
    }
}

/// `sharded-slab`: slots of each thread, which others release into a list of its own.
pub(super) struct ShardedSlab(sharded_slab::Pool<Option<u32>>);

impl Slots for ShardedSlab {
    type Taken = usize;

    fn prepared(in_use: u32, _free: u32) -> Self {
        let pool = sharded_slab::Pool::new();
        (0..in_use).for_each(|_| assert!(pool.create_with(|_| ()).is_some(), "there is room"));
        Self(pool)
    }
    #[inline(always)]
    fn acquire(&self) -> usize {
        self.0.create_with(|_| ()).expect("there is room")
    }
    #[inline(always)]
    fn release(&self, slot: usize) {
        self.0.clear(slot);
    }
}

/// No pool: the scenario's own cost.
pub(super) struct Nothing;

impl Slots for Nothing {
    type Taken = u32;

    fn prepared(_in_use: u32, _free: u32) -> Self {
        Self
    }
    #[inline(always)]
    fn acquire(&self) -> u32 {
        0
    }
    #[inline(always)]
    fn release(&self, _slot: u32) {}
}
