//! The memory of items: equal blocks, each cut into cells of one size.
//!
//! ```text
//!  Block ┌ head ┬ cell ┬ cell ┬ cell ┬ ... ┐      an item: one cell, or several that are linked
//!        │ class│ item │ free │ item │     │
//!        └──────┴──────┴──────┴──────┴─────┘
//! ```
//!
//! A cache of 64 MiB takes little more than that from the system, however the sizes of its values shift. All blocks
//! have one size, so a free one serves every class; an item longer than a quarter of a block takes several cells. The
//! store moves items out of blocks with few used cells, which [`sparse`](Arena::sparse) names.
//!
//! # Rules
//!
//! 1. The lock of a class guards its blocks' lists and heads. No other lock is taken under it.
//! 2. A cell in use belongs to the thread that took it, but for its hash: that is written and read under the lock of
//!    the class, so that [`sparse`](Arena::sparse) finds a block's items without references to them.
//! 3. A block in use has a reference to the arena, so that an item may outlive the store.

mod block;
mod sizes;
mod system;

use std::ptr::{self, NonNull};

use tenure::line::Isolated;
use tenure::sync::Arc;

use crate::lock::Lock;
use crate::relaxed::Relaxed;
use block::Block;
pub(crate) use block::Cell;
pub(crate) use sizes::Pieces;
use sizes::{BLOCK, CLASSES, SIZES, cells};
use system::Blocks;

/// Lists of blocks with free cells, by fullness.
const LEVELS: usize = 8;

const SPARSE: usize = LEVELS;

/// The level of blocks in no list.
const FULL: usize = LEVELS + 1;

struct Class {
    lists: Lock<Lists>,
    // Written under the lock.
    live: Relaxed<u64>,
    /// Items that begin in these cells.
    items: Relaxed<u64>,
    /// Free cells, without those of sparse blocks.
    spare: Relaxed<u64>,
}

struct Lists {
    heads: [*mut Block; LEVELS + 1],
}

// SAFETY: the lists are inside the lock of their class, which guards the blocks too.
unsafe impl Send for Lists {}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Blocks with cells in use.
    pub(crate) blocks: u64,
    /// Blocks kept for later.
    pub(crate) free: u64,
    pub(crate) live: u64,
    pub(crate) items: u64,
}

pub(crate) struct Arena {
    classes: Box<[Isolated<Class>]>,
    blocks: Lock<Blocks>,
    /// Blocks ever taken, or refused by the system. The lock of `blocks` guards this and `used`.
    taken: Relaxed<u64>,
    used: Relaxed<u64>,
}

/// A lock guards the counter.
fn add(counter: &Relaxed<u64>, count: i64) {
    counter.count(count as u64);
}

impl Lists {
    /// # Safety
    ///
    /// The block is in use, of this class, and in no list.
    unsafe fn insert(&mut self, block: NonNull<Block>, level: usize) {
        // SAFETY: `self` is inside the lock that guards the block.
        let state = unsafe { Block::state(block) };
        state.level = level;
        if level == FULL {
            return;
        }
        (state.before, state.after) = (ptr::null_mut(), self.heads[level]);
        if let Some(next) = NonNull::new(self.heads[level]) {
            // SAFETY: as above, for another block of the list.
            unsafe { Block::state(next) }.before = block.as_ptr();
        }
        self.heads[level] = block.as_ptr();
    }

    /// # Safety
    ///
    /// The block is in use, of this class, and in the list of its level.
    unsafe fn remove(&mut self, block: NonNull<Block>) {
        // SAFETY: `self` is inside the lock that guards the block.
        let state = unsafe { Block::state(block) };
        let (level, before, after) = (state.level, state.before, state.after);
        if level == FULL {
            return;
        }
        match NonNull::new(before) {
            // SAFETY: as above, for another block of the list.
            Some(before) => unsafe { Block::state(before) }.after = after,
            None => self.heads[level] = after,
        }
        if let Some(after) = NonNull::new(after) {
            // SAFETY: as above, for another block of the list.
            unsafe { Block::state(after) }.before = before;
        }
    }

    /// # Safety
    ///
    /// The block is in use, of this class, and in the list of its level.
    unsafe fn sort(&mut self, block: NonNull<Block>, class: usize) {
        // SAFETY: `self` is inside the lock that guards the block.
        let state = unsafe { Block::state(block) };
        let cells = cells(class);
        let level = if state.used == cells { FULL } else { state.used * LEVELS / cells };
        if level != state.level {
            // SAFETY: it is in the list of its level; removed, it is in none.
            unsafe {
                self.remove(block);
                self.insert(block, level);
            }
        }
    }
}

