//! The symbols that programs see.

mod access;
mod atomics;
mod heap;
mod kernel;
mod next;
mod rust;
mod threads;

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use crate::runtime::{sys, waits};

/// The dynamic linker calls this before the program's own constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn() = start;

unsafe extern "C" fn start() {
    heap::start();
    threads::prepare();
    sys::keep_from_children(c"TENURE_PROBE_PRELOADED", c"LD_PRELOAD");
    IS_READY.store(true, Relaxed);
    if IS_WANTED.load(Relaxed) {
        begin();
    }
}

/// Whether the C library has the environment.
static IS_READY: AtomicBool = AtomicBool::new(false);
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Begins to record. Each file of instrumented code has a constructor that calls this before anything else of the runtime's,
/// so a process that has none records nothing. gcc has a program call it before all constructors, the C library's included.
/// A plugin may bring the first to a process that has threads.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    if !IS_READY.load(Relaxed) {
        IS_WANTED.store(true, Relaxed);
    } else {
        begin();
    }
}

fn begin() {
    static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
    if HAS_BEGUN.load(Relaxed) || HAS_BEGUN.swap(true, Relaxed) {
        return;
    }
    // SAFETY: called once.
    unsafe { super::start() };
    threads::start();
    waits::measure();
}

/// The dynamic linker calls this after the program's own destructors.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: unsafe extern "C" fn() = end;

unsafe extern "C" fn end() {
    if super::threads::current().is_some() {
        super::modules::scan();
    }
}

/// No code here panics. If it did, there would be nothing that the program could do.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn abort() -> !;
    }
    // SAFETY: has no preconditions.
    unsafe { abort() }
}

// Code of core that was compiled to unwind names this function. Nothing unwinds with `panic=abort`, so it is never called;
// it is hidden, because programs have one of their own.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality: ud2"
);
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality: brk 1"
);
