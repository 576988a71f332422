//! Items: each in one or several cells, with a count and a text that already is the answer to a `get`.
//!
//! ```text
//!  ┌ Header ────────────────────────────────────────────┬ text ─────────────────────────────────────────────┐
//!  │ Cell │ count │ state, time, expiry, place, cas ... │ VALUE <key> <flags> <length>\r\n<data>\r\nEND\r\n │
//!  └──┬───┴─────────────────────────────────────────────┴───────────────────────────────────────────────────┘
//!     └─▶ Cell │ more of the text ─▶ ...
//! ```
//!
//! The first cell has the text up to the data at least. Each cell's share follows from the length. The text includes
//! the end of the answer, so that a retrieval of one key is answered in one piece.
//!
//! # Who owns an item when
//!
//! 1. A [`Draft`] has the only reference, while its data arrives. Both go if the connection ends.
//! 2. A linked item has two owners: the map and its shard's queue. A hit adds a connection's output.
//! 3. When it is unlinked, the queue's reference is put at once, the map's after the grace period: a thread that finds
//!    the item in the map under a guard finds it alive, and its get succeeds.
//! 4. The last put frees the memory without a grace period: the map no longer has the item.
//! 5. An item in a sparse block is replaced by a [copy](ItemRef::copy) elsewhere, and unlinked as in 3.
//!
//! After the link the text never changes. What changes is in atomics of the header, on the line that each hit writes
//! anyway for the count, stored under the shard's lock but for a hit's marks.

mod draft;

use std::ops::{Deref, Range};
use std::ptr::NonNull;

use tenure::count::{ReadSide, RefCount};
use tenure::sync::Arc;

use super::arena::{Arena, Cell, Pieces};
use super::classes::{Class, footprint};
use super::clock::Seconds;
use crate::handler::Output;
use crate::relaxed::Relaxed;
pub(super) use draft::{Draft, Recipe};

pub(super) const MOST_KEY: usize = 250;

/// Lets an item's count be put without a guard.
struct Unrevived;

// SAFETY: a get goes through a reference, or through the map under a guard, during which the map has a reference. So no
// thread revives an item without references: between the two operations of a last put no other thread puts it, and only
// that thread destroys it. Only items of this module are put with this witness.
unsafe impl ReadSide for Unrevived {}

pub(super) mod state {
    /// Hit since it was stored.
    pub(crate) const FETCHED: u32 = 1;
    /// Hit since the eviction's hand passed.
    pub(crate) const REFERENCED: u32 = 2;
    /// Invalidated by a client.
    pub(crate) const STALE: u32 = 4;
    /// A client was chosen to store a new value.
    pub(crate) const WON: u32 = 8;
    /// The key goes to clients in base64.
    pub(crate) const BINARY: u32 = 16;
    /// The upper bits count the flushes before it was stored, modulo their number.
    pub(crate) const FLUSH: u32 = 1 << 8;
    pub(crate) const FLUSHES: u32 = !(FLUSH - 1);
}

#[repr(C)]
struct Header<C> {
    cell: Cell,
    body: Body<C>,
}

pub(super) struct Body<C> {
    count: C,
    state: Relaxed<u32>,
    /// When it was stored or hit.
    time: Relaxed<u32>,
    pub(super) expiry: Relaxed<u32>,
    /// Its place in the shard's queue, whose lock guards this.
    pub(super) place: Relaxed<u32>,
    /// When it got that place, in stored values; wraps around.
    pub(super) since: Relaxed<u32>,
    pub(super) cas: Relaxed<u64>,
    pub(super) flags: u32,
    text: u32,
    data: u16,
    key: u8,
    pub(super) class: Class,
}

pub(super) const END: &[u8] = b"END\r\n";

pub(super) struct ItemRef<C: RefCount + 'static> {
    header: NonNull<Header<C>>,
}

// SAFETY: an item is immutable but for atomics, and any thread may free it: its arena locks.
unsafe impl<C: RefCount + 'static> Send for ItemRef<C> {}
// SAFETY: as for `Send`.
unsafe impl<C: RefCount + 'static> Sync for ItemRef<C> {}

