//! The symbols that programs see.

mod access;
mod atomics;
mod heap;
mod kernel;
mod threads;

/// The dynamic linker calls this before the program's own constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn() = start;

unsafe extern "C" fn start() {
    // SAFETY: called once, while the process has one thread.
    unsafe { super::start() };
    heap::start();
    threads::start();
    access::measure();
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
