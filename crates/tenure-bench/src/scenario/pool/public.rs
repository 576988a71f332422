use super::slots::{Slots, elsewhere};
use tenure::pool::{BufferPool, PooledBuf, SlotMut, SlotPool};

/// `SlotPool`; its objects are not looked at.
pub(super) struct PublicObjects {
    _in_use: Vec<SlotMut<u32>>,
    pool: SlotPool<u32>,
}

impl Slots for PublicObjects {
    type Taken = SlotMut<u32>;

    fn prepared(in_use: u32, free: u32) -> Self {
        let pool = SlotPool::new();
        let acquire = |_| pool.acquire().expect("there is no limit");
        let in_use = (0..in_use).map(acquire).collect();
        elsewhere(|| drop((0..free).map(acquire).collect::<Vec<_>>()));
        Self { _in_use: in_use, pool }
    }
    #[inline(always)]
    fn acquire(&self) -> SlotMut<u32> {
        self.pool.acquire().expect("there is no limit")
    }
    #[inline(always)]
    fn release(&self, taken: SlotMut<u32>) {
        drop(taken);
    }
    #[cfg(test)]
    fn made(&self) -> Option<u32> {
        u32::try_from(self.pool.stats().made).ok()
    }
}

/// `BufferPool` without zeroing, which would time the memory.
pub(super) struct Buffers {
    _in_use: Vec<PooledBuf>,
    pool: BufferPool,
}

const BYTES: usize = 64;

impl Slots for Buffers {
    type Taken = PooledBuf;

    fn prepared(in_use: u32, free: u32) -> Self {
        let pool = BufferPool::builder().classes(BYTES, 1).zero(false).build();
        let pool = pool.expect("a class is a pool");
        let acquire = |_| pool.acquire(BYTES).expect("there is no limit");
        let in_use = (0..in_use).map(acquire).collect();
        elsewhere(|| drop((0..free).map(acquire).collect::<Vec<_>>()));
        Self { _in_use: in_use, pool }
    }
    #[inline(always)]
    fn acquire(&self) -> PooledBuf {
        self.pool.acquire(BYTES).expect("there is no limit")
    }
    #[inline(always)]
    fn release(&self, taken: PooledBuf) {
        drop(taken);
    }
    #[cfg(test)]
    fn made(&self) -> Option<u32> {
        u32::try_from(self.pool.stats().made).ok()
    }
}
