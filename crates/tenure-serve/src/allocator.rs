//! The allocator of the process, beside what Rust knows of it.

/// Has the allocator give its free memory back to the system: glibc's keeps what lies below memory in use.
pub(crate) fn return_to_system() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes a number, and is free to run beside other threads that allocate.
    unsafe {
        libc::malloc_trim(0);
    }
}
