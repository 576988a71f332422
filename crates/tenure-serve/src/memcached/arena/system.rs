//! Free blocks, and more from the system.

use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::block::Block;
use super::sizes::BLOCK;

const REGION: usize = 16 * BLOCK;

/// Bytes that must stay free when blocks are mapped: the map grows by doubling, and aborts without memory.
const SLACK: usize = 8 << 20;

/// With fewer free blocks the system is asked for more.
const RESERVE: usize = REGION / BLOCK;

pub(super) struct Blocks {
    /// With capacity for all that are mapped.
    free: Vec<NonNull<Block>>,
    mapped: usize,
    /// Whether the system refused more since the last look.
    is_short: bool,
}

// SAFETY: only this owns the free blocks.
unsafe impl Send for Blocks {}

impl Blocks {
    pub(super) const fn new() -> Self {
        Self { free: Vec::new(), mapped: 0, is_short: false }
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    pub(super) fn take_shortage(&mut self) -> bool {
        std::mem::take(&mut self.is_short)
    }

    /// The caller owns the block. More are mapped early, so that the store learns of a shortage in time.
    pub(super) fn take(&mut self) -> Option<NonNull<Block>> {
        if self.free.len() < RESERVE && self.map().is_none() {
            self.is_short = true;
        }
        self.free.pop()
    }

    pub(super) fn put(&mut self, block: NonNull<Block>) {
        debug_assert!(self.free.len() < self.free.capacity(), "there is room for all");
        self.free.push(block);
    }

    /// Gives up to `most` free blocks back to the system; keeps `kept`. Returns how many it gave.
    pub(super) fn give_back(&mut self, kept: usize, most: usize) -> usize {
        let mut given = 0;
        while given < most && self.free.len() > kept {
            let Some(block) = self.free.pop() else { break };
            // SAFETY: a whole block, which only this owns.
            if unsafe { munmap(block.as_ptr().cast(), BLOCK) }.is_err() {
                // The system allows no more mappings: keeps it.
                self.free.push(block);
                break;
            }
            self.mapped -= 1;
            given += 1;
        }
        given
    }

    #[cold]
    fn map(&mut self) -> Option<()> {
        let count = REGION / BLOCK;
        self.free.try_reserve(self.mapped + count - self.free.len()).ok()?;
        let slack = SLACK + self.mapped * BLOCK / 8;
        // Usually right below the last one, and so aligned.
        let start = map(slack + REGION)?;
        let end = start.addr().get() + slack + REGION;
        let mut first = end - REGION;
        let mut map_start = start;
        if !first.is_multiple_of(BLOCK) {
            // One block more contains an aligned region.
            unmap(start, slack + REGION);
            map_start = map(slack + REGION + BLOCK)?;
            let end = map_start.addr().get() + slack + REGION + BLOCK;
            first = end / BLOCK * BLOCK - REGION;
            let behind = map_start.map_addr(|_| {
                // Not 0: behind the start of a mapping.
                (first + REGION).try_into().unwrap_or(std::num::NonZero::<usize>::MAX)
            });
            unmap(behind, end - (first + REGION));
        }
        let region = map_start.as_ptr().map_addr(|_| first);
        unmap(map_start, first - map_start.addr().get());
        for at in (0..count).rev() {
            // SAFETY: inside the region.
            let block = unsafe { region.add(at * BLOCK) };
            self.free.extend(NonNull::new(block.cast()));
        }
        self.mapped += count;
        Some(())
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        debug_assert_eq!(self.free.len(), self.mapped, "a block in use keeps the arena");
        self.give_back(0, usize::MAX);
    }
}

fn map(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping, at an address that the system chooses.
    let start = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    NonNull::new(start.ok()?.cast())
}

fn unmap(start: NonNull<u8>, bytes: usize) {
    if bytes > 0 {
        // SAFETY: `Blocks::map` passes parts that it has just mapped and does not use.
        let ended = unsafe { munmap(start.as_ptr().cast(), bytes) };
        debug_assert!(ended.is_ok() || bytes < BLOCK, "{ended:?}");
    }
}
