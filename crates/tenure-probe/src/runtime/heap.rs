//! Which allocation an address belongs to, and what is known of it: its class.
//!
//! A *class* is allocations of one size from one call stack. For each 16 bytes of memory there is a *granule*, one word
//! in a mapping like the shadow: it has the class of the allocation that starts there, plus one. A bit for each granule says
//! whether one starts there: the allocation of an address is found by going back to the nearest start, 64 granules at a time.
//! Large allocations, where that would take long, are in a list as well; its entries count only while the granule agrees.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use super::shadow::ADDRESS_BITS;
use super::store::{self, Locked, RecordTable};
use super::{sys, threads};
use crate::segment::{Class, MAX_FRAMES, RecordKind};

const GRANULE: usize = 16;
/// Allocations of this size and more are in the list.
const LARGE: usize = 64 << 10;
const MAX_LARGE: usize = 1024;
const CLASS_BLOCKS: usize = 2048;
/// Classes that there can be.
pub(super) const MAX_CLASSES: usize = CLASS_BLOCKS * RecordKind::Classes.per_block();
/// Slots of the index of classes; the number of classes is at most half of it.
const INDEX: usize = (2 * MAX_CLASSES).next_power_of_two();

static CLASSES: RecordTable<CLASS_BLOCKS> = RecordTable::new(RecordKind::Classes);
static GRANULES: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
/// A bit for each granule.
static STARTS: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// The class of each hash, plus one, or 0.
static BY_HASH: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
static LARGE_ONES: LargeOnes =
    LargeOnes(UnsafeCell::new((0, [Large { start: 0, end: 0, class: 0 }; MAX_LARGE])));

#[derive(Clone, Copy)]
struct Large {
    start: usize,
    end: usize,
    class: u32,
}

type LargeList = [Large; MAX_LARGE];

/// How many there are, and the list.
struct LargeOnes(UnsafeCell<(usize, LargeList)>);

// SAFETY: only used through `get`, which wants the lock.
unsafe impl Sync for LargeOnes {}

impl LargeOnes {
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    fn get<'a>(&'static self, _: &'a Locked) -> (&'a mut usize, &'a mut LargeList) {
        // SAFETY: every use is under the lock, and each caller is done with what it gets before it calls again.
        let both = unsafe { &mut *self.0.get() };
        (&mut both.0, &mut both.1)
    }
}

/// Makes the granules and class 0. `false` if there is no room.
pub(super) fn start() -> bool {
    const GRANULES_IN_ALL: usize = 1 << (ADDRESS_BITS - GRANULE.ilog2());
    STARTS.store(sys::reserve(GRANULES_IN_ALL / 8).cast(), Relaxed);
    GRANULES.store(sys::reserve(size_of::<AtomicU32>() * GRANULES_IN_ALL).cast(), Relaxed);
    BY_HASH.store(sys::reserve(size_of::<AtomicU32>() * INDEX).cast(), Relaxed);
    let unknown = CLASSES.append(&store::lock(), |_, _| {});
    let are_there = !STARTS.load(Relaxed).is_null() && !GRANULES.load(Relaxed).is_null();
    are_there && !BY_HASH.load(Relaxed).is_null() && unknown.is_some()
}

/// Brings all classes into a forked child's segment. Allocations stay known.
pub(super) fn restart() -> bool {
    CLASSES.copy_to_new_segment(&store::lock())
}

/// The number of the granule of an address.
fn index(address: usize) -> usize {
    (address & ((1 << ADDRESS_BITS) - 1)) / GRANULE
}

fn granule(index: usize) -> &'static AtomicU32 {
    // SAFETY: the mapping has a word for every granule of user space and is never unmapped; all accesses are atomic. The
    // callers check that it is there.
    unsafe { &*GRANULES.load(Relaxed).add(index) }
}

/// The bits of 64 granules.
fn starts(word: usize) -> &'static AtomicU64 {
    // SAFETY: as in `granule`.
    unsafe { &*STARTS.load(Relaxed).add(word) }
}

/// Notes an allocation that `malloc` or its like has returned to the function with this frame.
///
/// # Safety
///
/// `frame` is the frame pointer of a function that has not returned.
pub(super) unsafe fn allocated(address: usize, size: usize, frame: usize) {
    // Some allocators put two small blocks into one granule.
    if address == 0 || !address.is_multiple_of(GRANULE) {
        return;
    }
    let Some(local) = threads::current().or_else(threads::attach) else { return };
    let Some(_busy) = local.busy() else { return };
    // SAFETY: the caller's promise, and the stack is this thread's.
    let (frames, depth) = unsafe { walk(frame, local.stack()) };
    let class = class(size, &frames[..depth]);
    let index = index(address);
    granule(index).store(class + 1, Relaxed);
    starts(index / 64).fetch_or(1 << (index % 64), Relaxed);
    if size >= LARGE {
        let lock = store::lock();
        let (len, ones) = LARGE_ONES.get(&lock);
        // A thread that is not recorded frees without the lock, so the place of what was freed is taken here.
        let freed = ones[..*len].iter().position(|one| one.start == address || !is_live(one));
        let at = freed.unwrap_or(*len);
        if at < MAX_LARGE {
            ones[at] = Large { start: address, end: address + size, class };
            *len = (*len).max(at + 1);
        }
    }
}

