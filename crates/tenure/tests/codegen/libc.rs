//! libc, as far as the library names it: what is compiled against this is read and not linked.

#![crate_name = "libc"]
#![crate_type = "rlib"]
#![no_std]
#![allow(nonstandard_style)]

pub use core::ffi::{c_int, c_long};

pub const SYS_membarrier: c_long = 324;
pub const MEMBARRIER_CMD_QUERY: c_int = 0;
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED: c_int = 8;
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: c_int = 16;

unsafe extern "C" {
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
}
