//! A thread's entries: what it does to contended lines.
//!
//! An *entry* counts one thing that the thread does to one place by one instruction. It is found through a small array
//! of recent ones, and after that through a hash table that grows.

use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, fence};

use super::store::{self, Locked};
use super::sys;
use crate::segment::{AccessKind, Entry, RecordKind};

const RECENT_ENTRIES: usize = 2048;
const FIRST_CAPACITY: u32 = 512;

/// Blocks of entries that threads have left when they ended, linked through their reserved words.
static LEFT: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// The entries of one thread.
pub(super) struct ThreadEntries {
    /// [`RECENT`] entries, by hash.
    recent: *mut *mut Entry,
    /// All entries, by hash; `capacity` is a power of two.
    index: Cell<*mut *mut Entry>,
    capacity: Cell<u32>,
    len: Cell<u32>,
    block: Cell<*mut u8>,
    /// The entry of the last access to a contended line.
    last: Cell<*mut Entry>,
}

/// Forgets the blocks that threads have left: a forked child starts anew.
pub(super) fn restart() {
    LEFT.store(null_mut(), Relaxed);
}

impl ThreadEntries {
    /// `None` if there is no room.
    pub(super) fn new() -> Option<Self> {
        // Programs may have more threads than mappings.
        let recent = sys::reserve(RECENT_ENTRIES * size_of::<*mut Entry>());
        (!recent.is_null()).then(|| Self {
            recent: recent.cast(),
            index: Cell::new(null_mut()),
            capacity: Cell::new(0),
            len: Cell::new(0),
            block: Cell::new(null_mut()),
            last: Cell::new(null_mut()),
        })
    }

    /// Leaves the entries to the observer, and the room after them to other threads.
    ///
    /// # Safety
    ///
    /// No method is called any more.
    pub(super) unsafe fn end(&self) {
        let block = self.block.get();
        if !block.is_null() {
            let _lock = store::lock();
            // SAFETY: the third word of a block belongs to the runtime; the lock keeps others out.
            unsafe { block.add(8).cast::<*mut u8>().write(LEFT.load(Relaxed)) };
            LEFT.store(block, Relaxed);
        }
        // SAFETY: both were reserved for this thread, which uses neither any more: the caller's promise.
        unsafe {
            sys::unmap(self.recent as usize, RECENT_ENTRIES * size_of::<*mut Entry>());
            if self.capacity.get() > 0 {
                sys::unmap(
                    self.index.get() as usize,
                    self.capacity.get() as usize * size_of::<*mut Entry>(),
                );
            }
        }
    }

    /// Counts an access to a contended line, if its entry is among the recent ones.
    #[inline(always)]
    pub(super) fn count_again(&self, line: u32, place: u32, code: u64) -> bool {
        // SAFETY: the array has RECENT elements, each null or one of this thread's entries, which stay mapped.
        unsafe {
            let entry = *self.recent(hash(line, place, code));
            let found = !entry.is_null() && is(entry, line, place, code);
            if found {
                count_one(entry);
                self.last.set(entry);
            }
            found
        }
    }

    /// Counts an access of this thread to a contended line; `false` if there is no room. The first time, `object` says the
    /// class of the object that is accessed, and how far inside of it.
    pub(super) fn count(
        &self,
        thread: u32,
        line: u32,
        place: u32,
        code: u64,
        object: impl FnOnce(&Locked) -> (u32, u32),
    ) -> bool {
        let hash = hash(line, place, code);
        let entry = self.find(line, place, code, hash, thread, object);
        self.last.set(entry);
        if entry.is_null() {
            return false;
        }
        // SAFETY: as in `count_again`.
        unsafe {
            *self.recent(hash) = entry;
            count_one(entry);
        }
        true
    }

    /// The entry that the thread's last access to a contended line was counted in; null if that was by another instruction.
    pub(super) fn last_of(&self, code: u64) -> *mut Entry {
        let last = self.last.get();
        // SAFETY: one of this thread's entries, which stay mapped and whose code never changes.
        if last.is_null() || unsafe { (*last).code } != code { null_mut() } else { last }
    }

    fn recent(&self, hash: u32) -> *mut *mut Entry {
        self.recent.wrapping_add(hash as usize % RECENT_ENTRIES)
    }

    /// The entry, made if need be; null if there is no room.
    #[cold]
    fn find(
        &self,
        line: u32,
        place: u32,
        code: u64,
        hash: u32,
        thread: u32,
        object: impl FnOnce(&Locked) -> (u32, u32),
    ) -> *mut Entry {
        if self.len.get() >= self.capacity.get() / 4 * 3 && !self.grow() {
            return null_mut();
        }
        // SAFETY: the slot is inside of the index, and points to nothing or to an entry of this thread's.
        unsafe {
            let slot = slot(self.index.get(), self.capacity.get(), hash, |entry| {
                is(entry, line, place, code)
            });
            if (*slot).is_null() {
                // Acquire: pairs with the Release with which the line became contended. The observer that sees the
                // entry sees the line's record.
                fence(Acquire);
                let (class, into_object) = object(&store::lock());
                let none = Entry::read(&[]);
                let entry =
                    self.append(Entry { code, line, thread, place, class, into_object, ..none });
                if entry.is_null() {
                    return entry;
                }
                *slot = entry;
                self.len.set(self.len.get() + 1);
            }
            *slot
        }
    }