impl Class {
    fn new() -> Self {
        Self {
            lists: Lock::new(Lists { heads: [ptr::null_mut(); LEVELS + 1] }),
            live: Relaxed::default(),
            items: Relaxed::default(),
            spare: Relaxed::default(),
        }
    }

    fn take(
        &self,
        lists: &mut Lists,
        class: usize,
        hash: u64,
        begins: bool,
    ) -> Option<NonNull<Cell>> {
        let fullest = (0..LEVELS).rev().chain([SPARSE]);
        let block = fullest.map(|level| lists.heads[level]).find_map(NonNull::new)?;
        // SAFETY: it was found in a list, of blocks with free cells.
        Some(unsafe { self.take_from(block, lists, class, hash, begins) })
    }

    /// # Safety
    ///
    /// The block is in one of the lists, which are those of this class, and has a free cell.
    unsafe fn take_from(
        &self,
        block: NonNull<Block>,
        lists: &mut Lists,
        class: usize,
        hash: u64,
        begins: bool,
    ) -> NonNull<Cell> {
        // SAFETY: the lock of the class is held, and blocks in its lists are in use.
        let state = unsafe { Block::state(block) };
        let spare = match state.level {
            SPARSE => (cells(class) - state.used) as i64 - 1,
            _ => -1,
        };
        let cell = Block::cell(block, class, state.take());
        // SAFETY: the caller says that the block is in a list: that of its level.
        unsafe { lists.sort(block, class) };
        add(&self.spare, spare);
        add(&self.live, 1);
        add(&self.items, begins.into());
        // SAFETY: the cell was free, and now belongs to the caller.
        unsafe { cell.write(Cell { hash: Relaxed::new(hash), next: ptr::null_mut() }) };
        cell
    }
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self {
            classes: (0..CLASSES).map(|_| Isolated::new(Class::new())).collect(),
            blocks: Lock::new(Blocks::new()),
            taken: Relaxed::default(),
            used: Relaxed::default(),
        }
    }

    #[inline]
    pub(crate) const fn size(class: usize) -> usize {
        SIZES[class]
    }

    /// `None` without memory. `begins` for an item's first cell.
    pub(crate) fn take(
        arena: &Arc<Self>,
        class: usize,
        hash: u64,
        begins: bool,
    ) -> Option<NonNull<Cell>> {
        let blocks = &arena.classes[class];
        if let Some(cell) = blocks.take(&mut blocks.lists.lock(), class, hash, begins) {
            return Some(cell);
        }
        let block = {
            let mut free = arena.blocks.lock();
            add(&arena.taken, 1);
            let block = free.take()?;
            add(&arena.used, 1);
            block
        };
        // SAFETY: a whole block, which only this thread has. The reference becomes the block's; `put` takes it back.
        unsafe { Block::init(block, Arc::into_raw(arena.clone()), class) };
        let mut lists = blocks.lists.lock();
        // SAFETY: it is in use now, of this class, and in no list.
        unsafe { lists.insert(block, 0) };
        add(&blocks.spare, cells(class) as i64);
        // From this block, even if another has a free cell by now: a block is only given back with its last cell.
        // SAFETY: it has just been inserted, with all cells free.
        Some(unsafe { blocks.take_from(block, &mut lists, class, hash, begins) })
    }

    /// # Safety
    ///
    /// The caller owns the cell and no longer uses it. `begins` is as in [`take`](Self::take).
    pub(crate) unsafe fn put(cell: NonNull<Cell>, begins: bool) {
        let block = Block::of(cell);
        // SAFETY: a block with a used cell is in use: its class stays, and its reference keeps the arena.
        let (class, arena, blocks) = unsafe {
            let Block { class, arena, .. } = *block.as_ref();
            (class, arena, &(&*arena).classes[class])
        };
        if cfg!(debug_assertions) {
            // Makes late reads visible.
            let bytes = SIZES[class] - size_of::<Cell>();
            // SAFETY: the rest of the cell, which the caller owns.
            unsafe { cell.add(1).cast::<u8>().write_bytes(0xDD, bytes) };
        }
        let mut lists = blocks.lists.lock();
        // SAFETY: the lock of the class is held, and the block is in use.
        let state = unsafe { Block::state(block) };
        state.put(Block::index(cell, class));
        let is_sparse = state.level == SPARSE;
        let is_empty = state.used == 0;
        add(&blocks.live, -1);
        add(&blocks.items, -i64::from(begins));
        if is_empty {
            // SAFETY: in the list of its level.
            unsafe { lists.remove(block) };
        } else if !is_sparse {
            // SAFETY: in the list of its level.
            unsafe { lists.sort(block, class) };
        }
        if !is_sparse {
            add(&blocks.spare, if is_empty { 1 - cells(class) as i64 } else { 1 });
        }
        drop(lists);
        if is_empty {
            // SAFETY: the block's reference from `take`. No cell is in use, and no list has the block.
            let arena = unsafe { Arc::from_raw(arena) };
            let mut free = arena.blocks.lock();
            free.put(block);
            add(&arena.used, -1);
            drop(free);
        }
    }

    /// Bytes of free cells, without those of sparse blocks.
    pub(crate) fn spare(&self) -> u64 {
        self.sum(|class, of| of.spare.get() * SIZES[class] as u64)
    }

    fn sum(&self, of: impl Fn(usize, &Class) -> u64) -> u64 {
        self.classes.iter().enumerate().map(|(class, blocks)| of(class, blocks)).sum()
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Whether memory was short since the last call.
    pub(crate) fn take_shortage(&self) -> bool {
        self.blocks.lock().take_shortage()
    }

    /// Gives up to `most` bytes of free blocks back to the system; keeps `kept`.
    pub(crate) fn give_back(&self, kept: u64, most: u64) {
        let blocks = |bytes: u64| usize::try_from(bytes / BLOCK as u64).unwrap_or(usize::MAX);
        let (kept, mut most) = (blocks(kept), blocks(most));
        while most > 0 {
            // A few under each lock: others want blocks.
            let given = self.blocks.lock().give_back(kept, most.min(16));
            if given == 0 {
                return;
            }
            most -= given;
        }
    }

    pub(crate) fn live(&self) -> u64 {
        self.sum(|class, of| of.live.get() * SIZES[class] as u64)
    }

    pub(crate) fn items(&self) -> u64 {
        self.sum(|_, of| of.items.get())
    }

    pub(crate) fn figures(&self) -> Figures {
        let free = self.blocks.lock().free();
        let blocks = self.used.get() * BLOCK as u64;
        Figures { blocks, free: (free * BLOCK) as u64, live: self.live(), items: self.items() }
    }

    /// Finds the emptiest block of the class with the most free cells, and puts its used cells, with their items'
    /// hashes, into `found`. From then on it is used last. `false` if no class can spare a block.
    pub(crate) fn sparse(&self, found: &mut Vec<(u64, NonNull<Cell>)>) -> bool {
        let spare = |class: usize| self.classes[class].spare.get();
        let could = (0..CLASSES).filter(|class| spare(*class) >= cells(*class) as u64);
        let Some(class) = could.max_by_key(|class| spare(*class) * SIZES[*class] as u64) else {
            return false;
        };
        if found.try_reserve(cells(class)).is_err() {
            return false;
        }
        let blocks = &self.classes[class];
        let mut lists = blocks.lists.lock();
        let emptiest = (0..LEVELS).map(|level| lists.heads[level]).find_map(NonNull::new);
        let Some(block) = emptiest.filter(|_| spare(class) >= cells(class) as u64) else {
            return false;
        };
        // SAFETY: the lock is held, and the block is in the list of its level; removed, it is in none.
        let state = unsafe {
            lists.remove(block);
            lists.insert(block, SPARSE);
            Block::state(block)
        };
        add(&blocks.spare, -((cells(class) - state.used) as i64));
        found.extend(state.taken().map(|index| {
            let cell = Block::cell(block, class, index);
            // SAFETY: a cell in use: its hash was written under this lock, under which it is given back.
            (unsafe { &(*cell.as_ptr()).hash }.get(), cell)
        }));
        true
    }
}

