//! Memory that stays readable after it was freed, up to the end of an execution.
//!
//! A list has memory of its own on the heap. A thread that comes too late has to end in a panic of a
//! [`Word`](super::memory::Word), which is in that memory: so from the first [`Heap::free`](super::stage::Heap::free)
//! of an execution on, freed memory keeps its bytes until the next execution.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};

struct Quarantine;

#[global_allocator]
static ALLOCATOR: Quarantine = Quarantine;

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static KEEPING: Cell<bool> = const { Cell::new(false) };
    static KEPT: RefCell<Vec<(*mut u8, Layout)>> = const { RefCell::new(Vec::new()) };
    static RECYCLING: Cell<bool> = const { Cell::new(false) };
}

/// What has lines to itself: the blocks that models free, and nothing of loom's.
const LINE: usize = align_of::<tenure::cache_line::CachePadded<u8>>();

pub(crate) fn keep() {
    KEEPING.set(true);
}

/// From here on such a block is reused, last freed first, as by most allocators.
pub(crate) fn recycle() {
    RECYCLING.set(true);
}

fn recycled(layout: Layout) -> Option<*mut u8> {
    if !RECYCLING.get() || layout.align() < LINE {
        return None;
    }
    KEPT.with_borrow_mut(|kept| {
        let last = kept.iter().rposition(|(_, of)| *of == layout)?;
        Some(kept.remove(last).0)
    })
}

pub(crate) fn flush() {
    KEEPING.set(false);
    RECYCLING.set(false);
    for (memory, layout) in KEPT.take() {
        // SAFETY: allocated by `System` with that layout, and freed by its owner; no thread of the execution runs any
        // more.
        unsafe { System.dealloc(memory, layout) };
    }
}

// SAFETY: `System`'s, but for frees, which may come late.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        recycled(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if KEEPING.get() {
            // The list of them grows by `alloc` and `realloc`, and does not come back here.
            KEPT.with_borrow_mut(|kept| kept.push((memory, layout)));
        } else {
            // SAFETY: the caller's.
            unsafe { System.dealloc(memory, layout) };
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[test]
fn a_recycled_line_is_the_last_that_was_freed() {
    let lines = [1, 2, 3].map(|line| Box::new(tenure::cache_line::CachePadded::new(line)));
    let addresses = lines.each_ref().map(|line| (&raw const **line).addr());
    keep();
    recycle();
    drop(lines);
    let others = [1, 2, 3].map(|line| Box::new(tenure::cache_line::CachePadded::new(line)));
    let recycled = others.each_ref().map(|line| (&raw const **line).addr());
    assert_eq!(recycled, [addresses[2], addresses[1], addresses[0]]);
    drop(others);
    flush();
}

#[test]
fn what_is_freed_keeps_its_bytes_until_the_flush() {
    let word = Box::new(17_u64);
    let address = &raw const *word;
    keep();
    drop(word);
    let others = Vec::from_iter((0..1_000).map(Box::new));
    // SAFETY: the memory is in quarantine.
    assert_eq!(unsafe { address.read() }, 17);
    drop(others);
    assert_eq!(KEPT.with_borrow(Vec::len), 1_002);
    flush();
    assert_eq!(KEPT.with_borrow(Vec::len), 0);
}
