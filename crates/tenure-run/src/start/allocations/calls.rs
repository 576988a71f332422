//! Calls Rust's four functions of the allocator, so that their symbols can be read.
#![no_std]
extern crate alloc;

use alloc::alloc::Layout;

/// The optimizer may leave out an allocation that is freed at once, but not these.
pub static ALL: (
    unsafe fn(Layout) -> *mut u8,
    unsafe fn(Layout) -> *mut u8,
    unsafe fn(*mut u8, Layout, usize) -> *mut u8,
    unsafe fn(*mut u8, Layout),
) = (alloc::alloc::alloc, alloc::alloc::alloc_zeroed, alloc::alloc::realloc, alloc::alloc::dealloc);
