//! Allocations by way of Rust's own functions, which lead to the program's `#[global_allocator]`: `tenure run` links programs
//! with calls from those to these, each with the function that does the work (`tenure-run`'s `start/allocations.rs`).
//!
//! Rust's calling convention is C's where all arguments fit into registers.

use core::ffi::c_void;

use super::heap::{forget, noted, resized};
use crate::runtime::sys;

type Alloc = unsafe extern "C" fn(size: usize, align: usize) -> *mut c_void;
type Realloc =
    unsafe extern "C" fn(old: *mut c_void, size: usize, align: usize, new: usize) -> *mut c_void;
type Dealloc = unsafe extern "C" fn(old: *mut c_void, size: usize, align: usize);

#[unsafe(no_mangle)]
unsafe extern "C" fn tenure_probe_alloc(size: usize, align: usize, real: Alloc) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { noted(size, sys::frame(), || real(size, align)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tenure_probe_realloc(
    old: *mut c_void,
    size: usize,
    align: usize,
    new: usize,
    real: Realloc,
) -> *mut c_void {
    // SAFETY: as the program's own call; the frame is this function's.
    unsafe { resized(old, new, sys::frame(), || real(old, size, align, new)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tenure_probe_dealloc(
    old: *mut c_void,
    size: usize,
    align: usize,
    real: Dealloc,
) {
    forget(old);
    // SAFETY: as the program's own call.
    unsafe { real(old, size, align) };
}