impl<C: RefCount + 'static> Deref for ItemRef<C> {
    type Target = Body<C>;
    #[inline]
    fn deref(&self) -> &Body<C> {
        // SAFETY: this reference keeps the item, whose header `Draft::new` has written.
        unsafe { &self.header.as_ref().body }
    }
}

impl<C: RefCount + 'static> ItemRef<C> {
    #[inline]
    fn cells(text: usize) -> Pieces {
        Pieces::new(text, size_of::<Header<C>>(), size_of::<Cell>())
    }

    fn cell(&self) -> &Cell {
        // SAFETY: as in `deref`.
        unsafe { &self.header.as_ref().cell }
    }

    /// One from each cell: where, and how many bytes.
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)> + use<'_, C> {
        let mut cell: *mut Cell = self.header.as_ptr().cast();
        let mut before = size_of::<Header<C>>();
        Self::cells(self.text as usize).map(move |piece| {
            // SAFETY: the item has a cell for each piece, linked by `Draft::new`, with `before` bytes before its text.
            let (text, next) = unsafe { (cell.cast::<u8>().add(before), (*cell).next) };
            (cell, before) = (next, size_of::<Cell>());
            (text, piece.text)
        })
    }

    /// The text in the first cell.
    #[inline]
    fn front(&self) -> &[u8] {
        let text = self.text as usize;
        let len = match self.cell().next.is_null() {
            true => text,
            false => Self::cells(text).next().map_or(0, |piece| piece.text),
        };
        // SAFETY: the text follows the header, and the first cell has `len` bytes of it, all written before the draft
        // became a reference.
        unsafe { std::slice::from_raw_parts(self.header.as_ptr().add(1).cast(), len) }
    }

    fn text(&self, part: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        self.pieces().filter_map(move |(start, len)| {
            let from = part.start.max(at) - at;
            let to = part.end.min(at + len).saturating_sub(at);
            at += len;
            // SAFETY: the piece has `len` bytes, all written before the draft became a reference.
            let piece = unsafe { std::slice::from_raw_parts(start, len) };
            piece.get(from..to).filter(|part| !part.is_empty())
        })
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.front()["VALUE ".len()..][..usize::from(self.key)]
    }

    pub(super) fn hash(&self) -> u64 {
        self.cell().hash.get()
    }

    pub(super) fn has(&self, cell: NonNull<Cell>) -> bool {
        let mut one: *mut Cell = self.header.as_ptr().cast();
        while one != cell.as_ptr() {
            if one.is_null() {
                return false;
            }
            // SAFETY: a cell of this item, which this reference keeps.
            one = unsafe { (*one).next };
        }
        true
    }

    /// Where the data starts in the text. A line end of two bytes follows it.
    #[inline]
    pub(super) fn data_start(&self) -> usize {
        self.data.into()
    }

    pub(super) fn len(&self) -> usize {
        self.text as usize - self.data_start() - 2 - END.len()
    }

    pub(super) fn data(&self) -> impl Iterator<Item = &[u8]> {
        let start = self.data_start();
        self.text(start..start + self.len())
    }

    /// The data, if it is in one piece.
    pub(super) fn short_data(&self) -> Option<&[u8]> {
        self.front().get(self.data_start()..)?.get(..self.len())
    }

    /// The answer's first line, without its end.
    #[inline]
    pub(super) fn before_data(&self) -> &[u8] {
        &self.front()[..self.data_start() - 2]
    }

    pub(super) fn size(&self) -> usize {
        Self::cells(self.text as usize).map(|piece| Arena::size(piece.class)).sum()
    }

    pub(super) fn footprint(&self) -> usize {
        footprint(self.key.into(), self.flags, self.len())
    }

    /// What a tally counts.
    pub(super) fn sort(&self) -> (Class, usize) {
        (self.class, self.footprint())
    }

    #[inline]
    pub(super) fn state(&self) -> u32 {
        self.state.get()
    }

    /// Returns the old marks.
    pub(super) fn mark(&self, set: u32, clear: u32) -> u32 {
        self.state.update(|old| old & !clear | set)
    }

    /// Writes only what is new.
    #[inline]
    pub(super) fn hit(&self, now: Seconds) {
        const HIT: u32 = state::FETCHED | state::REFERENCED;
        if self.state() & HIT != HIT {
            self.state.set_bits(HIT);
        }
        self.set_time(now);
    }

    pub(super) fn time(&self) -> Seconds {
        self.time.get()
    }

    /// Never back: workers' clocks differ by a second, and an item must not look older than a flush.
    pub(super) fn set_time(&self, now: Seconds) {
        if now > self.time() {
            self.time.set(now);
        }
    }

    /// What `me` and `lru_crawler metadump` show.
    pub(super) fn facts(&self, expiry: i64, used: i64) -> String {
        let fetched = if self.state() & state::FETCHED != 0 { "yes" } else { "no" };
        let (cas, class, size) = (self.cas.get(), self.class.number(), self.size());
        format!("exp={expiry} la={used} cas={cas} fetch={fetched} cls={class} size={size}")
    }

    /// Moves the reference to an output, which sends the text from `start` on, with its end if `ends`.
    #[inline]
    pub(super) fn send(self, start: usize, ends: bool, output: &mut Output<Chunk<C>>) {
        let end = self.text as usize - if ends { 0 } else { END.len() };
        if self.cell().next.is_null() {
            let bytes = NonNull::from(&self.front()[..end]);
            return output.send(Chunk { _item: self, bytes }, start);
        }
        for bytes in self.text(start..end) {
            output.send(Chunk { _item: self.share(), bytes: NonNull::from(bytes) }, 0);
        }
    }

    /// A copy in other cells, not shared yet. `None` without memory.
    pub(super) fn copy(&self, arena: &Arc<Arena>) -> Option<Self> {
        let key = self.key();
        let (flags, expiry) = (self.flags, self.expiry.get());
        let (hash, len, state, number) = (self.hash(), self.len(), self.state(), self.cas.get());
        let recipe = Recipe { key, hash, flags, expiry, len, state, number };
        let mut draft = Draft::new(&recipe, arena)?;
        self.data().for_each(|piece| draft.write(piece));
        draft.write(b"\r\n");
        let copy = draft.finish();
        copy.set_time(self.time());
        copy.place.set(self.place.get());
        copy.since.set(self.since.get());
        Some(copy)
    }

    /// For a caller who owns a reference.
    pub(super) fn share(&self) -> Self {
        self.get().expect("an item with a reference is alive")
    }

    /// `None` if the item is dead. What a guard or a reference keeps is alive.
    #[inline]
    pub(super) fn get(&self) -> Option<Self> {
        self.count.get().is_acquired().then_some(Self { header: self.header })
    }
}

