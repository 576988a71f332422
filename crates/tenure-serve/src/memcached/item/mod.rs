//! Items: a cell each, or several if they are large, with a count, and already written as a `get` answers them.
//!
//! ```text
//!  ┌ Header ────────────────────────────────────────────┬ text ─────────────────────────────────────────────┐
//!  │ Cell │ count │ state, time, expiry, place, cas ... │ VALUE <key> <flags> <length>\r\n<data>\r\nEND\r\n │
//!  └──┬───┴─────────────────────────────────────────────┴───────────────────────────────────────────────────┘
//!     └─▶ Cell │ more of the text ─▶ ...
//! ```
//!
//! The first cell has the text up to the data at least. How much of the text each has follows from its length.
//!
//! The end of the answer is part of it, so that the answer to a retrieval of one key is one piece.
//!
//! # Who owns an item when
//!
//! 1. A [`Draft`] has the only reference, while its data comes in from a connection. If the connection ends,
//!    the draft is dropped and the item is gone.
//! 2. Linked, an item has two owners: the map and the queue of its shard. A hit adds the output of a connection.
//! 3. Unlinked, the queue's reference is given back at once. The map's is when the grace period is over:
//!    so whoever finds an item in the map while it holds a guard finds it alive, and its get succeeds.
//! 4. Whoever gives the last reference back frees the memory, in most cases at once. No grace period is needed: nobody
//!    finds the item any more.
//! 5. An item whose block is sparse is replaced by a [copy](ItemRef::copy) elsewhere, and is unlinked as in 3.
//!
//! After the link the text never changes. What changes is in atomics of the header, on the line that each hit writes
//! anyway because the count is there. Stores to them are made under the lock of the shard, but for the marks of a hit.

mod draft;

use std::ops::Range;
use std::ptr::NonNull;

use tenure::count::{ReadSide, RefCount};
use tenure::memory::Ordering;
use tenure::sync::Arc;

use super::arena::{Arena, Cell, Pieces};
use super::classes::{Class, footprint};
use super::clock::Seconds;
use super::{AtomicU32, AtomicU64};
use crate::handler::Output;
pub(super) use draft::{Draft, Recipe};

/// Longest key.
pub(super) const MOST_KEY: usize = 250;

/// What makes a put of an item's count safe without a guard.
///
/// A get goes through a reference, or through the map with a guard, for whose length the map has a reference. So nobody
/// revives an item that has none left: between the two operations of a last put nobody else puts it, and nobody
/// but that thread is told to destroy it.
struct Unrevived;

// SAFETY: as said above, for the items of this module, and no other count is put with it.
unsafe impl ReadSide for Unrevived {}

/// Bits of an item's state.
pub(super) mod state {
    /// It was hit since it was stored.
    pub(crate) const FETCHED: u32 = 1;
    /// It was hit since the hand of the eviction came by.
    pub(crate) const REFERENCED: u32 = 2;
    /// A client has marked it as out of date.
    pub(crate) const STALE: u32 = 4;
    /// A client was told to store a new value.
    pub(crate) const WON: u32 = 8;
    /// The key is bytes, and goes to clients in base64.
    pub(crate) const BINARY: u32 = 16;
    /// The upper bits count the flushes, modulo their number, up to when it was stored.
    pub(crate) const FLUSH: u32 = 1 << 8;
    /// Those bits.
    pub(crate) const FLUSHES: u32 = !(FLUSH - 1);
}

/// The first bytes of an item, before its text.
#[repr(C)]
struct Header<C> {
    cell: Cell,
    body: Body<C>,
}

/// What an item has beside its text.
struct Body<C> {
    count: C,
    state: AtomicU32,
    /// When it was stored or hit.
    time: AtomicU32,
    expiry: AtomicU32,
    /// In the queue of the shard; of a meaning only under its lock.
    place: AtomicU32,
    /// When it came to that place, in values stored; wraps around.
    since: AtomicU32,
    cas: AtomicU64,
    flags: u32,
    /// Bytes of the text.
    text: u32,
    /// Where in the text the data starts.
    data: u16,
    key: u8,
    class: Class,
}

