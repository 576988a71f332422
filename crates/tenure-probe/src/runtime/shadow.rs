//! The shadow of memory, a word for each line, and the clock that its words are stamped with.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::sys;

/// Addresses of user space: 47 bits on x86-64, 48 on aarch64.
pub(super) const ADDRESS_BITS: u32 = if cfg!(target_arch = "x86_64") { 47 } else { 48 };

/// The bits of a word that say what it is: 0, or one of the next three.
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

static SHADOW: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
static SHIFT: AtomicU32 = AtomicU32::new(6);
static CLOCK: AtomicU32 = AtomicU32::new(0);

/// Makes the shadow. `false` if there is no address space for it.
pub(super) fn start(line_bytes: usize) -> bool {
    SHIFT.store(line_bytes.trailing_zeros(), Relaxed);
    SHADOW.store(sys::reserve(size_of::<AtomicU32>() * words()).cast(), Relaxed);
    is_there()
}

/// Whether there is a shadow.
pub(super) fn is_there() -> bool {
    !SHADOW.load(Relaxed).is_null()
}

/// Forgets everything.
pub(super) fn clear() {
    clear_pages(SHADOW.load(Relaxed) as usize, words() * size_of::<AtomicU32>());
}

/// Forgets the lines from `start` up to `end` whose words fill pages, and returns where these lines begin and end.
pub(super) fn clear_between(start: usize, end: usize) -> (usize, usize) {
    let per_word = size_of::<AtomicU32>();
    let (first, behind) = (&raw const *word(start) as usize, &raw const *word(end) as usize);
    let (low, high) = (first.next_multiple_of(4096), behind & !4095);
    if low >= high {
        return (start, start);
    }
    clear_pages(low, high - low);
    (
        start + (low - first) / per_word * line_bytes(),
        end - (behind - high) / per_word * line_bytes(),
    )
}

fn clear_pages(address: usize, bytes: usize) {
    // SAFETY: whole pages of the shadow, and zeros are the words of memory that no thread has used.
    unsafe { sys::advise(address, bytes, sys::MADV_DONTNEED) };
}

fn words() -> usize {
    1 << (ADDRESS_BITS - SHIFT.load(Relaxed))
}

/// Bytes of a line.
pub(super) fn line_bytes() -> usize {
    1 << SHIFT.load(Relaxed)
}

/// The word of the line that an address is on. There has to be a shadow.
#[inline(always)]
pub(super) fn word(address: usize) -> &'static AtomicU32 {
    let line = (address & ((1 << ADDRESS_BITS) - 1)) >> SHIFT.load(Relaxed);
    // SAFETY: the mapping has a word for every line of user space and is never unmapped; all accesses are atomic. A
    // thread has a record only after `start` has succeeded, and `forget` looks first, so the pointer is not null.
    unsafe { &*SHADOW.load(Relaxed).add(line) }
}

/// The word of lines that a thread has to itself, used at that time.
pub(super) const fn exclusive(thread: u32, time: u32) -> u32 {
    EXCLUSIVE | ((thread % THREADS as u32) << STAMP_BITS) | (time % STAMPS)
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

/// The clock's next time.
pub(super) fn tick() -> u32 {
    CLOCK.fetch_add(1, Relaxed).wrapping_add(1)
}

/// The clock's time.
pub(super) fn time() -> u32 {
    CLOCK.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusive_word_keeps_its_thread_and_its_time() {
        let word = exclusive(THREADS as u32 + 7, 20);
        assert_eq!((word & STATE, thread(word)), (EXCLUSIVE, 7));
        assert!(is_before(word, 21));
        assert!(!is_before(word, 20));
        assert!(!is_before(word, 19));
    }

    #[test]
    fn stamps_that_have_wrapped_are_compared_the_short_way_round() {
        assert!(is_before(exclusive(1, STAMPS - 1), STAMPS + 3));
        assert!(!is_before(exclusive(1, 2), STAMPS - 1));
    }
}
