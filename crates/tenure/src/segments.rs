//! [`Segments`]: an array that grows and never moves.
//!
//! ```text
//! segment   0      1            2                        3
//! elements  8      16           32                       64 ...
//! ```
//!
//! Each segment is allocated when its first element is asked for, published by one compare-exchange (the loser frees
//! its own), and freed with the array. So elements live as long as the array, and a read needs no lock. Free lists need
//! such type-stable memory because a thread may read the link of an element that it has lost; slots of workers, because
//! others look into them at any time.

use crate::cache_line::CachePadded;
use crate::memory::Native;
use crate::memory::{Memory, Ordering, Pointer};
use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use core::marker::PhantomData;
use core::ptr;

pub(crate) const INDEX_BITS: u32 = 28;
/// Sentinel: not a valid index.
pub(crate) const NO_INDEX: u32 = (1 << INDEX_BITS) - 1;

const FIRST_BITS: u32 = 3;
const FIRST: u32 = 1 << FIRST_BITS;
const SEGMENTS: usize = (INDEX_BITS - FIRST_BITS) as usize;
/// Elements of all segments: 2^28 - 8.
pub(crate) const CAPACITY: u32 = (1 << INDEX_BITS) - FIRST;

pub(crate) struct Segments<T, M: Memory> {
    segments: [M::Pointer<T>; PLACES],
    owns: PhantomData<T>,
}

// SAFETY: the array owns its elements and hands out shared references to them alone.
unsafe impl<T: Send + Sync, M: Memory> Send for Segments<T, M> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, M: Memory> Sync for Segments<T, M> {}

/// The segment of an index, and the place in it.
#[inline(always)]
const fn place(index: u32) -> (usize, usize) {
    let shifted = index + FIRST;
    let top = u32::BITS - 1 - shifted.leading_zeros();
    ((top - FIRST_BITS) as usize, (shifted - (1 << top)) as usize)
}

/// A place, found out once: segment and element in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot(u32);

const SEGMENT_BITS: u32 = 5;
/// A spot's segment needs no check. Those from [`SEGMENTS`] on are never allocated.
const PLACES: usize = 1 << SEGMENT_BITS;
const _: () = assert!(SEGMENTS < PLACES && INDEX_BITS + SEGMENT_BITS <= u32::BITS + 1);

impl Spot {
    /// A place in no segment.
    pub(crate) const NONE: Self = Self((1 << SEGMENT_BITS) - 1);

    /// The place of an index that is less than [`CAPACITY`].
    pub(crate) const fn of(index: u32) -> Self {
        let (segment, at) = place(index);
        Self((at as u32) << SEGMENT_BITS | segment as u32)
    }

    pub(crate) const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    pub(crate) const fn raw(self) -> u32 {
        self.0
    }

    #[inline(always)]
    const fn place(self) -> (usize, usize) {
        ((self.0 & Self::NONE.0) as usize, (self.0 >> SEGMENT_BITS) as usize)
    }

    pub(crate) const fn index(self) -> u32 {
        let (segment, at) = self.place();
        (length(segment) - FIRST as usize + at) as u32
    }
}

const fn length(segment: usize) -> usize {
    (FIRST as usize) << segment
}

impl<T> Segments<T, Native> {
    /// [`new`](Self::new), for a static.
    pub(crate) const fn native() -> Self {
        let segments = [const { <Native as Memory>::Pointer::<T>::new(ptr::null_mut()) }; PLACES];
        Self { segments, owns: PhantomData }
    }
}