/// What ends the answer to a retrieval.
pub(super) const END: &[u8] = b"END\r\n";

/// A reference to an item.
pub(super) struct ItemRef<C: RefCount + 'static> {
    header: NonNull<Header<C>>,
}

// SAFETY: an item is immutable but for atomics, and may be freed by any thread.
unsafe impl<C: RefCount + 'static> Send for ItemRef<C> {}
// SAFETY: as above.
unsafe impl<C: RefCount + 'static> Sync for ItemRef<C> {}

impl<C: RefCount + 'static> ItemRef<C> {
    /// The cells of an item with so much text.
    #[inline]
    fn cells(text: usize) -> Pieces {
        Pieces::new(text, size_of::<Header<C>>(), size_of::<Cell>())
    }

    #[inline]
    fn header(&self) -> &Body<C> {
        // SAFETY: this is a reference, so the item is not freed, and its header was written when it was made.
        unsafe { &self.header.as_ref().body }
    }

    fn cell(&self) -> &Cell {
        // SAFETY: as above.
        unsafe { &self.header.as_ref().cell }
    }

    /// The pieces of the text, one from each cell: where they are, and how many bytes.
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)> + use<'_, C> {
        let mut cell: *mut Cell = self.header.as_ptr().cast();
        let mut before = size_of::<Header<C>>();
        Self::cells(self.header().text as usize).map(move |piece| {
            // SAFETY: the item has a cell for each piece, and the bytes of the piece follow what comes before the text.
            let text = unsafe { cell.cast::<u8>().add(before) };
            // SAFETY: as above; the link was written when the item was made.
            cell = unsafe { (*cell).next };
            before = size_of::<Cell>();
            (text, piece.text)
        })
    }

    /// The part of the text that lies in the first cell.
    #[inline]
    fn front(&self) -> &[u8] {
        let text = self.header().text as usize;
        let len = match self.cell().next.is_null() {
            true => text,
            false => Self::cells(text).next().map_or(0, |piece| piece.text),
        };
        // SAFETY: the text follows the header, in the same cell.
        let start = unsafe { self.header.as_ptr().add(1) };
        // SAFETY: the first cell has that much of it, and all was written before the draft became a reference.
        unsafe { std::slice::from_raw_parts(start.cast(), len) }
    }

    /// A part of the text, in as many pieces as it lies in.
    fn text(&self, part: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        self.pieces().filter_map(move |(start, len)| {
            let from = part.start.max(at) - at;
            let to = part.end.min(at + len).saturating_sub(at);
            at += len;
            // SAFETY: the piece has that many bytes, all written before the draft became a reference.
            let piece = unsafe { std::slice::from_raw_parts(start, len) };
            piece.get(from..to).filter(|part| !part.is_empty())
        })
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.front()["VALUE ".len()..][..usize::from(self.header().key)]
    }

    pub(super) fn hash(&self) -> u64 {
        // Relaxed: written before the draft became a reference.
        self.cell().hash.load(Ordering::Relaxed)
    }

    /// Whether a cell is one of this item.
    pub(super) fn has(&self, cell: NonNull<Cell>) -> bool {
        let mut one: *mut Cell = self.header.as_ptr().cast();
        while one != cell.as_ptr() {
            if one.is_null() {
                return false;
            }
            // SAFETY: a cell of this item, which is not freed.
            one = unsafe { (*one).next };
        }
        true
    }

    pub(super) fn flags(&self) -> u32 {
        self.header().flags
    }

    /// Where the data starts in the bytes. Behind it are two more for the end of the line.
    #[inline]
    pub(super) fn data_start(&self) -> usize {
        self.header().data.into()
    }

    /// Bytes of the data.
    pub(super) fn len(&self) -> usize {
        self.header().text as usize - self.data_start() - 2 - END.len()
    }

    /// The data, in as many pieces as it lies in.
    pub(super) fn data(&self) -> impl Iterator<Item = &[u8]> {
        let start = self.data_start();
        self.text(start..start + self.len())
    }

    /// The data, if it is so short that it is in one piece.
    pub(super) fn short_data(&self) -> Option<&[u8]> {
        self.front().get(self.data_start()..)?.get(..self.len())
    }

    /// What comes before the data, but for the end of that line.
    #[inline]
    pub(super) fn before_data(&self) -> &[u8] {
        &self.front()[..self.data_start() - 2]
    }

    /// Bytes of its cells.
    pub(super) fn size(&self) -> usize {
        Self::cells(self.header().text as usize).map(|piece| Arena::size(piece.class)).sum()
    }

    /// Its bytes as memcached counts them.
    pub(super) fn footprint(&self) -> usize {
        footprint(self.header().key.into(), self.flags(), self.len())
    }

    /// The class for its bytes.
    pub(super) fn class(&self) -> Class {
        self.header().class
    }

    /// Its class and its bytes: what a tally counts.
    pub(super) fn sort(&self) -> (Class, usize) {
        (self.class(), self.footprint())
    }

    #[inline]
    pub(super) fn state(&self) -> u32 {
        // Relaxed: marks; nothing is published through them.
        self.header().state.load(Ordering::Relaxed)
    }

    /// Clears marks, and sets others. Returns the marks from before.
    pub(super) fn mark(&self, set: u32, clear: u32) -> u32 {
        let mut old = self.state();
        loop {
            // Relaxed: as in `state`.
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            let new = old & !clear | set;
            match self.header().state.compare_exchange_weak(old, new, success, failure) {
                Ok(old) => return old,
                Err(found) => old = found,
            }
        }
    }

    /// Marks a hit. Writes only what is not so yet.
    #[inline]
    pub(super) fn hit(&self, now: Seconds) {
        const HIT: u32 = state::FETCHED | state::REFERENCED;
        if self.state() & HIT != HIT {
            // Relaxed: as in `state`.
            self.header().state.fetch_or(HIT, Ordering::Relaxed);
        }
        self.set_time(now);
    }

    pub(super) fn time(&self) -> Seconds {
        // Relaxed: a moment; nothing is published through it.
        self.header().time.load(Ordering::Relaxed)
    }

    /// Never back: workers whose rounds began in different seconds meet at an item, and one from before a flush would be over.
    pub(super) fn set_time(&self, now: Seconds) {
        if now > self.time() {
            // Relaxed: as in `time`.
            self.header().time.store(now, Ordering::Relaxed);
        }
    }

    pub(super) fn expiry(&self) -> Seconds {
        // Relaxed: as in `time`.
        self.header().expiry.load(Ordering::Relaxed)
    }

    pub(super) fn set_expiry(&self, expiry: Seconds) {
        // Relaxed: as in `time`.
        self.header().expiry.store(expiry, Ordering::Relaxed);
    }

    pub(super) fn cas(&self) -> u64 {
        // Relaxed: a number that is compared under the lock of the shard.
        self.header().cas.load(Ordering::Relaxed)
    }

    pub(super) fn set_cas(&self, cas: u64) {
        // Relaxed: as in `cas`.
        self.header().cas.store(cas, Ordering::Relaxed);
    }

    pub(super) fn place(&self) -> u32 {
        // Relaxed: read and written under the lock of the shard.
        self.header().place.load(Ordering::Relaxed)
    }

    pub(super) fn set_place(&self, place: u32) {
        // Relaxed: as in `place`.
        self.header().place.store(place, Ordering::Relaxed);
    }

    pub(super) fn since(&self) -> u32 {
        // Relaxed: as in `place`.
        self.header().since.load(Ordering::Relaxed)
    }

    pub(super) fn set_since(&self, since: u32) {
        // Relaxed: as in `place`.
        self.header().since.store(since, Ordering::Relaxed);
    }

    /// Gives the reference to an output, which sends the text from byte `start` on. `ends` is whether the answer ends with it.
    #[inline]
    pub(super) fn send(self, start: usize, ends: bool, output: &mut Output<Chunk<C>>) {
        let end = self.header().text as usize - if ends { 0 } else { END.len() };
        if self.cell().next.is_null() {
            let bytes = NonNull::from(&self.front()[..end]);
            return output.send(Chunk { _item: self, bytes }, start);
        }
        for bytes in self.text(start..end) {
            output.send(Chunk { _item: self.share(), bytes: NonNull::from(bytes) }, 0);
        }
    }

    /// The same item in other cells, which nobody else has. `None` without memory for it.
    pub(super) fn copy(&self, arena: &Arc<Arena>) -> Option<Self> {
        let key = self.key();
        let (flags, expiry) = (self.flags(), self.expiry());
        let (hash, len, state, number) = (self.hash(), self.len(), self.state(), self.cas());
        let recipe = Recipe { key, hash, flags, expiry, len, state, number };
        let mut draft = Draft::new(&recipe, arena)?;
        self.data().for_each(|piece| draft.write(piece));
        draft.write(b"\r\n");
        let copy = draft.finish();
        copy.set_time(self.time());
        copy.set_place(self.place());
        copy.set_since(self.since());
        Some(copy)
    }

    /// Another reference, of somebody who has one.
    ///
    /// # Panics
    ///
    /// If the item is dead, which one that is held is not.
    pub(super) fn share(&self) -> Self {
        self.get().expect("an item that is held")
    }

    /// Another reference.
    ///
    /// `None` if the item is dead, which one that a guard or a reference keeps is not.
    #[inline]
    pub(super) fn get(&self) -> Option<Self> {
        self.header().count.get().is_acquired().then_some(Self { header: self.header })
    }
}

