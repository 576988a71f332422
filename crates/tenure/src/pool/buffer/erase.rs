//! Zeroing that the compiler may not leave out.
//!
//! Nothing reads the zeros as far as the compiler can see, so it may drop the stores, and does before a deallocation.
//! An empty piece of assembly that gets the pointer, and may use memory, counts as a reader.

use core::ptr::NonNull;

/// Fills the memory with zeros.
///
/// # Safety
///
/// The memory is the caller's to write.
#[cfg(all(
    not(miri),
    any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv64",
        target_arch = "riscv32",
        target_arch = "loongarch64",
    )
))]
#[inline]
pub(super) unsafe fn erase(memory: NonNull<u8>, len: usize) {
    // SAFETY: the caller may write there. The assembly does nothing.
    unsafe {
        memory.write_bytes(0, len);
        core::arch::asm!("/* {} */", in(reg) memory.as_ptr(), options(nostack, preserves_flags));
    }
}

/// As above, by volatile stores, a word at a time.
#[cfg(not(all(
    not(miri),
    any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "riscv64",
        target_arch = "riscv32",
        target_arch = "loongarch64",
    )
)))]
pub(super) unsafe fn erase(memory: NonNull<u8>, len: usize) {
    // SAFETY: passed on to the caller.
    unsafe { erase_by_words(memory, len) };
}

/// # Safety
///
/// As [`erase`].
#[cfg_attr(not(test), allow(dead_code, reason = "what other processors use, tested on this one"))]
unsafe fn erase_by_words(memory: NonNull<u8>, len: usize) {
    let head = memory.align_offset(align_of::<usize>()).min(len);
    let words = (len - head) / size_of::<usize>();
    let tail = head + words * size_of::<usize>();
    for at in (0..head).chain(tail..len) {
        // SAFETY: less than `len`, where the caller may write.
        unsafe { memory.add(at).write_volatile(0) };
    }
    for at in (head..tail).step_by(size_of::<usize>()) {
        // SAFETY: as above, for a word; aligned, because `head` leads to a word's boundary and all steps are words.
        unsafe { memory.add(at).cast::<usize>().write_volatile(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_range(erase: unsafe fn(NonNull<u8>, usize)) {
        // Longer than several words.
        const LENGTH: usize = if cfg!(miri) { 20 } else { 48 };
        for start in 0..LENGTH / 2 {
            for end in start..LENGTH {
                let mut bytes = [0xa5_u8; LENGTH];
                let memory = NonNull::from(&mut bytes[start..end]).cast();
                // SAFETY: the array is this function's.
                unsafe { erase(memory, end - start) };
                for (at, byte) in bytes.into_iter().enumerate() {
                    let expected = if (start..end).contains(&at) { 0 } else { 0xa5 };
                    assert_eq!(byte, expected, "byte {at} of {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn all_of_the_range_is_zero_and_nothing_else() {
        every_range(erase);
    }

    #[test]
    fn words_and_bytes_at_both_ends_make_the_whole_range() {
        every_range(erase_by_words);
    }
}
