//! Keeping the memory of items near the limit: items leave blocks that are nearly empty.

use std::ptr::NonNull;
use std::sync::TryLockError;

use tenure::count::RefCount;
use tenure::memory::Ordering;

use super::key::InCell;
use super::{Entry, Visit};
use crate::allocator::return_to_system;
use crate::memcached::arena::Cell;

/// Blocks that are emptied for each new one, at most. Together with [`SPARE`] it bounds what is copied for each byte that is
/// stored: where all blocks are equally full, sixteen are emptied to gain one.
const BLOCKS: usize = 20;

/// Free cells in blocks that are in use may have this part of the limit. They count towards it.
const SPARE: u64 = 16;

/// Bytes of the map's table for an item. It shrinks later than items go, and slowly.
const SLOT: u64 = 24;

/// The map of so many items is too small to think of.
const FEW: u64 = 4096;

/// Bytes that go back to the system at once, at most: 4,096 calls.
const GIVEN: u64 = 256 << 20;

impl<C: RefCount + 'static> Visit<'_, C> {
    /// Empties blocks, after one was put into use.
    #[cold]
    pub(super) fn tidy(&self) {
        self.trim_index();
        let arena = &self.store.arena;
        let mut cells = Vec::new();
        let mut unlinked = 0;
        for _ in 0..BLOCKS {
            if arena.spare() <= self.store.limit() / SPARE || !arena.sparse(&mut cells) {
                break;
            }
            unlinked +=
                cells.drain(..).map(|(hash, cell)| self.move_item(hash, cell)).sum::<usize>();
        }
        let items = self.store.len() as u64;
        // Relaxed: a statistic.
        let most = self.store.most_ever.fetch_max(items, Ordering::Relaxed).max(items);
        self.store.note_spare(arena.spare() + (most - items) * SLOT);
        self.add_unlinked(unlinked);
    }

    /// The system had no memory: what is in use is too much. Evicts a part of it, so that there is some for the next items, and
    /// for what is not an item.
    #[cold]
    pub(super) fn give_way(&self) {
        self.store.lower_room();
        let evicted = self.make_room(None);
        self.add_unlinked(evicted);
        self.settle();
    }

    /// Has the allocator give back what the map had for items that are gone, once they are half as many as there were. It keeps
    /// such small pieces otherwise, as much as half of the limit where values grow from 50 bytes to a megabyte.
    fn trim_index(&self) {
        let items = self.store.len() as u64;
        // Relaxed, here and below: only the one that lowers it trims, and nothing else depends on it.
        let most = self.store.most_items.fetch_max(items, Ordering::Relaxed);
        if items < most / 2 && most > FEW {
            let relaxed = Ordering::Relaxed;
            let lowered = self.store.most_items.compare_exchange(most, items, relaxed, relaxed);
            if lowered.is_ok() {
                return_to_system();
            }
        }
    }

    /// What is done once a second: a limit that was lowered takes effect though nobody stores, and memory that is not used
    /// any more goes back to the system.
    pub(in crate::memcached) fn keep_house(&self) {
        let evicted = self.make_room(None);
        self.add_unlinked(evicted);
        self.trim_index();
        let kept = self.store.raise_room();
        self.store.arena.give_back(kept, GIVEN);
        self.settle();
    }

    /// Copies the item that has a cell to other cells, if it is linked. Returns the bytes that were unlinked.
    fn move_item(&self, hash: u64, cell: NonNull<Cell>) -> usize {
        let shard = self.store.shard(hash);
        // Not waited for: the caller may hold it, or another one.
        let mut queue = match self.store.shards[shard].queue.try_lock() {
            Ok(queue) => queue,
            Err(TryLockError::WouldBlock) => return 0,
            Err(TryLockError::Poisoned(_)) => panic!("a panic under the lock of a shard"),
        };
        let found = self.store.map.get_key_value(&InCell { hash, cell }, &self.guard);
        let Some((Entry(old), ())) = found else { return 0 };
        if let Some(reason) = self.store.gone(old, self.now) {
            self.count_reclaimed(old, reason);
            let bytes = self.unlink(&mut queue, old);
            self.store.hands.tell(shard, &queue);
            return bytes;
        }
        let Some(copy) = old.copy(&self.store.arena) else { return 0 };
        drop(queue.replace(old.place(), copy.share()));
        let bytes = old.size();
        self.store.map.insert(Entry(copy), (), &self.guard);
        bytes
    }
}