// SAFETY: locks guard all that is not atomic.
unsafe impl Sync for Arena {}
// SAFETY: as for `Sync`.
unsafe impl Send for Arena {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_in_use_stays_near_what_is_needed_however_sizes_shift() {
        let arena = Arc::new(Arena::new());
        let mut last = Vec::new();
        for class in (0..CLASSES).chain((0..CLASSES).rev()) {
            let count = (1 << 20) / SIZES[class];
            let mut cells: Vec<_> =
                (0..count).map(|at| Arena::take(&arena, class, at as u64, true).unwrap()).collect();
            for cell in last.drain(..) {
                // SAFETY: taken in the round before.
                unsafe { Arena::put(cell, true) };
            }
            let Figures { blocks, free, live, items } = arena.figures();
            assert_eq!((live, items), ((count * SIZES[class]) as u64, count as u64));
            assert!(blocks <= live + live / 32 + BLOCK as u64, "{blocks} for {live}");
            assert!(free <= 4 << 20);
            last.append(&mut cells);
        }
        let weak = Arc::downgrade(&arena);
        drop(arena);
        assert!(weak.upgrade().is_some(), "kept by its cells");
        for cell in last {
            // SAFETY: as above.
            unsafe { Arena::put(cell, true) };
        }
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn a_cell_that_comes_back_while_a_block_is_taken_leaves_no_empty_block() {
        let class = 10;
        let took_a_block = || {
            let arena = Arc::new(Arena::new());
            let take = || Arena::take(&arena, class, 1, true).unwrap();
            // SAFETY: each cell was taken, and is given back once.
            let put = |cell| unsafe { Arena::put(cell, true) };
            let mut full: Vec<_> = (0..cells(class)).map(|_| take()).collect();
            std::thread::scope(|scope| {
                let blocks = arena.blocks.lock();
                scope.spawn(|| put(take()));
                // By now it has found no free cell, and waits for a block.
                std::thread::sleep(std::time::Duration::from_millis(20));
                full.pop().map(put);
                drop(blocks);
            });
            full.into_iter().for_each(put);
            assert_eq!((arena.figures().blocks, arena.spare()), (0, 0));
            arena.taken() == 2
        };
        assert!((0..100).any(|_| took_a_block()));
    }

