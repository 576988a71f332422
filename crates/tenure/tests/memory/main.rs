//! What the library asks of the allocator and gives back to it.
//!
//! The allocator notes in front of each block which test asked for it, by a thread-local, so that tests run side by side.
#![cfg(feature = "std")]
#![allow(clippy::disallowed_types, reason = "the allocator's own counts, in statics")]

#[macro_use]
#[path = "../support/lists.rs"]
mod owned;

mod buffers;
mod owners;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use tenure::memory::{Native, Threads};

/// The smallest class. Only blocks of pools begin at a page here.
const PAGE: usize = 4_096;
/// A size for which the allocator fails.
const TOO_MUCH: usize = 64 * PAGE;
const TESTS: usize = 256;

struct Account {
    bytes: AtomicI64,
    /// Bytes of blocks, now and at most.
    blocks: AtomicI64,
    most: AtomicI64,
    freed: AtomicI64,
    /// Bytes in them that were not zero.
    dirty: AtomicU64,
}

static ACCOUNTS: [Account; TESTS] = [const {
    Account {
        bytes: AtomicI64::new(0),
        blocks: AtomicI64::new(0),
        most: AtomicI64::new(0),
        freed: AtomicI64::new(0),
        dirty: AtomicU64::new(0),
    }
}; TESTS];
const NO_TEST: usize = 0;
static NEXT: AtomicU64 = AtomicU64::new(1);

fn next_test() -> usize {
    NEXT.fetch_add(1, Relaxed) as usize
}

thread_local! {
    static TEST: Cell<usize> = const { Cell::new(NO_TEST) };
}

struct Accountant;

#[global_allocator]
static ACCOUNTANT: Accountant = Accountant;

/// The layout with room for a note in front, and the length of that.
fn with_note(layout: Layout) -> (Layout, usize) {
    let note = layout.align().max(16);
    let whole = Layout::from_size_align(layout.size() + note, note).expect("small blocks");
    (whole, note)
}

// SAFETY: the system's blocks, of which the beginning is kept.
unsafe impl GlobalAlloc for Accountant {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() == TOO_MUCH && layout.align() == PAGE {
            return std::ptr::null_mut();
        }
        let (whole, note) = with_note(layout);
        // SAFETY: the layout has a size.
        let first = unsafe { System.alloc(whole) };
        if first.is_null() {
            return first;
        }
        let test = TEST.try_with(Cell::get).unwrap_or(NO_TEST);
        // SAFETY: the note is in front of what the caller gets, and aligned for any word.
        unsafe { first.cast::<usize>().write(test) };
        let account = &ACCOUNTS[test];
        account.bytes.fetch_add(layout.size() as i64, Relaxed);
        if layout.align() == PAGE {
            let size = layout.size() as i64;
            let blocks = account.blocks.fetch_add(size, Relaxed) + size;
            account.most.fetch_max(blocks, Relaxed);
        }
        // SAFETY: within the block.
        unsafe { first.add(note) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (whole, note) = with_note(layout);
        // SAFETY: `alloc` gave a block with a note in front.
        let first = unsafe { block.sub(note) };
        // SAFETY: the note was written by `alloc`.
        let account = &ACCOUNTS[unsafe { first.cast::<usize>().read() }];
        account.bytes.fetch_sub(layout.size() as i64, Relaxed);
        if layout.align() == PAGE {
            account.blocks.fetch_sub(layout.size() as i64, Relaxed);
            account.freed.fetch_add(1, Relaxed);
            // SAFETY: pools initialise their blocks, and this one is still allocated.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            let dirty = bytes.iter().filter(|&&byte| byte != 0).count();
            account.dirty.fetch_add(dirty as u64, Relaxed);
        }
        // SAFETY: allocated with this layout.
        unsafe { System.dealloc(first, whole) };
    }
}

/// Counts the calling thread as the test's, after it has allocated what a thread keeps until the process ends.
fn join_test(test: usize) {
    let _: Option<usize> = Native::thread();
    TEST.set(test);
}

fn on_a_thread_of(test: usize, act: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let act = move || {
            join_test(test);
            act();
        };
        scope.spawn(act).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}
