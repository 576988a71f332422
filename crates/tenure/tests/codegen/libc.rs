//! What the library names of libc: for a build that is read and not linked.

#![crate_name = "libc"]
#![crate_type = "rlib"]
#![no_std]
#![allow(nonstandard_style)]

pub use core::ffi::{c_int, c_long, c_ulong, c_void};

pub type pid_t = i32;
pub type cpu_set_t = [c_ulong; 16];

pub const SYS_gettid: c_long = 186;
pub const SYS_membarrier: c_long = 324;
pub const MEMBARRIER_CMD_QUERY: c_int = 0;
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED: c_int = 8;
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: c_int = 16;
pub const PROT_READ: c_int = 1;
pub const PROT_WRITE: c_int = 2;
pub const MAP_PRIVATE: c_int = 2;
pub const MAP_ANONYMOUS: c_int = 32;
pub const MAP_FAILED: *mut c_void = !0 as *mut c_void;
pub const ENOENT: c_int = 2;
pub const ESRCH: c_int = 3;

unsafe extern "C" {
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub fn munmap(address: *mut c_void, length: usize) -> c_int;
    pub fn sched_getcpu() -> c_int;
    pub fn sched_getaffinity(thread: pid_t, size: usize, cpus: *mut cpu_set_t) -> c_int;
    pub fn sched_setaffinity(thread: pid_t, size: usize, cpus: *const cpu_set_t) -> c_int;
}
