//! Keeps the memory of items near the limit: items leave nearly empty blocks.

use std::ptr::NonNull;

use tenure::count::RefCount;

use super::key::InCell;
use super::{Entry, Visit};
use crate::memcached::arena::Cell;
use crate::process::return_to_system;

/// Blocks emptied for each new one. With [`SPARE`] it bounds the bytes copied for each stored byte: where all blocks
/// are equally full, sixteen are emptied to gain one.
const BLOCKS: usize = 20;

/// Blocks emptied once a second: what was unlinked goes late where threads wait for a CPU, and then no new block is
/// taken for it. 8 MiB, a few milliseconds.
const BLOCKS_A_SECOND: usize = 128;

/// The limit's part that free cells of used blocks may take.
const SPARE: u64 = 16;

/// Bytes of the map's table for an item. It shrinks late and slowly.
const SLOT: u64 = 24;

/// The map of so few items is not worth a trim.
const FEW: u64 = 4096;

/// The map of more items grows and shrinks with their changes alone: to copy its table at once takes over 10 ms.
const MANY: u64 = 1 << 19;

/// After so many seconds the collector has freed what a trim came too early for.
const FREED_AFTER: u32 = 3;

/// Most bytes that go back to the system at once: 4,096 calls.
const GIVEN: u64 = 256 << 20;

impl<C: RefCount + 'static> Visit<'_, C> {
    /// After a block was taken.
    #[cold]
    pub(super) fn tidy(&self) {
        self.empty_blocks(BLOCKS);
    }

    /// Empties up to `most` blocks.
    fn empty_blocks(&self, most: usize) {
        self.trim_index();
        let arena = &self.store.arena;
        let mut cells = Vec::new();
        let mut unlinked = 0;
        for _ in 0..most {
            if arena.spare() <= self.store.limit() / SPARE || !arena.sparse(&mut cells) {
                break;
            }
            unlinked +=
                cells.drain(..).map(|(hash, cell)| self.move_item(hash, cell)).sum::<usize>();
        }
        let items = self.store.len() as u64;
        let most = self.store.most_ever.update(|most| most.max(items)).max(items);
        self.store.spare.set(arena.spare() + (most - items) * SLOT);
        self.add_unlinked(unlinked);
    }

    /// The system had no memory: evicts items, for the next and for what is not an item.
    #[cold]
    pub(super) fn give_way(&self) {
        self.store.lower_room();
        let evicted = self.make_room(None);
        self.add_unlinked(evicted);
        self.settle();
    }

    /// The allocator gives back the map's memory once half of the items are gone. It would keep such small pieces: half
    /// of the limit where values grow from 50 bytes to a megabyte.
    fn trim_index(&self) {
        let items = self.store.len() as u64;
        let most = self.store.most_items.update(|most| most.max(items));
        // Only the thread that lowers it trims.
        if items < most / 2 && most > FEW && self.store.most_items.replace(most, items) {
            self.store.trims_until.set(self.now + FREED_AFTER);
            return_to_system();
        }
    }

    /// Has the map complete a change of its size. Until then it keeps two tables, and entries unlinked meanwhile.
    pub(super) fn settle_index(&self) {
        // Iterating does it.
        let _ = self.store.map.iter(&self.guard).next();
    }

    /// Once a second: enforces a lowered limit without a store, and returns unused memory.
    pub(crate) fn keep_house(&self) {
        let evicted = self.make_room(None);
        self.add_unlinked(evicted);
        if self.store.most_ever.get() <= MANY {
            self.settle_index();
        }
        self.empty_blocks(BLOCKS_A_SECOND);
        self.settle();
        if self.now <= self.store.trims_until.get() {
            return_to_system();
        }
        let kept = self.store.raise_room();
        self.store.arena.give_back(kept, GIVEN);
    }

    /// Copies the linked item that has a cell to other cells. Returns the unlinked bytes.
    fn move_item(&self, hash: u64, cell: NonNull<Cell>) -> usize {
        let shard = self.store.shard(hash);
        // Without waiting: the caller may hold it, or another one.
        let Some(mut queue) = self.store.try_lock(shard) else { return 0 };
        let found = self.store.map.get_key_value(&InCell { hash, cell }, &self.guard);
        let Some((Entry(old), ())) = found else { return 0 };
        if let Some(reason) = self.store.gone(old, self.now) {
            self.count_reclaimed(old, reason);
            let bytes = self.unlink(&mut queue, old);
            self.store.hands.note(shard, &queue);
            return bytes;
        }
        let Some(copy) = old.copy(&self.store.arena) else { return 0 };
        drop(queue.replace(old.place.get(), copy.share()));
        let bytes = old.size();
        self.store.map.insert(Entry(copy), (), &self.guard);
        bytes
    }
}