    #[test]
    fn a_sparse_block_is_named_and_used_last() {
        let arena = Arc::new(Arena::new());
        let class = 10;
        let all: Vec<_> = (0..3 * cells(class) as u64)
            .map(|hash| (hash, Arena::take(&arena, class, hash, true).unwrap()))
            .collect();
        let mut found = Vec::new();
        assert!(!arena.sparse(&mut found), "all are full");
        // Two cells of the second block stay, and three of four of the others.
        let block = Block::of(all[cells(class)].1);
        let (kept, given): (Vec<_>, Vec<_>) = all.into_iter().partition(|(hash, cell)| {
            if Block::of(*cell) == block { hash % 100 == 0 } else { hash % 4 != 0 }
        });
        for (_, cell) in given {
            // SAFETY: taken above.
            unsafe { Arena::put(cell, true) };
        }
        assert!(arena.sparse(&mut found));
        assert!(found.iter().all(|(_, cell)| Block::of(*cell) == block));
        assert!(found.iter().all(|one| kept.contains(one)) && !found.is_empty());
        let again = Arena::take(&arena, class, 7, true).unwrap();
        assert!(Block::of(again) != block, "there is room elsewhere");
        for cell in kept.into_iter().map(|(_, cell)| cell).chain([again]) {
            // SAFETY: as above.
            unsafe { Arena::put(cell, true) };
        }
        assert_eq!((arena.figures().blocks, arena.spare()), (0, 0));
        arena.give_back(0, u64::MAX);
        assert_eq!(arena.figures().free, 0);
    }

    proptest! {
        #[test]
        fn cells_are_distinct_and_all_come_back(
            steps in proptest::collection::vec((0..CLASSES, any::<prop::sample::Index>(), 0..4_u8), 1..400)
        ) {
            let arena = Arc::new(Arena::new());
            let mut taken: Vec<(usize, NonNull<Cell>)> = Vec::new();
            let mut found = Vec::new();
            for (class, index, kind) in steps {
                match kind {
                    0 if !taken.is_empty() => {
                        let (_, cell) = taken.swap_remove(index.index(taken.len()));
                        // SAFETY: taken, and not given back yet.
                        unsafe { Arena::put(cell, true) };
                    }
                    1 => {
                        found.clear();
                        let _ = arena.sparse(&mut found);
                        prop_assert!(found.iter().all(|(_, cell)| taken.iter().any(|one| one.1 == *cell)));
                    }
                    _ => taken.push((class, Arena::take(&arena, class, 1, true).unwrap())),
                }
                let bytes: u64 = taken.iter().map(|(class, _)| SIZES[*class] as u64).sum();
                prop_assert_eq!((arena.live(), arena.items()), (bytes, taken.len() as u64));
            }
            let mut places: Vec<_> = taken.iter().map(|(class, cell)| (cell.addr().get(), SIZES[*class])).collect();
            places.sort_unstable();
            prop_assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            for (_, cell) in taken {
                // SAFETY: as above.
                unsafe { Arena::put(cell, true) };
            }
            prop_assert_eq!((arena.figures().blocks, arena.spare()), (0, 0));
        }
    }
}
