//! The shadow of memory, two words for each line, and the clock that they are stamped with.
//!
//! The first word says who uses the line, and is changed by compare-exchanges. The second says how the thread that has the
//! line to itself has used it: only that thread writes it, with plain stores. The two are never one access, so a thread
//! that has just lost the line may still change the second: then one access of many is attributed wrongly.

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::sys;

/// Addresses of user space: 47 bits on x86-64, 48 on aarch64.
pub(super) const ADDRESS_BITS: u32 = if cfg!(target_arch = "x86_64") { 47 } else { 48 };

/// The bits of the first word that say what it is: 0, or one of the next three.
pub(super) const STATE: u32 = 3 << 30;
/// One thread has the line, and its number and stamp follow.
pub(super) const EXCLUSIVE: u32 = 1 << 30;
/// Threads have read the line since the last write.
pub(super) const READ_SHARED: u32 = 2 << 30;
/// Threads contend for the line, and the number of its record follows.
pub(super) const CONTENDED: u32 = 3 << 30;

/// Threads that words tell apart.
pub(super) const THREADS: usize = 1 << 15;
const STAMP_BITS: u32 = 15;
const STAMPS: u32 = 1 << STAMP_BITS;

/// The logarithm of the bytes of a line: a constant, because every access needs it.
const SHIFT: u32 = if cfg!(tenure_line = "128") { 7 } else { 6 };
/// Bytes of a line.
pub(super) const LINE_BYTES: usize = 1 << SHIFT;

/// What every access reads, on one line.
#[repr(align(64))]
struct Globals {
    shadow: AtomicPtr<Words>,
    clock: AtomicU32,
}

static GLOBALS: Globals =
    Globals { shadow: AtomicPtr::new(core::ptr::null_mut()), clock: AtomicU32::new(0) };

/// What is known of a line.
#[repr(C)]
pub(super) struct Words {
    /// Who uses it.
    pub(super) who: AtomicU32,
    /// How the thread that has it to itself has used it: accesses, up to 65,535, in the low half; above that a bit for
    /// each eighth that was read, and above that for each that was written.
    pub(super) how: AtomicU32,
}

impl Words {
    /// Notes an access of the thread that has the line to itself.
    #[inline(always)]
    pub(super) fn note(&self, address: usize, writes: bool) {
        let how = self.how.load(Relaxed);
        let eighth = (address >> (SHIFT - 3)) & 7;
        let bit = 1 << (16 + 8 * u32::from(writes) + eighth as u32);
        // The usual case has nothing to store.
        if how & bit == 0 || how as u16 != u16::MAX {
            self.how.store((how | bit) + u32::from(how as u16 != u16::MAX), Relaxed);
        }
    }
}

/// Makes the shadow. `false` if there is no address space for it.
pub(super) fn start() -> bool {
    GLOBALS.shadow.store(sys::reserve(size_of::<Words>() * lines()).cast(), Relaxed);
    is_there()
}

/// Whether there is a shadow.
pub(super) fn is_there() -> bool {
    !GLOBALS.shadow.load(Relaxed).is_null()
}

/// Forgets everything.
pub(super) fn clear() {
    clear_pages(GLOBALS.shadow.load(Relaxed) as usize, lines() * size_of::<Words>());
}

/// Forgets the lines from `start` up to `end` whose words fill pages, and returns where these lines begin and end.
pub(super) fn clear_between(start: usize, end: usize) -> (usize, usize) {
    let per_line = size_of::<Words>();
    let (first, behind) = (&raw const *words(start) as usize, &raw const *words(end) as usize);
    let (low, high) = (first.next_multiple_of(4096), behind & !4095);
    if low >= high {
        return (start, start);
    }
    clear_pages(low, high - low);
    (start + (low - first) / per_line * LINE_BYTES, end - (behind - high) / per_line * LINE_BYTES)
}

fn clear_pages(address: usize, bytes: usize) {
    // SAFETY: whole pages of the shadow, and zeros are the words of memory that no thread has used.
    unsafe { sys::advise(address, bytes, sys::MADV_DONTNEED) };
}

fn lines() -> usize {
    1 << (ADDRESS_BITS - SHIFT)
}

/// The words of the line that an address is on. There has to be a shadow.
#[inline(always)]
pub(super) fn words(address: usize) -> &'static Words {
    let line = (address & ((1 << ADDRESS_BITS) - 1)) >> SHIFT;
    // SAFETY: the mapping has words for every line of user space and is never unmapped; all accesses are atomic. A
    // thread has a record only after `start` has succeeded, and `forget` looks first, so the pointer is not null.
    unsafe { &*GLOBALS.shadow.load(Relaxed).add(line) }
}

/// The word of lines that a thread has to itself, without the time.
pub(super) const fn exclusive(thread: u32) -> u32 {
    EXCLUSIVE | ((thread % THREADS as u32) << STAMP_BITS)
}

/// An exclusive word with the present time.
#[inline(always)]
pub(super) fn stamped(exclusive: u32) -> u32 {
    exclusive | (time() % STAMPS)
}

/// The thread of an exclusive word.
pub(super) const fn thread(word: u32) -> u32 {
    (word >> STAMP_BITS) % THREADS as u32
}

/// Whether an exclusive word was stamped before that time.
pub(super) const fn is_before(word: u32, time: u32) -> bool {
    // Stamps wrap: of two, that one is earlier from which it is less than half of the way round to the other.
    let since = time.wrapping_sub(word) % STAMPS;
    since != 0 && since < STAMPS / 2
}

/// The clock's next time, at which a thread is created.
pub(super) fn tick() -> u32 {
    GLOBALS.clock.fetch_add(1, Relaxed).wrapping_add(1)
}

/// The clock's time.
#[inline(always)]
pub(super) fn time() -> u32 {
    GLOBALS.clock.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusive_word_keeps_its_thread_and_its_time() {
        let word = exclusive(THREADS as u32 + 7) | 20;
        assert_eq!((word & STATE, thread(word)), (EXCLUSIVE, 7));
        assert!(is_before(word, 21));
        assert!(!is_before(word, 20));
        assert!(!is_before(word, 19));
    }

    #[test]
    fn stamps_that_have_wrapped_are_compared_the_short_way_round() {
        assert!(is_before(exclusive(1) | (STAMPS - 1), STAMPS + 3));
        assert!(!is_before(exclusive(1) | 2, STAMPS - 1));
    }
}
