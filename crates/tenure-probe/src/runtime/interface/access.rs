//! Plain accesses: `__tsan_read8` and its like.

use core::ffi::{c_int, c_void};

use crate::runtime::lines::note;
use crate::runtime::{shadow, sys};
use crate::segment::Access;
use crate::segment::Access::{Read, Write};

/// Functions that note an access each, by `note` or by `note_range`.
macro_rules! accesses {
    ($note:ident: $($name:ident: $access:expr, $size:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(address: usize) {
                // SAFETY: the frame is this function's.
                unsafe { $note(address, $size, $access, sys::frame()) };
            }
        )*
    };
}

accesses! { note:
    __tsan_read1: Read, 1;
    __tsan_read2: Read, 2;
    __tsan_read4: Read, 4;
    __tsan_read8: Read, 8;
    __tsan_read16: Read, 16;
    __tsan_write1: Write, 1;
    __tsan_write2: Write, 2;
    __tsan_write4: Write, 4;
    __tsan_write8: Write, 8;
    __tsan_write16: Write, 16;
    // A read and a write of one word are one visit of its line.
    __tsan_read_write1: Write, 1;
    __tsan_read_write2: Write, 2;
    __tsan_read_write4: Write, 4;
    __tsan_read_write8: Write, 8;
    __tsan_read_write16: Write, 16;
    __tsan_volatile_read1: Read, 1;
    __tsan_volatile_read2: Read, 2;
    __tsan_volatile_read4: Read, 4;
    __tsan_volatile_read8: Read, 8;
    __tsan_volatile_read16: Read, 16;
    __tsan_volatile_write1: Write, 1;
    __tsan_volatile_write2: Write, 2;
    __tsan_volatile_write4: Write, 4;
    __tsan_volatile_write8: Write, 8;
    __tsan_volatile_write16: Write, 16;
    __tsan_vptr_read: Read, 8;
}

// They may cross from one line to the next.
accesses! { note_range:
    __tsan_unaligned_read2: Read, 2;
    __tsan_unaligned_read4: Read, 4;
    __tsan_unaligned_read8: Read, 8;
    __tsan_unaligned_read16: Read, 16;
    __tsan_unaligned_write2: Write, 2;
    __tsan_unaligned_write4: Write, 4;
    __tsan_unaligned_write8: Write, 8;
    __tsan_unaligned_write16: Write, 16;
    __tsan_unaligned_read_write2: Write, 2;
    __tsan_unaligned_read_write4: Write, 4;
    __tsan_unaligned_read_write8: Write, 8;
    __tsan_unaligned_read_write16: Write, 16;
    __tsan_unaligned_volatile_read2: Read, 2;
    __tsan_unaligned_volatile_read4: Read, 4;
    __tsan_unaligned_volatile_read8: Read, 8;
    __tsan_unaligned_volatile_read16: Read, 16;
    __tsan_unaligned_volatile_write2: Write, 2;
    __tsan_unaligned_volatile_write4: Write, 4;
    __tsan_unaligned_volatile_write8: Write, 8;
    __tsan_unaligned_volatile_write16: Write, 16;
}

/// Notes one access for each line that the range is on.
#[inline(always)]
unsafe fn note_range(start: usize, bytes: usize, access: Access, frame: usize) {
    let line = shadow::LINE_BYTES;
    let (mut address, end) = (start, start.saturating_add(bytes));
    while address < end {
        let next = ((address & !(line - 1)) + line).min(end);
        // SAFETY: the caller passes its own frame.
        unsafe { note(address, (next - address) as u8, access, frame) };
        address = next;
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_read_range(address: usize, bytes: usize) {
    // SAFETY: the frame is this function's.
    unsafe { note_range(address, bytes, Read, sys::frame()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_write_range(address: usize, bytes: usize) {
    // SAFETY: the frame is this function's.
    unsafe { note_range(address, bytes, Write, sys::frame()) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_vptr_update(address: usize, new: usize) {
    // Constructors of base classes store what is there already; ThreadSanitizer does not count that either.
    // SAFETY: the program is about to write the word, so it can be read. The frame is this function's.
    unsafe {
        if *(address as *const usize) != new {
            note(address, 8, Write, sys::frame());
        }
    }
}

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: the program's promise for memcpy; the frame is this function's.
    unsafe {
        note_range(from as usize, bytes, Read, sys::frame());
        note_range(to as usize, bytes, Write, sys::frame());
        memcpy(to, from, bytes)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memmove(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: the program's promise for memmove; the frame is this function's.
    unsafe {
        note_range(from as usize, bytes, Read, sys::frame());
        note_range(to as usize, bytes, Write, sys::frame());
        memmove(to, from, bytes)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void {
    // SAFETY: the program's promise for memset; the frame is this function's.
    unsafe {
        note_range(to as usize, bytes, Write, sys::frame());
        memset(to, value, bytes)
    }
}

/// Calls that say nothing about accesses: function frames, and what programs tell ThreadSanitizer about themselves.
macro_rules! ignored {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> usize {
                0
            }
        )*
    };
}

ignored! {
    __tsan_init __tsan_func_entry __tsan_func_exit __tsan_acquire __tsan_release __tsan_ignore_thread_begin
    __tsan_ignore_thread_end __tsan_mutex_create __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_lock
    __tsan_mutex_pre_unlock __tsan_mutex_pre_signal __tsan_mutex_post_signal __tsan_mutex_pre_divert
    __tsan_mutex_post_divert __tsan_external_register_tag __tsan_external_register_header
    __tsan_external_assign_tag __tsan_external_read __tsan_external_write __tsan_get_current_fiber
    __tsan_create_fiber __tsan_destroy_fiber __tsan_switch_to_fiber __tsan_set_fiber_name __tsan_flush_memory
    AnnotateHappensBefore AnnotateHappensAfter AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd
    AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd
    AnnotateBenignRace AnnotateBenignRaceSized AnnotateNewMemory AnnotateRWLockCreate AnnotateRWLockDestroy
    AnnotateRWLockAcquired AnnotateRWLockReleased AnnotateMutexIsUsedAsCondVar AnnotatePublishMemoryRange
    AnnotateUnpublishMemoryRange AnnotateThreadName AnnotateFlushState AnnotateExpectRace WTFAnnotateBenignRaceSized
}
