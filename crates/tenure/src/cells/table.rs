//! [`Table`]: a cell for each thread and index, and the indices.

use crate::cache_line::CachePadded;
use crate::memory::{Atomic, Memory, Native, Ordering, Pointer, Threads, by_register};
use crate::pool::list::{Linked, Stack};
use crate::segments::{CAPACITY, Segments, Spot};
use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::{self, NonNull};

/// The cells of this process.
pub(crate) static CELLS: Table<Native> = Table::native();

/// Cells by thread and index.
pub struct Table<M: Memory> {
    /// Each thread's cells, by its number, or null.
    threads: Segments<M::Pointer<Row<M>>, M>,
    nodes: Nodes<M>,
    free: CachePadded<Stack<M>>,
    /// Indices that were ever in use.
    used: CachePadded<M::AtomicU32>,
}

/// The cells of a thread, on lines of their own.
type Row<M> = CachePadded<Segments<<M as Memory>::AtomicU64, M>>;

struct Nodes<M: Memory>(Segments<CachePadded<Node<M>>, M>);

/// The part of a count that all threads share. Its memory outlives the count.
pub(crate) struct Node<M: Memory> {
    /// Not written while the count lives.
    pub(crate) state: M::AtomicU32,
    /// The link in the stack of free indices.
    link: M::AtomicU32,
    /// What is not in cells, less what was taken of them.
    pub(crate) rest: M::AtomicU64,
}

/// An index, the caller's until it [returns](Table::release) it.
pub(crate) struct Place<M: Memory> {
    pub(crate) spot: Spot,
    pub(crate) node: NonNull<Node<M>>,
}

impl<M: Memory> Node<M> {
    fn new() -> Self {
        Self { state: Atomic::new(0), link: Atomic::new(0), rest: Atomic::new(0) }
    }
}

impl<M: Memory> Linked<M> for Nodes<M> {
    fn link(&self, index: u32) -> &M::AtomicU32 {
        &self.0.get(index).expect("it was in use").link
    }
}

impl Table<Native> {
    /// The cells of this process.
    #[must_use]
    pub fn global() -> &'static Self {
        &CELLS
    }

    const fn native() -> Self {
        Self {
            threads: Segments::native(),
            nodes: Nodes(Segments::native()),
            free: Stack::native(),
            used: CachePadded::new(<Native as Memory>::AtomicU32::new(0)),
        }
    }
}

impl<M: Threads> Table<M> {
    /// A table without cells.
    #[must_use]
    pub fn new_in() -> Self {
        Self {
            threads: Segments::new(),
            nodes: Nodes(Segments::new()),
            free: Stack::isolated(),
            used: CachePadded::new(Atomic::new(0)),
        }
    }

    /// An index whose cells, state and rest are 0.
    ///
    /// # Panics
    ///
    /// If 2^28 - 8 are in use.
    pub(crate) fn acquire(&self) -> Place<M> {
        let index = self.free.pop(&self.nodes).unwrap_or_else(|| {
            // Relaxed, here and below: only a number. The look comes first so that no number of panics wraps it around.
            assert!(self.used.load(Ordering::Relaxed) < CAPACITY, "too many counts");
            self.used.fetch_add(1, Ordering::Relaxed)
        });
        let node = self.nodes.0.get_or_grow(index, |_| CachePadded::new(Node::new()));
        Place { spot: Spot::of(index), node: NonNull::from(&**node) }
    }

    /// The node of a place that was acquired.
    pub(crate) fn node(&self, spot: Spot) -> &Node<M> {
        self.nodes.0.at(spot).expect("it was acquired")
    }

    /// Whether a place belongs to this table, as far as can be told: a plugin with its own copy of the library has another
    /// [`CELLS`]. For slow paths.
    pub(crate) fn may_have(&self, spot: Spot, node: NonNull<Node<M>>) -> bool {
        let found = || self.nodes.0.at(spot).map(|found| NonNull::from(&**found));
        !self.is_at_hand() || found() == Some(node)
    }

    /// Gives a place back. The caller owns it, has made its cells, state and rest 0, and no thread uses them any more.
    pub(crate) fn release(&self, spot: Spot) {
        let is_open = self.free.push(spot.index(), &self.nodes).is_ok();
        debug_assert!(is_open, "only pools close their stacks");
    }

    /// Whether a thread has its row at hand.
    #[inline(always)]
    fn is_at_hand(&self) -> bool {
        // Known to the compiler where `self` is.
        ptr::addr_eq(self, &raw const CELLS)
    }

    /// The calling thread's cell, if it has one.
    #[inline(always)]
    pub(crate) fn own(&self, spot: Spot) -> Option<&M::AtomicU64> {
        let row = if self.is_at_hand() {
            M::numbered_word(Cell::get)?.cast::<Row<M>>()
        } else {
            // Relaxed: stored by this thread, or by one that had its number before.
            self.threads.get(M::thread()? as u32)?.load(Ordering::Relaxed).cast_const()
        };
        // SAFETY: null, or a row of this table, which lives as long: only `own_or_grow` sets the word, for `CELLS`.
        unsafe { row.as_ref() }?.at(spot).map(by_register)
    }

    /// The calling thread's cell. `None` if it has no number.
    pub(crate) fn own_or_grow(&self, spot: Spot) -> Option<&M::AtomicU64> {
        let thread = u32::try_from(M::thread()?).ok().filter(|&thread| thread < CAPACITY)?;
        let place = self.threads.get_or_grow(thread, |_| Pointer::new(ptr::null_mut()));
        // Relaxed: as in `own`.
        let mut row = place.load(Ordering::Relaxed);
        if row.is_null() {
            let new = Box::new(CachePadded::new(Segments::new()));
            // Again: the allocator may have come here, and given this thread a row.
            row = place.load(Ordering::Relaxed);
            if row.is_null() {
                row = Box::into_raw(new);
                // Release: pairs with the Acquire in `all`: the row is initialised.
                place.store(row, Ordering::Release);
            }
        }
        if self.is_at_hand() {
            M::numbered_word(|word| word.set(row.cast_const().cast()));
        }
        // SAFETY: as in `own`.
        Some(unsafe { &*row }.get_or_grow(spot.index(), |_| Atomic::new(0)))
    }

    /// The cells of all threads that have one.
    pub(crate) fn all(&self, spot: Spot) -> impl Iterator<Item = &M::AtomicU64> {
        self.threads.snapshot().filter_map(move |(_, row)| {
            // Acquire: pairs with the Release in `own_or_grow`.
            let row = row.load(Ordering::Acquire);
            // SAFETY: as in `own`.
            unsafe { row.as_ref() }?.at(spot)
        })
    }
}

impl<M: Memory> Drop for Table<M> {
    fn drop(&mut self) {
        for (_, row) in self.threads.snapshot() {
            // Relaxed: no other thread has the table.
            let row = row.load(Ordering::Relaxed);
            if !row.is_null() {
                // SAFETY: from a box, by `own_or_grow`, and used through the table alone.
                drop(unsafe { Box::from_raw(row) });
            }
        }
    }
}

impl<M: Memory> core::fmt::Debug for Table<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Relaxed: a snapshot.
        f.debug_struct("Table")
            .field("used", &self.used.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
