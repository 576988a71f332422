//! Items: one allocation each, with a count, and already written as a `get` answers it.
//!
//! ```text
//!  ┌ Header ────────────────────────────────────────────┬ text ─────────────────────────────────────────────┐
//!  │ count │ state, time, expiry, place, cas │ hash ... │ VALUE <key> <flags> <length>\r\n<data>\r\nEND\r\n │
//!  └────────────────────────────────────────────────────┴───────────────────────────────────────────────────┘
//! ```
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
//!
//! After the link the text never changes. What changes is in atomics of the header, on the line that each hit writes
//! anyway because the count is there. Stores to them are made under the lock of the shard, but for the marks of a hit.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use tenure::count::{ReadSide, RefCount};
use tenure::memory::{Atomic, Memory, Native, Ordering};
use tenure::sync::Arc;

use super::clock::Seconds;
use super::number::Decimal;

pub(super) type AtomicU32 = <Native as Memory>::AtomicU32;
pub(super) type AtomicU64 = <Native as Memory>::AtomicU64;

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

/// Items that exist in a shard, in the map or not.
#[derive(Debug)]
pub(super) struct Account {
    items: AtomicU64,
    bytes: AtomicU64,
}

impl Account {
    pub(super) fn new() -> Self {
        Self { items: Atomic::new(0), bytes: Atomic::new(0) }
    }

    /// Items, and the bytes that were allocated for them.
    pub(super) fn read(&self) -> (u64, u64) {
        // Relaxed: statistics.
        (self.items.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    fn add(&self, bytes: usize) {
        // Relaxed: statistics.
        self.items.fetch_add(1, Ordering::Relaxed);
        // Relaxed: as above.
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        // Relaxed: statistics.
        self.items.fetch_sub(1, Ordering::Relaxed);
        // Relaxed: as above.
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

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

/// What an item has beside its text.
#[repr(C)]
pub(super) struct Header<C> {
    count: C,
    state: AtomicU32,
    /// When it was stored or hit.
    time: AtomicU32,
    expiry: AtomicU32,
    /// In the queue of the shard; of a meaning only under its lock.
    place: AtomicU32,
    cas: AtomicU64,
    hash: u64,
    flags: u32,
    /// Bytes of the text.
    text: u32,
    /// Where in the text the data starts.
    data: u16,
    key: u8,
    account: Arc<Account>,
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
    fn layout(text: usize) -> Layout {
        let (layout, _) = Layout::new::<Header<C>>()
            .extend(Layout::array::<u8>(text).expect("a text has at most 2³² bytes"))
            .expect("a text has at most 2³² bytes");
        layout
    }

    #[inline]
    fn header(&self) -> &Header<C> {
        // SAFETY: this is a reference, so the item is not freed, and its header was written when it was made.
        unsafe { self.header.as_ref() }
    }

    /// The first byte of the text.
    #[inline]
    fn text(&self) -> *mut u8 {
        // SAFETY: the text follows the header in the same allocation.
        unsafe { self.header.as_ptr().add(1).cast() }
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.bytes()["VALUE ".len()..][..usize::from(self.header().key)]
    }

    pub(super) fn hash(&self) -> u64 {
        self.header().hash
    }

    pub(super) fn flags(&self) -> u32 {
        self.header().flags
    }

    /// Where the data starts in the bytes. Behind it are two more for the end of the line.
    #[inline]
    pub(super) fn data_start(&self) -> usize {
        self.header().data.into()
    }

    pub(super) fn data(&self) -> &[u8] {
        let text = self.bytes();
        &text[self.data_start()..text.len() - END.len() - 2]
    }

    /// What was allocated for the item.
    pub(super) fn size(&self) -> usize {
        Self::layout(self.header().text as usize).size()
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

    /// The whole text.
    #[inline]
    fn bytes(&self) -> &[u8] {
        let len = self.header().text as usize;
        // SAFETY: the text has that many bytes; all were written before the draft became a reference.
        unsafe { std::slice::from_raw_parts(self.text(), len) }
    }

    /// Another reference, to send the item. `ends` is whether the answer ends with it. `None` as for [`get`](Self::get).
    #[inline]
    pub(super) fn chunk(&self, ends: bool) -> Option<Chunk<C>> {
        let end = self.header().text - if ends { 0 } else { END.len() as u32 };
        Some(Chunk { item: self.get()?, end })
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

/// An item that is sent: its bytes are what a retrieval answers for its key, with or without the end.
pub struct Chunk<C: RefCount + 'static> {
    item: ItemRef<C>,
    end: u32,
}

impl<C: RefCount + 'static> AsRef<[u8]> for Chunk<C> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.item.bytes()[..self.end as usize]
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
        let layout = Self::layout(self.header().text as usize);
        self.header().account.subtract(layout.size());
        // SAFETY: the last reference was given back, so the item is this thread's alone.
        unsafe { self.header.drop_in_place() };
        // SAFETY: allocated with that layout, and nothing is left in it.
        unsafe { dealloc(self.header.as_ptr().cast(), layout) };
    }
}

/// What an item is made of.
#[derive(Clone, Copy)]
pub(super) struct Recipe<'a> {
    pub(super) key: &'a [u8],
    pub(super) hash: u64,
    pub(super) flags: u32,
    pub(super) expiry: Seconds,
    /// Bytes of the data.
    pub(super) len: usize,
    pub(super) state: u32,
    /// The number of the value, from a client; 0 for the next.
    pub(super) number: u64,
}

/// An item whose data is not complete. Nobody else has it.
pub(super) struct Draft<C: RefCount + 'static> {
    item: ItemRef<C>,
    /// Bytes of the text that are written.
    filled: usize,
}

impl<C: RefCount + 'static> Draft<C> {
    /// Room for an item. `None` without memory for it.
    ///
    /// # Panics
    ///
    /// If the key is longer than [`MOST_KEY`], or the data longer than 2³¹ bytes.
    pub(super) fn new(recipe: &Recipe<'_>, account: &Arc<Account>) -> Option<Self> {
        assert!(recipe.key.len() <= MOST_KEY && recipe.len <= 1 << 31);
        let (flags, len) = (Decimal::new(recipe.flags.into()), Decimal::new(recipe.len as u64));
        let pieces: [&[u8]; 7] = [b"VALUE ", recipe.key, b" ", &flags, b" ", &len, b"\r\n"];
        let start: usize = pieces.iter().map(|piece| piece.len()).sum();
        let text = start + recipe.len + 2 + END.len();
        let layout = ItemRef::<C>::layout(text);
        // SAFETY: the layout has bytes: those of the header.
        let header = NonNull::new(unsafe { alloc(layout) })?.cast::<Header<C>>();
        let value = Header {
            count: C::new_in(),
            state: Atomic::new(recipe.state),
            time: Atomic::new(0),
            expiry: Atomic::new(recipe.expiry),
            place: Atomic::new(0),
            cas: Atomic::new(recipe.number),
            hash: recipe.hash,
            flags: recipe.flags,
            text: text as u32,
            data: start as u16,
            key: recipe.key.len() as u8,
            account: account.clone(),
        };
        account.add(layout.size());
        // SAFETY: allocated for a header, and aligned for it.
        unsafe { header.write(value) };
        let mut draft = Self { item: ItemRef { header }, filled: 0 };
        for piece in pieces {
            draft.write(piece);
        }
        Some(draft)
    }

    fn write(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.item.header().text as usize - self.filled);
        // SAFETY: inside the text, for `filled` is at most its length.
        let to = unsafe { self.item.text().add(self.filled) };
        // SAFETY: so many bytes are missing from there on, and nobody else has the item.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.filled += bytes.len();
    }

