//! The allocator's functions: the program's own allocator does the work, the runtime notes what belongs to whom.
//!
//! Each passes its call on to the next definition of its name, which is the one that the program has without the runtime.
//! So what `new` returns comes to the `delete` of the same allocator, whichever that is, and functions that the runtime
//! does not know, such as `malloc_usable_size`, find their own blocks. Where one calls another, as libstdc++'s `new` calls
//! `malloc`, the outer one is noted.

use core::ffi::c_int;
use core::mem::transmute;
use core::ptr::null_mut;

use super::next::{Void, nexts};
use crate::runtime::{heap, lines, own, shadow, sys, threads, waits};

const PAGE: usize = 4096;

/// Functions of C, by what they are called in [`next`].
macro_rules! next {
    ($($function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        nexts! { c: $($function)* }

        mod next {
            use super::{Void, c, c_int, transmute};
            $(
                /// Passes a call on; `None` if there is no such function, or it is being looked up.
                #[inline(always)]
                pub(super) unsafe fn $function($($argument: $type),*) -> Option<next!(@result $($result)?)> {
                    let found = c::$function.get_unless_looking();
                    // SAFETY: a function of this name has this type, and the call is the program's own.
                    (!found.is_null()).then(|| unsafe {
                        type Signature = unsafe extern "C" fn($($type),*) -> next!(@result $($result)?);
                        transmute::<Void, Signature>(found)($($argument),*)
                    })
                }
            )*
        }
    };
    (@result) => { () };
    (@result $result:ty) => { $result };
}

next! {
    malloc(size: usize) -> Void;
    calloc(count: usize, size: usize) -> Void;
    realloc(old: Void, size: usize) -> Void;
    reallocarray(old: Void, count: usize, size: usize) -> Void;
    free(old: Void);
    memalign(align: usize, size: usize) -> Void;
    aligned_alloc(align: usize, size: usize) -> Void;
    posix_memalign(result: *mut Void, align: usize, size: usize) -> c_int;
    valloc(size: usize) -> Void;
    pvalloc(size: usize) -> Void;
}

nexts! { memory: mlockall }

/// Looks up the functions that these pass their calls on to. Called at the start.
pub(super) fn start() {
    c::prepare();
    cpp_new::prepare();
    cpp_delete::prepare();
    memory::prepare();
}

/// Has the allocator do something that makes a block, and notes the block unless another function of the allocator has called
/// this one.
///
/// # Safety
///
/// `frame` is the caller's frame pointer.
#[inline(always)]
pub(super) unsafe fn noted(size: usize, frame: usize, make: impl FnOnce() -> Void) -> Void {
    if !shadow::is_there() {
        return make();
    }
    let local = threads::current().or_else(threads::attach);
    let is_inner = local.is_some_and(threads::ThreadState::enter_allocator);
    let new = make();
    if let Some(local) = local {
        local.leave_allocator();
    }
    if !is_inner {
        // SAFETY: the caller's promise.
        waits::recording(|| unsafe { heap::allocated(new as usize, size, frame) });
    }
    new
}

/// Forgets an allocation before the allocator may give it to another thread.
pub(super) fn forget(old: Void) -> Option<usize> {
    waits::recording(|| {
        let size = heap::freed(old as usize)?;
        lines::forget(old as usize, size);
        Some(size)
    })
}

/// Has the allocator give a block another size. The old block may be given to another thread as soon as it is freed, so it
/// is forgotten first; if that fails the program keeps it, and it is noted anew.
///
/// # Safety
///
/// The same as for [`noted`].
#[inline(always)]
pub(super) unsafe fn resized(
    old: Void,
    size: usize,
    frame: usize,
    resize: impl FnOnce() -> Void,
) -> Void {
    let known = forget(old);
    // SAFETY: the caller's promise.
    unsafe {
        let new = noted(size, frame, resize);
        if let Some(known) = known.filter(|_| new.is_null() && size > 0) {
            noted(known, frame, || old);
        }
        new
    }
}

/// Functions that make a block of so many bytes, and what they give the runtime itself.
macro_rules! allocators {
    ($($name:ident($($argument:ident),*): $bytes:expr, $own:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: usize),*) -> Void {
            if let Some(own) = $own {
                return own;
            }
            // SAFETY: as the program's own call; the frame is this function's.
            unsafe { noted($bytes, sys::frame(), || next::$name($($argument),*).unwrap_or(null_mut())) }
        }
    )*};
}

