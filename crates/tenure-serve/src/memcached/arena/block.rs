//! A block of the arena: its head, and its used cells.

use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

use super::Arena;
use super::sizes::{BLOCK, HEAD, MOST_CELLS, SIZES, cells};
use crate::relaxed::Relaxed;

/// The start of every cell in use.
#[repr(C)]
pub(crate) struct Cell {
    /// The hash of its item, written under the lock of its class when the cell is taken.
    pub(crate) hash: Relaxed<u64>,
    /// The item's next cell, written before the item is shared.
    pub(crate) next: *mut Cell,
}

/// Lies at a multiple of [`BLOCK`], so that each cell leads to it.
#[repr(C)]
pub(super) struct Block {
    /// A reference from `Arc::into_raw`.
    pub(super) arena: *const Arena,
    pub(super) class: usize,
    /// Guarded by the lock of the class.
    state: UnsafeCell<State>,
}

pub(super) struct State {
    pub(super) used: usize,
    /// The list it is in.
    pub(super) level: usize,
    pub(super) before: *mut Block,
    pub(super) after: *mut Block,
    taken: [u64; MOST_CELLS.div_ceil(64)],
}

const _: () = assert!(size_of::<Block>() <= HEAD && HEAD.is_multiple_of(16));

impl Block {
    /// Makes memory a block without used cells.
    ///
    /// # Safety
    ///
    /// `memory` is a whole block, which only the caller has.
    pub(super) unsafe fn init(memory: NonNull<Block>, arena: *const Arena, class: usize) {
        let state = State {
            used: 0,
            level: usize::MAX,
            before: ptr::null_mut(),
            after: ptr::null_mut(),
            taken: [0; MOST_CELLS.div_ceil(64)],
        };
        // SAFETY: the caller's own whole block, aligned to its size.
        unsafe { memory.write(Self { arena, class, state: UnsafeCell::new(state) }) };
    }

    pub(super) fn of(cell: NonNull<Cell>) -> NonNull<Self> {
        let start = cell.as_ptr().map_addr(|address| address & !(BLOCK - 1));
        // SAFETY: no block begins at 0, which no mapping contains.
        unsafe { NonNull::new_unchecked(start.cast()) }
    }

    /// # Safety
    ///
    /// The block is in use, the caller holds the lock of its class, and no other reference from this function is live.
    pub(super) unsafe fn state<'a>(block: NonNull<Self>) -> &'a mut State {
        // SAFETY: the caller says that the block is in use, and its lock keeps other threads away.
        unsafe { &mut *block.as_ref().state.get() }
    }

    pub(super) fn cell(block: NonNull<Self>, class: usize, index: usize) -> NonNull<Cell> {
        debug_assert!(index < cells(class));
        // SAFETY: inside the block, which has that many cells behind its head.
        unsafe { block.cast::<u8>().add(HEAD + index * SIZES[class]).cast() }
    }

    pub(super) fn index(cell: NonNull<Cell>, class: usize) -> usize {
        ((cell.addr().get() & (BLOCK - 1)) - HEAD) / SIZES[class]
    }
}

impl State {
    /// There must be a free cell.
    pub(super) fn take(&mut self) -> usize {
        let free = self.taken.iter().position(|word| *word != u64::MAX);
        let word = free.expect("a block in a list has a free cell");
        let bit = self.taken[word].trailing_ones() as usize;
        self.taken[word] |= 1 << bit;
        self.used += 1;
        word * 64 + bit
    }

    pub(super) fn put(&mut self, index: usize) {
        let bit = 1 << (index % 64);
        debug_assert!(self.taken[index / 64] & bit != 0, "a cell is given back once");
        self.taken[index / 64] &= !bit;
        self.used -= 1;
    }

    pub(super) fn taken(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at * 64 + bit)
        };
        self.taken.iter().enumerate().flat_map(bits)
    }
}
