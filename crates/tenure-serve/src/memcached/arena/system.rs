//! Blocks from the system, and those that are in no use.

use std::ptr::{self, NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::block::Block;
use super::sizes::BLOCK;

/// Bytes that are asked for at once.
const REGION: usize = 16 * BLOCK;

/// Bytes that the system must have left for everything else when blocks are asked for: the map grows by doubling, and whoever
/// finds no memory for that cannot go on.
const SLACK: usize = 8 << 20;

/// With fewer free blocks the system is asked for more.
const RESERVE: usize = REGION / BLOCK;

/// Blocks that are in no use.
pub(super) struct Blocks {
    /// Has room for all that are mapped.
    free: Vec<NonNull<Block>>,
    mapped: usize,
    /// Whether the system had no more when it was last asked.
    is_short: bool,
}

// SAFETY: free blocks are memory that nobody else has.
unsafe impl Send for Blocks {}

impl Blocks {
    pub(super) const fn new() -> Self {
        Self { free: Vec::new(), mapped: 0, is_short: false }
    }

    /// Blocks that are in no use.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Whether the system had no more since this was last asked.
    pub(super) fn take_shortage(&mut self) -> bool {
        std::mem::take(&mut self.is_short)
    }

    /// A block, which is the caller's until it is put back. The system is asked while there are still some, so that who hears
    /// of the shortage can do something before there are none.
    pub(super) fn take(&mut self) -> Option<NonNull<Block>> {
        if self.free.len() < RESERVE && self.map().is_none() {
            self.is_short = true;
        }
        self.free.pop()
    }

    /// Puts a block back.
    pub(super) fn put(&mut self, block: NonNull<Block>) {
        debug_assert!(self.free.len() < self.free.capacity(), "there is room for all");
        self.free.push(block);
    }

    /// Gives up to `most` of the free blocks but `kept` back to the system. Returns how many that were.
    pub(super) fn give_back(&mut self, kept: usize, most: usize) -> usize {
        let mut given = 0;
        while given < most && self.free.len() > kept {
            let Some(block) = self.free.pop() else { break };
            // SAFETY: a whole block, which nobody has.
            if unsafe { munmap(block.as_ptr().cast(), BLOCK) }.is_err() {
                // The system allows no more pieces. It stays, to be used again.
                self.free.push(block);
                break;
            }
            self.mapped -= 1;
            given += 1;
        }
        given
    }

    /// Asks the system for more blocks.
    #[cold]
    fn map(&mut self) -> Option<()> {
        let count = REGION / BLOCK;
        self.free.try_reserve(self.mapped + count - self.free.len()).ok()?;
        let slack = SLACK + self.mapped * BLOCK / 8;
        // Below the last one as a rule, and so in line with it.
        let start = map(slack + REGION)?;
        let end = start.addr().get() + slack + REGION;
        let mut first = end - REGION;
        let mut map_start = start;
        if !first.is_multiple_of(BLOCK) {
            // With a block more there is a multiple of its size.
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
    // SAFETY: a new mapping, wherever the system wants it.
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

/// Ends a part of a mapping that nobody has.
fn unmap(start: NonNull<u8>, bytes: usize) {
    if bytes > 0 {
        // SAFETY: `map` calls this for what it has just mapped, and does not use.
        let ended = unsafe { munmap(start.as_ptr().cast(), bytes) };
        debug_assert!(ended.is_ok() || bytes < BLOCK, "{ended:?}");
    }
}
