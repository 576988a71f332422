//! The runtime inside of an instrumented process.
//!
//! The compiler calls `__tsan_write8(address)` and its like before every access. Nearly all of them are to memory that
//! one thread has to itself, and cost a thread-local load, a load from the shadow and a comparison.
//!
//! ```text
//!  interface/   the symbols: accesses, atomics, malloc, pthreads
//!      │
//!  waits        how long threads wait for contended lines
//!      │
//!  lines        what an access does: noted in words, or counted
//!      │
//!  heap         which allocation an address belongs to, and its class
//!      │
//!  modules      the programs and libraries that are loaded
//!      │
//!  threads      a thread's record, its beginning and end
//!      │
//!  entries      what a thread does to contended lines
//!      │
//!  shadow       two words for each line, and the clock
//!      │
//!  words        who uses a line, and when that changes
//!      │
//!  store        the segment: blocks, appended to under a lock
//!      │
//!  own          memory for what the runtime asks of the C library
//!      │
//!  sys          the kernel, the C library, thread-locals, frames
//! ```
//!
//! **What may happen here.** The runtime never allocates from the heap that it watches, never panics, takes one
//! lock for what is rare, and gives up recording instead of failing. A signal handler that interrupts it in the middle
//! finds its thread busy, and its accesses are dropped and counted.
//!
//! **Who writes what.** A thread's record, its entries and its index are written by that thread alone, and read by the
//! observer in the other process. Blocks, classes and line records are appended under [`store::lock`]. The words of a
//! line are changed by the threads that access it: [`line_words`] has the rules.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the runtime is below `Memory`: the programs that it watches use the machine's own atomics"
)]

#[cfg(tenure_runtime)]
mod interface;

mod entries;
mod heap;
mod line_words;
mod lines;
mod modules;
mod own;
mod shadow;
mod store;
mod sys;
mod threads;
mod times;
mod waits;

use core::ffi::{CStr, c_char};
// `words` takes its atomics from here, as it takes loom's in the models.
use core::sync::atomic;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use crate::segment::StartFailure;

/// A forked child that has no segment of its own yet.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Begins to record, if `TENURE_PROBE_DIR` names a directory that a segment can be made in.
///
/// # Safety
///
/// This is called once.
unsafe fn start() {
    // SAFETY: no thread records before `threads::start`, so none uses the store.
    if unsafe { !create_segment() } {
        return;
    }
    if heap::start() && lines::start() {
        threads::start();
    } else {
        store::fail(StartFailure::NoAddressSpace);
    }
}

/// Has a forked child forget what its parent had. It makes a segment when it first needs one: most children call `exec`.
fn forked() {
    store::forget_lock();
    threads::restart();
    FORKED.store(shadow::is_there(), Relaxed);
}

/// Begins to record in a forked child.
#[cold]
fn start_forked() {
    // Threads of a process that does not record come here at each access, so it is only read then. Two threads of the child
    // may come here at once; one of them makes the segment.
    if !FORKED.load(Relaxed) || !FORKED.swap(false, Relaxed) {
        return;
    }
    lines::restart();
    modules::restart();
    // SAFETY: no thread records, so none uses the store.
    if unsafe { create_segment() } && heap::restart() {
        threads::start();
    }
}

/// Makes a segment where the environment says. `false` if it does not, or if that cannot be done.
///
/// # Safety
///
/// No other thread uses the store.
unsafe fn create_segment() -> bool {
    let Some(directory) = variable(c"TENURE_PROBE_DIR") else { return false };
    let memory = variable(c"TENURE_PROBE_MEMORY").and_then(|text| text.to_str().ok()?.parse().ok());
    // SAFETY: the caller's promise.
    unsafe { store::create(directory, memory, shadow::LINE_BYTES as u32) }
}

/// An environment variable that is set and not empty.
fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero. The result is used at once.
    let value: *const c_char = unsafe { sys::getenv(name.as_ptr()) };
    // SAFETY: getenv returns null or a string that ends with a zero.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }).filter(|value| !value.is_empty())
}
