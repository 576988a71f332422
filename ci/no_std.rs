//! A program without std on the library without std. Linked by `ci/no_std.sh`, never run.

#![no_std]
#![no_main]

use tenure::count::{PutResult, RcuRef, Readable, TicketRef};

static FOREVER: RcuRef = RcuRef::new();

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // SAFETY: a static is never freed.
    let readable = unsafe { Readable::assume() };
    let ticket = TicketRef::new();
    let puts = [FOREVER.put(readable), ticket.put()];
    assert!(puts.iter().all(|put| *put == PutResult::Last), "{puts:?}");
    // Reported to the default hook, which says nothing without std.
    let _ = (FOREVER.put(readable), ticket.put());
    loop {}
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// core is compiled for unwinding and names this; with panic=abort nothing calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[cfg(allocator)]
mod allocator {
    use core::alloc::{GlobalAlloc, Layout};

    struct Nothing;

    // SAFETY: null is the answer of an allocator that has no memory.
    unsafe impl GlobalAlloc for Nothing {
        unsafe fn alloc(&self, _: Layout) -> *mut u8 {
            core::ptr::null_mut()
        }
        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }

    #[global_allocator]
    static NOTHING: Nothing = Nothing;
}