/// Bytes of an item that are sent.
pub struct Chunk<C: RefCount + 'static> {
    /// Keeps the bytes.
    _item: ItemRef<C>,
    bytes: NonNull<[u8]>,
}

// SAFETY: bytes that do not change, with a reference to the item that they are of.
unsafe impl<C: RefCount + 'static> Send for Chunk<C> {}
// SAFETY: as above.
unsafe impl<C: RefCount + 'static> Sync for Chunk<C> {}

impl<C: RefCount + 'static> AsRef<[u8]> for Chunk<C> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: a part of the item's text, which the reference keeps.
        unsafe { self.bytes.as_ref() }
    }
}

impl<C: RefCount + 'static> Drop for ItemRef<C> {
    #[inline]
    fn drop(&mut self) {
        if self.header().count.put_by(|| Unrevived).is_last() {
            self.free();
        }
    }
}

impl<C: RefCount + 'static> ItemRef<C> {
    #[cold]
    fn free(&mut self) {
        let next = self.cell().next;
        // SAFETY: the last reference was given back, so the item is this thread's alone.
        let body = unsafe { &raw mut (*self.header.as_ptr()).body };
        // SAFETY: as above.
        unsafe { body.drop_in_place() };
        // SAFETY: the item's, and nobody uses it any more.
        unsafe { Self::put_cells(self.header.cast(), next) };
    }

    /// Gives the cells of an item back.
    ///
    /// # Safety
    ///
    /// They are the caller's, who does not use them any more: the first one, and those that are linked from `next` on.
    unsafe fn put_cells(first: NonNull<Cell>, mut next: *mut Cell) {
        // SAFETY: the caller's.
        unsafe { Arena::put(first, true) };
        while let Some(cell) = NonNull::new(next) {
            // SAFETY: a cell of the item that was not given back yet.
            next = unsafe { cell.as_ref() }.next;
            // SAFETY: the caller's.
            unsafe { Arena::put(cell, false) };
        }
    }
}

#[cfg(test)]
mod tests;
