//! Making an item: a [`Draft`] is filled as its data comes in, and becomes a reference once it is complete.

use std::ptr::NonNull;

use tenure::count::RefCount;
use tenure::memory::Atomic;
use tenure::sync::Arc;

use super::{Body, END, Header, ItemRef, MOST_KEY};
use crate::memcached::arena::{Arena, Cell, Pieces};
use crate::memcached::classes::{Class, footprint};
use crate::memcached::clock::Seconds;
use crate::memcached::number::Decimal;

/// What an item is made of.
#[derive(Clone, Copy)]
pub(in crate::memcached) struct Recipe<'a> {
    pub(in crate::memcached) key: &'a [u8],
    pub(in crate::memcached) hash: u64,
    pub(in crate::memcached) flags: u32,
    pub(in crate::memcached) expiry: Seconds,
    /// Bytes of the data.
    pub(in crate::memcached) len: usize,
    pub(in crate::memcached) state: u32,
    /// The number of the value, from a client; 0 for the next.
    pub(in crate::memcached) number: u64,
}

/// An item whose data is not complete. Nobody else has it.
pub(in crate::memcached) struct Draft<C: RefCount + 'static> {
    item: ItemRef<C>,
    /// Bytes of the text that are written.
    filled: usize,
    /// The cell that is being filled.
    cell: NonNull<Cell>,
    /// Where the next byte goes, and bytes of the text from there to the end of the cell.
    at: *mut u8,
    room: usize,
    /// The last two bytes that came.
    last: [u8; 2],
}

// SAFETY: what it points to is its item's.
unsafe impl<C: RefCount + 'static> Send for Draft<C> {}

impl<C: RefCount + 'static> Draft<C> {
    /// Room for an item. `None` without memory for it.
    ///
    /// # Panics
    ///
    /// If the key is longer than [`MOST_KEY`], or the data longer than 2³¹ bytes.
    pub(in crate::memcached) fn new(recipe: &Recipe<'_>, arena: &Arc<Arena>) -> Option<Self> {
        assert!(recipe.key.len() <= MOST_KEY && recipe.len <= 1 << 31);
        let (flags, len) = (Decimal::new(recipe.flags.into()), Decimal::new(recipe.len as u64));
        let pieces: [&[u8]; 7] = [b"VALUE ", recipe.key, b" ", &flags, b" ", &len, b"\r\n"];
        let start: usize = pieces.iter().map(|piece| piece.len()).sum();
        let text = start + recipe.len + 2 + END.len();
        let (first, room) = Self::take_cells(text, recipe.hash, arena)?;
        let header = first.cast::<Header<C>>();
        let body = Body {
            count: C::new_in(),
            state: Atomic::new(recipe.state),
            time: Atomic::new(0),
            expiry: Atomic::new(recipe.expiry),
            place: Atomic::new(0),
            since: Atomic::new(0),
            cas: Atomic::new(recipe.number),
            flags: recipe.flags,
            text: text as u32,
            data: start as u16,
            key: recipe.key.len() as u8,
            class: Class::of(footprint(recipe.key.len(), recipe.flags, recipe.len)),
        };
        // SAFETY: the first cell has room for a header, and is aligned for it.
        let place = unsafe { &raw mut (*header.as_ptr()).body };
        // SAFETY: as above. What comes before the body is written already.
        unsafe { place.write(body) };
        // SAFETY: behind the header, in the same cell.
        let at = unsafe { header.as_ptr().add(1).cast() };
        let mut draft =
            Self { item: ItemRef { header }, filled: 0, cell: first, at, room, last: [0; 2] };
        for piece in pieces {
            draft.write(piece);
        }
        Some(draft)
    }

    /// The cells of an item, linked, and the bytes of its text that the first one has.
    fn take_cells(text: usize, hash: u64, arena: &Arc<Arena>) -> Option<(NonNull<Cell>, usize)> {
        let mut pieces = ItemRef::<C>::cells(text);
        let piece = pieces.next()?;
        let first = Arena::take(arena, piece.class, hash, true)?;
        let mut last = first;
        for piece in pieces {
            let Some(cell) = Arena::take(arena, piece.class, hash, false) else {
                // SAFETY: this thread's, which took them.
                let next = unsafe { first.as_ref() }.next;
                // SAFETY: as above; nobody has seen them.
                unsafe { ItemRef::<C>::put_cells(first, next) };
                return None;
            };
            // SAFETY: as above.
            unsafe { (*last.as_ptr()).next = cell.as_ptr() };
            last = cell;
        }
        Some((first, piece.text))
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        assert!(bytes.len() <= self.item.header().text as usize - self.filled);
        while !bytes.is_empty() {
            if self.room == 0 {
                self.next_cell();
            }
            let count = bytes.len().min(self.room);
            // SAFETY: the cell has that much room, and nobody else has the item.
            unsafe { self.at.copy_from_nonoverlapping(bytes.as_ptr(), count) };
            // SAFETY: as above.
            self.at = unsafe { self.at.add(count) };
            self.room -= count;
            self.filled += count;
            bytes = &bytes[count..];
        }
    }

    #[cold]
    fn next_cell(&mut self) {
        // SAFETY: a cell of the item.
        let next = NonNull::new(unsafe { self.cell.as_ref() }.next);
        self.cell = next.expect("an item has cells for all of its text");
        // SAFETY: behind what a cell begins with.
        self.at = unsafe { self.cell.as_ptr().add(1).cast() };
        let left = self.item.header().text as usize - self.filled;
        let then = size_of::<Cell>();
        self.room = Pieces::new(left, then, then).next().map_or(0, |piece| piece.text);
    }

    /// What was allocated for the item.
    pub(in crate::memcached) fn size(&self) -> usize {
        self.item.size()
    }

    /// Bytes that are still to come, those of the line's end included.
    pub(in crate::memcached) fn missing(&self) -> usize {
        self.item.header().text as usize - END.len() - self.filled
    }

    /// Takes as many of the bytes as are missing, and returns how many that were.
    pub(in crate::memcached) fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.missing());
        self.write(&bytes[..count]);
        match bytes[..count] {
            [] => {}
            [last] => self.last = [self.last[1], last],
            [.., before, last] => self.last = [before, last],
        }
        count
    }

    /// Whether the data is complete, and what came last is the end of a line.
    pub(in crate::memcached) fn ends_line(&self) -> bool {
        self.missing() == 0 && self.last == *b"\r\n"
    }

    /// The item, once nothing is missing.
    ///
    /// # Panics
    ///
    /// If something is.
    pub(in crate::memcached) fn finish(mut self) -> ItemRef<C> {
        assert_eq!(self.missing(), 0, "an item without all of its data");
        self.write(END);
        self.item
    }
}