allocators! {
    malloc(size): size, own::block(size);
    // A product that overflows gives null.
    calloc(count, size): count.wrapping_mul(size), count.checked_mul(size).and_then(own::block);
    memalign(align, size): size, None;
    aligned_alloc(align, size): size, None;
    valloc(size): size, None;
    pvalloc(size): size, None;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: Void, size: usize) -> Void {
    if let Some(known) = own::size(old) {
        // SAFETY: the block has so many bytes, and so has the new one, which is another.
        unsafe {
            let new = malloc(size);
            if !new.is_null() {
                old.cast::<u8>().copy_to_nonoverlapping(new.cast(), known.min(size));
            }
            return new;
        }
    }
    if old.is_null()
        && let Some(own) = own::block(size)
    {
        return own;
    }
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { resized(old, size, sys::frame(), || next::realloc(old, size).unwrap_or(null_mut())) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn reallocarray(old: Void, count: usize, size: usize) -> Void {
    let call = || {
        // SAFETY: as the program's own call.
        unsafe { next::reallocarray(old, count, size).unwrap_or(null_mut()) }
    };
    match count.checked_mul(size) {
        // SAFETY: the frame is this function's.
        Some(bytes) => unsafe { resized(old, bytes, sys::frame(), call) },
        None => call(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(old: Void) {
    if !old.is_null() && own::size(old).is_none() {
        forget(old);
        // SAFETY: as the program's own call.
        unsafe { next::free(old) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(result: *mut Void, align: usize, size: usize) -> c_int {
    const ENOMEM: c_int = 12;
    let mut error = ENOMEM;
    // SAFETY: as the program's own call, whose result is read if it was written; the frame is this function's.
    unsafe {
        noted(size, sys::frame(), || {
            error = next::posix_memalign(result, align, size).unwrap_or(ENOMEM);
            if error == 0 { *result } else { null_mut() }
        });
    }
    error
}

/// C++'s `new`. That of libstdc++ has no frame pointer, so its caller would not be seen. The last arguments are there for
/// some forms only, and are passed on as they are. Without a C++ library that the loader finds, as where a plugin has its
/// own, they are C's functions, as they are in libstdc++.
macro_rules! new {
    ($($name:ident: $align:expr;)*) => {
        nexts! { cpp_new: $($name)* }

        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(size: usize, second: usize, third: usize) -> Void {
                let align: fn(usize) -> usize = $align;
                // SAFETY: as the program's own call; the frame is this function's. The next function of this name has this
                // signature or fewer arguments. Its exception passes through this frame, which owns nothing and has unwind
                // tables.
                unsafe {
                    noted(size, sys::frame(), || {
                        type New = unsafe extern "C" fn(usize, usize, usize) -> Void;
                        let next = cpp_new::$name.get();
                        let new = match align(second) {
                            _ if !next.is_null() => Some(transmute::<Void, New>(next)(size, second, third)),
                            0 => next::malloc(size.max(1)),
                            align => next::memalign(align, size.max(1)),
                        };
                        new.unwrap_or(null_mut())
                    })
                }
            }
        )*
    };
}

new! {
    _Znwm: |_| 0;
    _Znam: |_| 0;
    _ZnwmRKSt9nothrow_t: |_| 0;
    _ZnamRKSt9nothrow_t: |_| 0;
    _ZnwmSt11align_val_t: |align| align;
    _ZnamSt11align_val_t: |align| align;
    _ZnwmSt11align_val_tRKSt9nothrow_t: |align| align;
    _ZnamSt11align_val_tRKSt9nothrow_t: |align| align;
}

/// C++'s `delete`, as `new`: an allocator that brings its own does not call `free` there.
macro_rules! delete {
    ($($name:ident)*) => {
        nexts! { cpp_delete: $($name)* }

        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(old: Void, second: usize, third: usize) {
                if old.is_null() {
                    return;
                }
                forget(old);
                type Delete = unsafe extern "C" fn(Void, usize, usize);
                let next = cpp_delete::$name.get();
                // SAFETY: as the program's own call; the next function of this name has this signature or fewer arguments.
                unsafe {
                    match next.is_null() {
                        true => _ = next::free(old),
                        false => transmute::<Void, Delete>(next)(old, second, third),
                    }
                }
            }
        )*
    };
}

delete! {
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
    _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
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

/// Does nothing while recording, as in ThreadSanitizer: all of the shadow would get pages.
#[unsafe(no_mangle)]
unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    let next = memory::mlockall.get();
    if shadow::is_there() || next.is_null() {
        return 0;
    }
    // SAFETY: the C library's function of this name has this type; as the program's own call.
    unsafe { transmute::<Void, unsafe extern "C" fn(c_int) -> c_int>(next)(flags) }
}
