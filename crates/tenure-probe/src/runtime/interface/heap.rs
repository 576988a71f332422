//! The allocator's functions: glibc's own do the work, the runtime notes what belongs to whom.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use crate::runtime::{heap, lines, shadow, sys, waits};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    fn __libc_free(old: *mut c_void);
}

const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;
const PAGE: usize = 4096;

/// Whether the program's `malloc` is the one below. A program may bring its own, whose `free` does not know blocks of
/// glibc's: then functions that call `malloc` in turn are left to the library that they belong to.
static IS_OURS: AtomicBool = AtomicBool::new(false);

pub(super) fn start() {
    IS_OURS.store(sys::is_ours(c"malloc", start as fn() as *const c_void), Relaxed);
}

/// Notes a new allocation and passes it on.
#[inline(always)]
unsafe fn noted(new: *mut c_void, size: usize, frame: usize) -> *mut c_void {
    if shadow::is_there() {
        // SAFETY: the caller passes its own frame.
        waits::recording(|| unsafe { heap::allocated(new as usize, size, frame) });
    }
    new
}

/// Forgets an allocation before the allocator may give it to another thread.
fn forget(old: *mut c_void) -> Option<usize> {
    waits::recording(|| {
        let size = heap::freed(old as usize)?;
        lines::forget(old as usize, size);
        Some(size)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { noted(__libc_malloc(size), size, sys::frame()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's. A product that overflows gave null.
    unsafe { noted(__libc_calloc(count, size), count.wrapping_mul(size), sys::frame()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as the program's own call. The old block may be given to another thread as soon as it is freed, so it is
    // forgotten first; if the call fails the program keeps it, and it is noted anew.
    unsafe {
        let known = forget(old);
        let new = __libc_realloc(old, size);
        match known {
            Some(known) if new.is_null() && size > 0 => _ = noted(old, known, sys::frame()),
            _ => _ = noted(new, size, sys::frame()),
        }
        new
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(old: *mut c_void, count: usize, size: usize) -> *mut c_void {
    type Real = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
    let ours = IS_OURS.load(Relaxed);
    let real = if ours { null_mut() } else { sys::next(c"reallocarray") };
    let bytes = count.checked_mul(size).filter(|_| ours || !real.is_null());
    // SAFETY: as the program's own call; the error number is the thread's own.
    unsafe {
        match bytes {
            Some(bytes) if ours => realloc(old, bytes),
            Some(_) => transmute::<*mut c_void, Real>(real)(old, count, size),
            None => {
                *sys::__errno_location() = ENOMEM;
                null_mut()
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(old: *mut c_void) {
    if !old.is_null() {
        forget(old);
        // SAFETY: as the program's own call.
        unsafe { __libc_free(old) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { noted(__libc_memalign(align, size), size, sys::frame()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { noted(__libc_memalign(align, size), size, sys::frame()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<*mut c_void>()) {
        return EINVAL;
    }
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe {
        let new = noted(__libc_memalign(align, size), size, sys::frame());
        if new.is_null() {
            return ENOMEM;
        }
        *result = new;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { noted(__libc_memalign(PAGE, size), size, sys::frame()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { noted(__libc_memalign(PAGE, size.next_multiple_of(PAGE)), size, sys::frame()) }
}

/// C++'s `new`. That of libstdc++ has no frame pointer, so its caller would not be seen. The real one is called where
/// `malloc` is not ours, and where there is no memory: it calls the program's handler and throws. The last arguments are
/// there for some forms only, and are passed on as they are.
macro_rules! new {
    ($($name:ident = $real:literal, $align:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(size: usize, second: usize, third: usize) -> *mut c_void {
                let align: fn(usize) -> usize = $align;
                // SAFETY: as the program's own call; the frame is this function's.
                unsafe {
                    let new = if IS_OURS.load(Relaxed) {
                        allocate(align(second), size.max(1))
                    } else {
                        null_mut()
                    };
                    if new.is_null() {
                        real_new($real, size, second, third)
                    } else {
                        noted(new, size, sys::frame())
                    }
                }
            }
        )*
    };
}

new! {
    _Znwm = c"_Znwm", |_| 0;
    _Znam = c"_Znam", |_| 0;
    _ZnwmRKSt9nothrow_t = c"_ZnwmRKSt9nothrow_t", |_| 0;
    _ZnamRKSt9nothrow_t = c"_ZnamRKSt9nothrow_t", |_| 0;
    _ZnwmSt11align_val_t = c"_ZnwmSt11align_val_t", |align| align;
    _ZnamSt11align_val_t = c"_ZnamSt11align_val_t", |align| align;
    _ZnwmSt11align_val_tRKSt9nothrow_t = c"_ZnwmSt11align_val_tRKSt9nothrow_t", |align| align;
    _ZnamSt11align_val_tRKSt9nothrow_t = c"_ZnamSt11align_val_tRKSt9nothrow_t", |align| align;
}

#[inline(always)]
unsafe fn allocate(align: usize, size: usize) -> *mut c_void {
    // SAFETY: as the program's own call.
    unsafe { if align == 0 { __libc_malloc(size) } else { __libc_memalign(align, size) } }
}

/// Calls the C++ library's form of `new`, which throws, unless it is one that returns null.
///
/// # Safety
///
/// The name is that of a form of `new`, and the others are its arguments.
#[cold]
unsafe fn real_new(name: &CStr, size: usize, second: usize, third: usize) -> *mut c_void {
    // SAFETY: the next function of this name has this signature or fewer arguments. Its exception passes through this
    // frame and its caller's, which own nothing and have unwind tables.
    unsafe {
        let real = sys::next(name);
        if real.is_null() {
            return null_mut();
        }
        type Real = unsafe extern "C" fn(usize, usize, usize) -> *mut c_void;
        transmute::<*mut c_void, Real>(real)(size, second, third)
    }
}

/// The kernel's answer, as the C library gives it.
unsafe fn result(answer: isize) -> isize {
    if (-4095..0).contains(&answer) {
        // SAFETY: the thread's own error number.
        unsafe { *sys::__errno_location() = -answer as c_int };
        return -1;
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: usize, bytes: usize) -> c_int {
    if address.is_multiple_of(PAGE) {
        waits::recording(|| lines::forget(address, bytes));
    }
    // SAFETY: as the program's own call.
    unsafe { result(sys::unmap(address, bytes)) as c_int }
}

/// Forgets what is moved away, and what it replaces. The last argument is there for some flags only.
#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    old: usize,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    new: usize,
) -> isize {
    const MREMAP_FIXED: c_int = 2;
    if old.is_multiple_of(PAGE) {
        waits::recording(|| lines::forget(old, old_bytes));
    }
    if flags & MREMAP_FIXED != 0 && new.is_multiple_of(PAGE) {
        waits::recording(|| lines::forget(new, new_bytes));
    }
    // SAFETY: as the program's own call.
    unsafe { result(sys::remap(old, old_bytes, new_bytes, flags, new)) }
}

/// Does nothing, as in ThreadSanitizer: all of the shadow would get pages.
#[unsafe(no_mangle)]
extern "C" fn mlockall(_: c_int) -> c_int {
    0
}