/// Forgets an allocation that is about to be freed, and returns its size; `None` if it is not known.
pub(super) fn freed(address: usize) -> Option<usize> {
    if GRANULES.load(Relaxed).is_null() || !address.is_multiple_of(GRANULE) {
        return None;
    }
    let index = index(address);
    let size = size(granule(index).load(Relaxed).checked_sub(1)?);
    granule(index).store(0, Relaxed);
    starts(index / 64).fetch_and(!(1 << (index % 64)), Relaxed);
    Some(size)
}

/// Whether an allocation of the list has not been freed since.
fn is_live(&Large { start, class, .. }: &Large) -> bool {
    granule(index(start)).load(Relaxed) == class + 1
}

/// Where the allocation of an address starts, and its class.
pub(super) fn find(lock: &Locked, address: usize) -> Option<(usize, u32)> {
    let nearest =
        nearest_start(address).filter(|&(start, class)| address < start + size(class).max(1));
    nearest.or_else(|| {
        let (len, ones) = LARGE_ONES.get(lock);
        let mut ones = ones[..*len].iter();
        let one = ones.find(|one| (one.start..one.end).contains(&address) && is_live(one))?;
        Some((one.start, one.class))
    })
}

/// The nearest start of an allocation that is not large, at or before an address, and its class.
fn nearest_start(address: usize) -> Option<(usize, u32)> {
    let from = index(address);
    // The bits up to that of the address.
    let mut wanted = u64::MAX >> (63 - from % 64);
    for word in (0..=from / 64).rev().take(LARGE / GRANULE / 64 + 1) {
        let mut found = starts(word).load(Relaxed) & wanted;
        while let Some(bit) = found.checked_ilog2() {
            let start = word * 64 + bit as usize;
            // A thread that frees it takes the class away first.
            if let Some(class) = granule(start).load(Relaxed).checked_sub(1) {
                return Some((start * GRANULE, class));
            }
            found &= !(1 << bit);
        }
        wanted = u64::MAX;
    }
    None
}

/// Whether no allocation that is known has a byte between the two addresses.
pub(super) fn is_vacant(start: usize, bytes: usize) -> bool {
    nearest_start(start + bytes - 1)
        .is_none_or(|(allocation, class)| allocation + size(class) <= start)
}

fn size(class: u32) -> usize {
    let record: *const Class = CLASSES.get(class as usize).cast();
    if record.is_null() {
        return 0;
    }
    // SAFETY: a class that a granule names was complete before, and never changes.
    unsafe { (*record).size as usize }
}

/// The number of the class, made if need be; 0 if there is no room.
fn class(size: usize, frames: &[u64]) -> u32 {
    let hash = frames.iter().fold(size as u64, |hash, frame| {
        (hash.rotate_left(5) ^ frame).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    let index = BY_HASH.load(Relaxed);
    let start = (hash >> 40) as usize;
    let slot_of = |step: usize| {
        // SAFETY: the index has INDEX slots, and all accesses to it are atomic. No thread is attached without it.
        unsafe { &*index.add((start + step) % INDEX) }
    };
    let mut step = 0;
    loop {
        // Acquire: pairs with the Release below, and makes the record complete.
        match slot_of(step).load(Acquire).checked_sub(1) {
            Some(class) if is(class, size, frames) => return class,
            Some(_) => step += 1,
            None => break,
        }
    }
    let lock = store::lock();
    while let Some(class) = slot_of(step).load(Relaxed).checked_sub(1) {
        if is(class, size, frames) {
            return class;
        }
        step += 1;
    }
    let made = CLASSES.append(&lock, |record, _| {
        let class = Class { size: size as u64, depth: frames.len() as u64 };
        // SAFETY: room for a class and MAX_FRAMES addresses, which is this thread's until it is published.
        unsafe {
            record.cast::<Class>().write(class);
            let stack = record.add(size_of::<Class>()).cast::<u64>();
            core::ptr::copy_nonoverlapping(frames.as_ptr(), stack, frames.len());
        }
    });
    let Some(made) = made else {
        store::drop_one();
        return 0;
    };
    // Release: pairs with the Acquire above.
    slot_of(step).store(made as u32 + 1, Release);
    made as u32
}

fn is(class: u32, size: usize, frames: &[u64]) -> bool {
    let record: *const Class = CLASSES.get(class as usize).cast();
    if record.is_null() {
        return false;
    }
    // SAFETY: the index names complete classes only, which never change; `depth` addresses lie after the record.
    unsafe {
        let stack = record.add(1).cast::<u64>();
        (*record).size == size as u64
            && core::slice::from_raw_parts(stack, (*record).depth as usize) == frames
    }
}

/// The addresses that the active functions return to, from the one with this frame outwards, and how many.
///
/// Follows frame pointers, as far as they lead up the thread's own stack. A function that was compiled without them, and
/// keeps something else in that register, ends the walk or makes it skip its caller.
///
/// # Safety
///
/// `frame` is the frame pointer of a function that has not returned, and the stack is the calling thread's.
unsafe fn walk(mut frame: usize, (low, high): (usize, usize)) -> ([u64; MAX_FRAMES], usize) {
    let mut frames = [0; MAX_FRAMES];
    let mut depth = 0;
    // SAFETY: the caller's promise for the first, and each further one is an aligned pair of words above it on the
    // stack, all of which is mapped.
    unsafe {
        while depth < MAX_FRAMES {
            let code = sys::return_address(frame);
            if code < 4096 {
                break;
            }
            frames[depth] = code;
            depth += 1;
            let next = *(frame as *const usize);
            let inside = frame >= low
                && next > frame
                && next.is_multiple_of(8)
                && next <= high.saturating_sub(16);
            if !inside {
                break;
            }
            frame = next;
        }
    }
    (frames, depth)
}