    /// Doubles the index.
    fn grow(&self) -> bool {
        let (old, capacity) = (self.index.get(), self.capacity.get());
        let new_capacity = (capacity * 2).max(FIRST_CAPACITY);
        let new: *mut *mut Entry =
            sys::reserve(new_capacity as usize * size_of::<*mut Entry>()).cast();
        if new.is_null() {
            return false;
        }
        // SAFETY: the old index has `capacity` slots, the new one more, and no other thread knows either.
        unsafe {
            for index in 0..capacity as usize {
                let entry = *old.add(index);
                if !entry.is_null() {
                    let hash = hash((*entry).line, (*entry).place, (*entry).code);
                    *slot(new, new_capacity, hash, |_| false) = entry;
                }
            }
            if capacity > 0 {
                sys::unmap(old as usize, capacity as usize * size_of::<*mut Entry>());
            }
        }
        self.index.set(new);
        self.capacity.set(new_capacity);
        true
    }

    fn append(&self, entry: Entry) -> *mut Entry {
        loop {
            let block = self.block.get();
            if !block.is_null() {
                // SAFETY: the block is one of entries, and this thread's until it ends. The record is not seen before it
                // is published.
                unsafe {
                    let record: *mut Entry = store::next_record(block, RecordKind::Entries).cast();
                    if !record.is_null() {
                        record.write(entry);
                        store::publish(block);
                        return record;
                    }
                }
            }
            let lock = store::lock();
            let left = LEFT.load(Relaxed);
            let block = if left.is_null() {
                store::block(&lock, RecordKind::Entries)
            } else {
                // SAFETY: as in `end`.
                LEFT.store(unsafe { left.add(8).cast::<*mut u8>().read() }, Relaxed);
                left
            };
            if block.is_null() {
                return null_mut();
            }
            self.block.set(block);
        }
    }
}

/// Adds a gap to its entry, if there is one: see [`Entry::gaps_ns`].
///
/// # Safety
///
/// The entry is null, or one of the calling thread's.
pub(super) unsafe fn add_gap(entry: *mut Entry, took: u64, longest: u64) {
    if entry.is_null() {
        return;
    }
    // SAFETY: the caller's entry is mapped; the observer reads the numbers as wholes.
    unsafe {
        if took >= longest && (*entry).access().is_some_and(AccessKind::takes) {
            return;
        }
        let gaps = AtomicU32::from_ptr(&raw mut (*entry).gaps);
        // Four thousand million are enough for a mean.
        if let Some(more) = gaps.load(Relaxed).checked_add(1) {
            gaps.store(more, Relaxed);
            add(&raw mut (*entry).gaps_ns, took.min(longest));
        }
    }
}

/// Adds to a number that the observer reads as a whole.
///
/// # Safety
///
/// The number is mapped and aligned, and no other thread writes it.
pub(super) unsafe fn add(sum: *mut u64, more: u64) {
    // SAFETY: the caller's promise.
    let sum = unsafe { AtomicU64::from_ptr(sum) };
    sum.store(sum.load(Relaxed) + more, Relaxed);
}

/// Counts an access of the thread that has the entry.
unsafe fn count_one(entry: *mut Entry) {
    // SAFETY: the caller's entry is mapped, and this thread's own.
    unsafe { add(&raw mut (*entry).count, 1) };
}

unsafe fn is(entry: *const Entry, line: u32, place: u32, code: u64) -> bool {
    // SAFETY: the caller's entry is mapped, and these fields never change.
    unsafe { (*entry).code == code && (*entry).line == line && (*entry).place == place }
}

fn hash(line: u32, place: u32, code: u64) -> u32 {
    let mixed = code ^ u64::from(line) << 20 ^ u64::from(place) << 44;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// The slot where an entry with this hash is, or goes.
///
/// # Safety
///
/// The index has `capacity` slots, a power of two, of which one is empty; the others point to entries.
unsafe fn slot(
    index: *mut *mut Entry,
    capacity: u32,
    hash: u32,
    wanted: impl Fn(*mut Entry) -> bool,
) -> *mut *mut Entry {
    let mut at = hash;
    loop {
        let slot = index.wrapping_add((at & (capacity - 1)) as usize);
        // SAFETY: the slot is inside of the index.
        let entry = unsafe { *slot };
        if entry.is_null() || wanted(entry) {
            return slot;
        }
        at = at.wrapping_add(1);
    }
}
