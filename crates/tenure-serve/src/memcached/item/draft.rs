//! A [`Draft`] of an item is filled as its data arrives, and becomes a reference once it is complete.

use std::ptr::NonNull;

use tenure::count::RefCount;
use tenure::sync::Arc;

use super::{Body, END, Header, ItemRef, MOST_KEY};
use crate::memcached::arena::{Arena, Cell, Pieces};
use crate::memcached::classes::{Class, footprint};
use crate::memcached::clock::Seconds;
use crate::memcached::number::Decimal;
use crate::relaxed::Relaxed;

#[derive(Clone, Copy)]
pub(crate) struct Recipe<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) hash: u64,
    pub(crate) flags: u32,
    pub(crate) expiry: Seconds,
    pub(crate) len: usize,
    pub(crate) state: u32,
    /// Chosen by a client, or 0 for the next one.
    pub(crate) number: u64,
}

/// Not shared: its data is not complete.
pub(crate) struct Draft<C: RefCount + 'static> {
    item: ItemRef<C>,
    filled: usize,
    cell: NonNull<Cell>,
    /// Where the next byte goes, and the cell's room from there.
    at: *mut u8,
    room: usize,
    last: [u8; 2],
}

// SAFETY: it owns its item, and points into that item's cells only.
unsafe impl<C: RefCount + 'static> Send for Draft<C> {}

impl<C: RefCount + 'static> Draft<C> {
    /// Memory for an item, or `None`. Panics if the key is longer than [`MOST_KEY`], or the data than 2³¹ bytes.
    pub(crate) fn new(recipe: &Recipe<'_>, arena: &Arc<Arena>) -> Option<Self> {
        assert!(recipe.key.len() <= MOST_KEY && recipe.len <= 1 << 31);
        let (flags, len) = (Decimal::new(recipe.flags.into()), Decimal::new(recipe.len as u64));
        let pieces: [&[u8]; 7] = [b"VALUE ", recipe.key, b" ", &flags, b" ", &len, b"\r\n"];
        let start: usize = pieces.iter().map(|piece| piece.len()).sum();
        let text = start + recipe.len + 2 + END.len();
        let (first, room) = Self::take_cells(text, recipe.hash, arena)?;
        let header = first.cast::<Header<C>>();
        let body = Body {
            count: C::new_in(),
            state: Relaxed::new(recipe.state),
            time: Relaxed::new(0),
            expiry: Relaxed::new(recipe.expiry),
            place: Relaxed::new(0),
            since: Relaxed::new(0),
            cas: Relaxed::new(recipe.number),
            flags: recipe.flags,
            text: text as u32,
            data: start as u16,
            key: recipe.key.len() as u8,
            class: Class::of(footprint(recipe.key.len(), recipe.flags, recipe.len)),
        };
        // SAFETY: this thread's first cell is aligned and large enough for a header and the start of the text.
        // `Arena::take` has written the header's `Cell`.
        let at = unsafe {
            (&raw mut (*header.as_ptr()).body).write(body);
            header.as_ptr().add(1).cast()
        };
        let mut draft =
            Self { item: ItemRef { header }, filled: 0, cell: first, at, room, last: [0; 2] };
        for piece in pieces {
            draft.write(piece);
        }
        Some(draft)
    }

    /// The item's linked cells, and the bytes of text in the first.
    fn take_cells(text: usize, hash: u64, arena: &Arc<Arena>) -> Option<(NonNull<Cell>, usize)> {
        let mut pieces = ItemRef::<C>::cells(text);
        let piece = pieces.next()?;
        let first = Arena::take(arena, piece.class, hash, true)?;
        let mut last = first;
        for piece in pieces {
            let Some(cell) = Arena::take(arena, piece.class, hash, false) else {
                // SAFETY: this thread took the cells, and has shared none.
                unsafe { ItemRef::<C>::put_cells(first) };
                return None;
            };
            // SAFETY: this thread took the cell, and has not shared it.
            unsafe { (*last.as_ptr()).next = cell.as_ptr() };
            last = cell;
        }
        Some((first, piece.text))
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        assert!(bytes.len() <= self.item.text as usize - self.filled);
        while !bytes.is_empty() {
            if self.room == 0 {
                self.next_cell();
            }
            let count = bytes.len().min(self.room);
            // SAFETY: the cell has `room` bytes from `at` on, and the draft owns the item.
            unsafe {
                self.at.copy_from_nonoverlapping(bytes.as_ptr(), count);
                self.at = self.at.add(count);
            }
            self.room -= count;
            self.filled += count;
            bytes = &bytes[count..];
        }
    }

    #[cold]
    fn next_cell(&mut self) {
        // SAFETY: a cell of the item, which the draft owns.
        let next = NonNull::new(unsafe { self.cell.as_ref() }.next);
        self.cell = next.expect("an item has cells for all of its text");
        // SAFETY: the text of a cell follows its `Cell`.
        self.at = unsafe { self.cell.as_ptr().add(1).cast() };
        let left = self.item.text as usize - self.filled;
        let then = size_of::<Cell>();
        self.room = Pieces::new(left, then, then).next().map_or(0, |piece| piece.text);
    }

    pub(crate) fn size(&self) -> usize {
        self.item.size()
    }

    /// Bytes still to come, with the end of the line.
    pub(crate) fn missing(&self) -> usize {
        self.item.text as usize - END.len() - self.filled
    }

    /// Takes what is missing, and returns how many bytes that was.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.missing());
        self.write(&bytes[..count]);
        match bytes[..count] {
            [] => {}
            [last] => self.last = [self.last[1], last],
            [.., before, last] => self.last = [before, last],
        }
        count
    }

    pub(crate) fn ends_line(&self) -> bool {
        self.missing() == 0 && self.last == *b"\r\n"
    }

    /// Panics if data is missing.
    pub(crate) fn finish(mut self) -> ItemRef<C> {
        assert_eq!(self.missing(), 0, "an item without all of its data");
        self.write(END);
        self.item
    }
}