    /// Bytes that are still to come, those of the line's end included.
    pub(super) fn missing(&self) -> usize {
        self.item.header().text as usize - END.len() - self.filled
    }

    /// Takes as many of the bytes as are missing, and returns how many that were.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.missing());
        self.write(&bytes[..count]);
        count
    }

    /// Whether the data is complete, and what came last is the end of a line.
    pub(super) fn ends_line(&self) -> bool {
        // SAFETY: so many bytes of the text are written.
        let written = unsafe { std::slice::from_raw_parts(self.item.text(), self.filled) };
        self.missing() == 0 && written.ends_with(b"\r\n")
    }

    /// The item, once nothing is missing.
    ///
    /// # Panics
    ///
    /// If something is.
    pub(super) fn finish(mut self) -> ItemRef<C> {
        assert_eq!(self.missing(), 0, "an item without all of its data");
        self.write(END);
        self.item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::count::{IncNotZero, RcuRef, TicketRef};

    fn recipe(key: &[u8], len: usize) -> Recipe<'_> {
        Recipe { key, hash: 1, flags: 7, expiry: 0, len, state: 0, number: 0 }
    }

    fn an_item_is_written_as_a_get_answers_it<C: RefCount + 'static>() {
        let account = Arc::new(Account::new());
        let mut draft = Draft::<C>::new(&recipe(b"key", 4), &account).unwrap();
        assert_eq!(draft.missing(), 6);
        assert_eq!(draft.fill(b"da"), 2);
        assert_eq!(draft.fill(b"ta\r\nget"), 4);
        let item = draft.finish();
        assert_eq!(item.chunk(true).unwrap().as_ref(), b"VALUE key 7 4\r\ndata\r\nEND\r\n");
        assert_eq!(item.chunk(false).unwrap().as_ref(), b"VALUE key 7 4\r\ndata\r\n");
        assert_eq!((item.key(), item.data(), item.flags()), (&b"key"[..], &b"data"[..], 7));
        let other = item.get().unwrap();
        assert_eq!(account.read(), (1, item.size() as u64));
        drop(item);
        assert_eq!(other.data(), b"data");
        drop(other);
        assert_eq!(account.read(), (0, 0));
    }

    #[test]
    fn with_every_count_an_item_is_written_as_a_get_answers_it() {
        an_item_is_written_as_a_get_answers_it::<IncNotZero>();
        an_item_is_written_as_a_get_answers_it::<RcuRef>();
        an_item_is_written_as_a_get_answers_it::<TicketRef>();
    }

    #[test]
    fn a_draft_that_is_dropped_leaves_nothing() {
        let account = Arc::new(Account::new());
        let mut draft = Draft::<TicketRef>::new(&recipe(b"", 1000), &account).unwrap();
        draft.fill(b"half");
        drop(draft);
        assert_eq!(account.read(), (0, 0));
    }

    #[test]
    fn a_hit_marks_an_item_once_and_the_hand_takes_one_mark_away() {
        let account = Arc::new(Account::new());
        let mut draft = Draft::<RcuRef>::new(&recipe(b"k", 0), &account).unwrap();
        draft.fill(b"\r\n");
        let item = draft.finish();
        item.hit(9);
        assert_eq!((item.state(), item.time()), (state::FETCHED | state::REFERENCED, 9));
        assert_eq!(item.mark(0, state::REFERENCED), state::FETCHED | state::REFERENCED);
        assert_eq!(item.state(), state::FETCHED);
    }
}