impl<T, M: Memory> Segments<T, M> {
    pub(crate) fn new() -> Self {
        let segments = core::array::from_fn(|_| Pointer::new(ptr::null_mut()));
        Self { segments, owns: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.element(place(index))
    }

    #[inline(always)]
    pub(crate) fn at(&self, spot: Spot) -> Option<&T> {
        self.element(spot.place())
    }

    #[inline(always)]
    fn element(&self, (segment, at): (usize, usize)) -> Option<&T> {
        // Acquire: pairs with the Release that published the segment.
        let first = self.segments.get(segment)?.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: `at` is less than `length(segment)`; elements are initialised, and live as long as the array.
        Some(unsafe { &*first.add(at) })
    }

    /// The element. Allocates its segment if need be, with `make(index)` for each element.
    ///
    /// # Panics
    ///
    /// If the index is not less than [`CAPACITY`].
    pub(crate) fn get_or_grow(&self, index: u32, make: impl Fn(u32) -> T) -> &T {
        assert!(index < CAPACITY, "there is room for at most {CAPACITY}");
        if let Some(element) = self.get(index) {
            return element;
        }
        let (segment, at) = place(index);
        let first = self.grow(segment, make);
        // SAFETY: as in `get`.
        unsafe { &*first.add(at) }
    }

    #[cold]
    fn grow(&self, segment: usize, make: impl Fn(u32) -> T) -> *mut T {
        let layout = layout::<T>(segment);
        // SAFETY: the size is not zero: `layout` refuses elements without one.
        let first = unsafe { alloc(layout) }.cast::<T>();
        if first.is_null() {
            handle_alloc_error(layout);
        }
        for at in 0..length(segment) {
            let element = make((length(segment) - FIRST as usize + at) as u32);
            // SAFETY: room for that many elements. If `make` panics, memory and elements leak.
            unsafe { first.add(at).write(element) };
        }
        // Release: pairs with the Acquire in `get`: a thread that finds the segment finds its elements. Acquire: the
        // same, if another thread was faster.
        match self.segments[segment].compare_exchange(
            ptr::null_mut(),
            first,
            Ordering::Release,
            Ordering::Acquire,
        ) {
            Ok(_) => first,
            Err(winner) => {
                // SAFETY: allocated and filled above, and not published.
                unsafe { free(first, segment) };
                winner
            }
        }
    }

    /// All elements of the segments that are allocated now, with their indices. A clone yields the same.
    pub(crate) fn snapshot(&self) -> impl Iterator<Item = (u32, &T)> + Clone {
        // Acquire: as in `get`.
        let segments = core::array::from_fn::<_, SEGMENTS, _>(|segment| {
            self.segments[segment].load(Ordering::Acquire)
        });
        segments.into_iter().enumerate().filter(|(_, first)| !first.is_null()).flat_map(
            |(segment, first)| {
                let index = length(segment) - FIRST as usize;
                (0..length(segment)).map(move |at| {
                    // SAFETY: as in `get`.
                    ((index + at) as u32, unsafe { &*first.add(at) })
                })
            },
        )
    }
}

/// A segment has its cache lines to itself.
fn layout<T>(segment: usize) -> Layout {
    const { assert!(size_of::<T>() > 0, "elements have a size") };
    Layout::array::<T>(length(segment))
        .and_then(|elements| elements.align_to(align_of::<CachePadded<u8>>()))
        .expect("a segment is smaller than the address space")
        .pad_to_align()
}

/// # Safety
///
/// `first` points to that segment's initialised elements, which no thread uses any more.
unsafe fn free<T>(first: *mut T, segment: usize) {
    // SAFETY: initialised, and allocated by `grow` with this layout.
    unsafe {
        ptr::slice_from_raw_parts_mut(first, length(segment)).drop_in_place();
        dealloc(first.cast(), layout::<T>(segment));
    }
}

impl<T, M: Memory> Drop for Segments<T, M> {
    fn drop(&mut self) {
        for (segment, pointer) in self.segments.iter().enumerate() {
            // Relaxed: no other thread has the array.
            let first = pointer.load(Ordering::Relaxed);
            if !first.is_null() {
                // SAFETY: published by `grow`; `&mut self`, so no reference is left.
                unsafe { free(first, segment) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Native;
    use std::sync::Arc;
    use std::vec::Vec;

    #[test]
    fn every_index_has_a_place_of_its_own_and_segments_are_filled_in_order() {
        let mut expected = (0, 0);
        for index in 0..if cfg!(miri) { 1_000 } else { 100_000 } {
            assert_eq!(place(index), expected, "{index}");
            let spot = Spot::of(index);
            assert_eq!((spot.place(), spot.index()), (expected, index));
            expected.1 += 1;
            if expected.1 == length(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        let (segment, at) = place(CAPACITY - 1);
        assert_eq!((segment, at), (SEGMENTS - 1, length(SEGMENTS - 1) - 1));
        assert_eq!(Spot::of(CAPACITY - 1).place(), (segment, at));
        assert!(Segments::<u8, Native>::new().at(Spot::NONE).is_none());
        const { assert!(CAPACITY <= NO_INDEX) };
    }

    #[test]
    fn elements_are_made_once_and_dropped_with_the_array() {
        let element = Arc::new(());
        let array = Segments::<Arc<()>, Native>::new();
        assert!(array.get(0).is_none());
        array.get_or_grow(30, |_| Arc::clone(&element));
        assert_eq!(Arc::strong_count(&element), 1 + 32);
        assert!(array.get(0).is_none() && array.get(24).is_some());
        array.get_or_grow(25, |_| unreachable!());
        let indices: Vec<u32> = array.snapshot().map(|(index, _)| index).collect();
        assert_eq!(indices, Vec::from_iter(24..56));
        drop(array);
        assert_eq!(Arc::strong_count(&element), 1);
    }

    #[test]
    fn threads_that_grow_at_once_get_the_same_elements() {
        let array = Segments::<u64, Native>::new();
        let places: Vec<usize> = std::thread::scope(|scope| {
            let grow = || (&raw const *array.get_or_grow(5, |_| 7)).addr();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(grow)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(places.iter().all(|&place| place == places[0]));
    }

    #[test]
    #[should_panic(expected = "there is room for at most 268435448")]
    fn an_index_that_is_too_large_is_refused() {
        Segments::<u64, Native>::new().get_or_grow(CAPACITY, |_| 0);
    }
}
