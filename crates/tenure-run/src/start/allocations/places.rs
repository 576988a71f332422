//! Takes the places of Rust's four functions of the allocator, by the linker's `--wrap`, and hands them to the runtime.
//!
//! Rust's calling convention is C's where all arguments fit into registers. These are jumps, so the runtime sees the caller.
#![no_std]

type AllocFn = unsafe extern "C" fn(usize, usize) -> *mut u8;
type ReallocFn = unsafe extern "C" fn(*mut u8, usize, usize, usize) -> *mut u8;
type DeallocFn = unsafe extern "C" fn(*mut u8, usize, usize);

extern "C" {
    fn tenure_probe_alloc(size: usize, align: usize, real: AllocFn) -> *mut u8;
    fn tenure_probe_realloc(old: *mut u8, size: usize, align: usize, new: usize, real: ReallocFn) -> *mut u8;
    fn tenure_probe_dealloc(old: *mut u8, size: usize, align: usize, real: DeallocFn);

    #[link_name = "__real_@alloc@"]
    fn real_alloc(size: usize, align: usize) -> *mut u8;
    #[link_name = "__real_@alloc_zeroed@"]
    fn real_alloc_zeroed(size: usize, align: usize) -> *mut u8;
    #[link_name = "__real_@realloc@"]
    fn real_realloc(old: *mut u8, size: usize, align: usize, new: usize) -> *mut u8;
    #[link_name = "__real_@dealloc@"]
    fn real_dealloc(old: *mut u8, size: usize, align: usize);
}

#[export_name = "__wrap_@alloc@"]
pub unsafe extern "C" fn alloc(size: usize, align: usize) -> *mut u8 {
    // SAFETY: as the program's own call, here and below.
    unsafe { tenure_probe_alloc(size, align, real_alloc) }
}

#[export_name = "__wrap_@alloc_zeroed@"]
pub unsafe extern "C" fn alloc_zeroed(size: usize, align: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { tenure_probe_alloc(size, align, real_alloc_zeroed) }
}

#[export_name = "__wrap_@realloc@"]
pub unsafe extern "C" fn realloc(old: *mut u8, size: usize, align: usize, new: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { tenure_probe_realloc(old, size, align, new, real_realloc) }
}

#[export_name = "__wrap_@dealloc@"]
pub unsafe extern "C" fn dealloc(old: *mut u8, size: usize, align: usize) {
    // SAFETY: as above.
    unsafe { tenure_probe_dealloc(old, size, align, real_dealloc) }
}
