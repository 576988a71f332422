//! System calls by which threads wait for each other: the time that they take is no work.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long};

use crate::runtime::{shadow, sys, threads, waits};

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    waits::waited(sys::give_way) as c_int
}

/// As the C library's, but for `futex`, which std calls through this function. Without a frame: a call may be one after
/// which a child goes on with another stack.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall(number: c_long) -> c_long {
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        "cmp rdi, 202", "je {futex}",
        "mov rax, rdi", "mov rdi, rsi", "mov rsi, rdx", "mov rdx, rcx", "mov r10, r8", "mov r8, r9",
        "mov r9, qword ptr [rsp + 8]", "syscall",
        "cmp rax, -4095", "jae 2f", "ret",
        "2:", "mov rdi, rax", "jmp {failed}",
        futex = sym futex, failed = sym failed
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        "cmp x0, #98", "b.eq {futex}",
        "mov x8, x0", "mov x0, x1", "mov x1, x2", "mov x2, x3", "mov x3, x4", "mov x4, x5", "mov x5, x6", "svc 0",
        "cmn x0, #4095", "b.cs 2f", "ret",
        "2:", "b {failed}",
        futex = sym futex, failed = sym failed
    );
}

extern "C" fn failed(result: isize) -> c_long {
    // SAFETY: the C library's `errno` of this thread.
    unsafe { *sys::__errno_location() = -result as c_int };
    -1
}

/// `syscall` of `futex`. A lock that is given back wakes a thread that waits for it. A thread that waits is not away from a line
/// for its own work.
unsafe extern "C" fn futex(
    _: c_long,
    word: usize,
    operation: usize,
    value: usize,
    timeout: usize,
    other: usize,
    value_3: usize,
) -> c_long {
    const WAIT: usize = 0;
    const WAKE: usize = 1;
    const WAIT_BITSET: usize = 9;
    const OPERATION: usize = 127;
    let arguments = [word, operation, value, timeout, other, value_3];
    // SAFETY: the program's own call.
    let call = || unsafe { sys::futex(arguments) };
    if let (WAIT | WAIT_BITSET, Some(local)) = (operation & OPERATION, threads::current()) {
        local.times.forget_gap();
    }
    let is_for_lock =
        operation & OPERATION == WAKE && shadow::is_there() && shadow::is_contended(word);
    let result = if is_for_lock { waits::waited(call) } else { call() };
    if result < 0 { failed(result) } else { result as c_long }
}
