//! Plain accesses: `__tsan_read8` and its like.

use core::ffi::{c_int, c_void};

use crate::runtime::lines::{self, note, note_range};
use crate::runtime::{line_words, shadow, sys, threads, waits};
use crate::segment::AccessKind::{Read, Write};

/// A function for each of these sizes of an access: `__tsan_`, what it is called, and the bytes.
macro_rules! accesses {
    ($note:ident $sizes:tt: $($name:literal: $access:expr;)*) => {
        $(accesses! { @each $note $name, $access, $sizes })*
    };
    (@each $note:ident $name:literal, $access:expr, [$($size:literal)*]) => {
        $($note! { $name $size, $access, $size })*
    };
}

/// A function that notes an access, which may cross from one line to the next.
macro_rules! unaligned {
    ($name:literal $number:literal, $access:expr, $size:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__tsan_", $name, $number))]
            extern "C" fn noted(address: usize) {
                note_range(address, $size, $access, sys::caller());
            }
        };
    };
}

/// A function that notes an access, as `note` does. Programs spend most of their time here.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! fast {
    ($name:literal $number:literal, $access:expr, $size:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__tsan_", $name, $number))]
            extern "C" fn noted(address: usize) {
                note(address, $size, $access, sys::caller());
            }
        };
    };
}

// As the compiler would write it, but without a frame: [`note`] up to what is rare.
#[cfg(target_arch = "x86_64")]
macro_rules! fast {
    ($name:literal $number:literal, $access:expr, $size:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!("__tsan_", $name, $number))]
            #[unsafe(naked)]
            extern "C" fn noted(_address: usize) {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    // The thread's record, if it has one.
                    "mov rax, qword ptr [rip + tenure_probe_thread@GOTTPOFF]",
                    "mov rax, qword ptr fs:[rax]",
                    "cmp rax, {ignored_thread}",
                    "jbe 4f",
                    // The line's first word.
                    "mov rdx, rdi",
                    "shl rdx, {left}",
                    "shr rdx, {right}",
                    "mov rcx, qword ptr [rip + {globals} + {shadow}]",
                    "mov ecx, dword ptr [rcx + 8 * rdx]",
                    // The thread's own, at the present time.
                    "mov edx, dword ptr [rip + {globals} + {clock}]",
                    "or edx, dword ptr [rax + {own}]",
                    "cmp ecx, edx",
                    "jne 3f",
                    "2:",
                    "dec dword ptr [rax + {until_sample}]",
                    "js 5f",
                    "ret",
                    "3:",
                    "cmp ecx, {ignored_word}",
                    "je 2b",
                    "mov rsi, rdi",
                    "mov rdi, rax",
                    "mov edx, {size}",
                    "mov ecx, {access}",
                    "mov r8, qword ptr [rsp]",
                    "jmp {shared}",
                    "4:",
                    "mov esi, {size}",
                    "mov edx, {access}",
                    "mov rcx, qword ptr [rsp]",
                    "jmp {first}",
                    "5:",
                    "mov esi, {access}",
                    "jmp {sample}",
                    ".cfi_endproc",
                    ignored_thread = const threads::IGNORED,
                    left = const usize::BITS - shadow::ADDRESS_BITS,
                    right = const usize::BITS - shadow::ADDRESS_BITS + line_words::SHIFT,
                    globals = sym shadow::GLOBALS,
                    shadow = const core::mem::offset_of!(shadow::Globals, shadow),
                    clock = const core::mem::offset_of!(shadow::Globals, clock),
                    own = const threads::OWN,
                    until_sample = const threads::UNTIL_SAMPLE,
                    ignored_word = const lines::ignored($access),
                    size = const $size,
                    access = const $access as u32,
                    shared = sym lines::note_shared,
                    first = sym lines::note_first,
                    sample = sym lines::note_sample,
                );
            }
        };
    };
}

accesses! { fast [1 2 4 8 16]:
    "read": Read;
    "write": Write;
    // A read and a write of one word are one visit of its line.
    "read_write": Write;
    "volatile_read": Read;
    "volatile_write": Write;
}
fast! { "vptr_read" "", Read, 8 }

accesses! { unaligned [2 4 8 16]:
    "unaligned_read": Read;
    "unaligned_write": Write;
    "unaligned_read_write": Write;
    "unaligned_volatile_read": Read;
    "unaligned_volatile_write": Write;
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_read_range(address: usize, bytes: usize) {
    note_range(address, bytes, Read, sys::caller());
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_write_range(address: usize, bytes: usize) {
    note_range(address, bytes, Write, sys::caller());
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_vptr_update(address: usize, new: usize) {
    // Constructors of base classes store what is there already; ThreadSanitizer does not count that either.
    // SAFETY: the program is about to write the word, so it can be read.
    if unsafe { *(address as *const usize) } != new {
        note(address, 8, Write, sys::caller());
    }
}

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void;
}

// Lengths that no memory has crash in the function itself, before they are noted.

macro_rules! copies {
    ($($name:ident: $copy:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void {
            // SAFETY: the program's promise for the function that it calls.
            unsafe { $copy(to, from, bytes) };
            note_range(from as usize, bytes, Read, sys::caller());
            note_range(to as usize, bytes, Write, sys::caller());
            to
        }
    )*};
}

copies! {
    __tsan_memcpy: memcpy;
    __tsan_memmove: memmove;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_memset(to: *mut c_void, value: c_int, bytes: usize) -> *mut c_void {
    // SAFETY: the program's promise for memset.
    unsafe { memset(to, value, bytes) };
    note_range(to as usize, bytes, Write, sys::caller());
    to
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
    __tsan_func_entry __tsan_func_exit __tsan_acquire __tsan_release __tsan_ignore_thread_begin
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