/// Bytes of an item that are sent.
pub struct Chunk<C: RefCount + 'static> {
    _item: ItemRef<C>,
    bytes: NonNull<[u8]>,
}

// SAFETY: the bytes never change, and the reference to their item keeps them.
unsafe impl<C: RefCount + 'static> Send for Chunk<C> {}
// SAFETY: as for `Send`.
unsafe impl<C: RefCount + 'static> Sync for Chunk<C> {}

impl<C: RefCount + 'static> AsRef<[u8]> for Chunk<C> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: a part of the item's text, which `_item` keeps.
        unsafe { self.bytes.as_ref() }
    }
}

impl<C: RefCount + 'static> Drop for ItemRef<C> {
    #[inline]
    fn drop(&mut self) {
        if self.count.put_by(|| Unrevived).is_last() {
            self.free();
        }
    }
}

impl<C: RefCount + 'static> ItemRef<C> {
    #[cold]
    fn free(&mut self) {
        // SAFETY: the last reference was put: no other thread has the item, and nothing uses it after this.
        unsafe {
            (&raw mut (*self.header.as_ptr()).body).drop_in_place();
            Self::put_cells(self.header.cast());
        }
    }

    /// # Safety
    ///
    /// The caller owns the item's cells, from the first one on, and no longer uses them.
    unsafe fn put_cells(first: NonNull<Cell>) {
        let (mut next, mut begins) = (Some(first), true);
        while let Some(cell) = next {
            // SAFETY: the caller owns the cell, and it is read before it is given back.
            unsafe {
                next = NonNull::new(cell.as_ref().next);
                Arena::put(cell, begins);
            }
            begins = false;
        }
    }
}

#[cfg(test)]
mod tests;
