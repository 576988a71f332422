//! The shadow of memory, which has [`LineWords`] for each line, and the clock that they are stamped with.
//!
//! The shadow is one mapping that covers the whole address space, and takes pages only where memory is used.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::line_words::{CONTENDED, LineWords, SHIFT, STAMPS, STATE};
use super::sys;

/// Addresses of user space: 47 bits on x86-64, 48 on aarch64.
pub(super) const ADDRESS_BITS: u32 = if cfg!(target_arch = "x86_64") { 47 } else { 48 };

/// Bytes of a line.
pub(super) const LINE_BYTES: usize = 1 << SHIFT;

/// What every access reads, on one line.
#[repr(align(64))]
pub(super) struct Globals {
    pub(super) shadow: AtomicPtr<LineWords>,
    /// Below [`STAMPS`].
    pub(super) clock: AtomicU32,
}

pub(super) static GLOBALS: Globals =
    Globals { shadow: AtomicPtr::new(core::ptr::null_mut()), clock: AtomicU32::new(0) };

/// Makes the shadow. `false` if there is no address space for it.
pub(super) fn start() -> bool {
    GLOBALS.shadow.store(sys::reserve(size_of::<LineWords>() * lines()).cast(), Relaxed);
    is_there()
}

/// Whether there is a shadow.
pub(super) fn is_there() -> bool {
    !GLOBALS.shadow.load(Relaxed).is_null()
}

/// Forgets everything.
pub(super) fn clear() {
    clear_pages(GLOBALS.shadow.load(Relaxed) as usize, lines() * size_of::<LineWords>());
}

/// Forgets the lines from `start` up to `end` whose words fill pages, and returns where these lines begin and end.
pub(super) fn clear_between(start: usize, end: usize) -> (usize, usize) {
    let per_line = size_of::<LineWords>();
    let (first, after) = (&raw const *words(start) as usize, &raw const *words(end) as usize);
    let (low, high) = (first.next_multiple_of(4096), after & !4095);
    if low >= high {
        return (start, start);
    }
    clear_pages(low, high - low);
    (start + (low - first) / per_line * LINE_BYTES, end - (after - high) / per_line * LINE_BYTES)
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
pub(super) fn words(address: usize) -> &'static LineWords {
    // As two shifts: without a constant of 64 bits. Pointers may have tags in their high bits.
    let line = address << (usize::BITS - ADDRESS_BITS) >> (usize::BITS - ADDRESS_BITS + SHIFT);
    // SAFETY: the mapping has words for every line of user space and is never unmapped; all accesses are atomic. A
    // thread has a record only after `start` has succeeded, and `forget` checks first, so the pointer is not null.
    unsafe { &*GLOBALS.shadow.load(Relaxed).add(line) }
}

/// Whether threads contend for the line that an address is on. There has to be a shadow.
#[inline(always)]
pub(super) fn is_contended(address: usize) -> bool {
    words(address).who.load(Relaxed) & STATE == CONTENDED
}

/// An exclusive word with the present time.
#[inline(always)]
pub(super) fn stamped(exclusive: u32) -> u32 {
    exclusive | time()
}

/// The clock's next time, at which a thread is created.
pub(super) fn tick() -> u32 {
    let next = |time| Some((time + 1) % STAMPS);
    // Relaxed: the creation of the thread orders the clock's new time before all that the thread does.
    let before = GLOBALS.clock.fetch_update(Relaxed, Relaxed, next).unwrap_or_else(|time| time);
    (before + 1) % STAMPS
}

/// The clock's time.
#[inline(always)]
pub(super) fn time() -> u32 {
    GLOBALS.clock.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::line_words::{
        EXCLUSIVE, STATE, THREADS, before_use, exclusive, is_before, thread,
    };
    use crate::segment::Line;

    #[test]
    fn an_exclusive_word_keeps_its_thread_and_its_time() {
        let word = exclusive(THREADS + 7) | 20;
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

    #[test]
    fn accesses_are_counted_up_to_a_limit_and_eighths_marked_after_it() {
        let words = LineWords { who: AtomicU32::new(0), how: AtomicU32::new(0) };
        for _ in 0..7_000 {
            words.note(0, false, 10);
        }
        words.note((1 << SHIFT) - 1, true, 1);
        words.note(3 << SHIFT, true, 1);
        let line = Line { before_use: before_use(words.how.load(Relaxed)), ..Line::read(&[]) };
        assert_eq!(
            (line.accesses_before(), line.read_before(), line.written_before()),
            (65_535, 1, 0x81)
        );
    }
}
