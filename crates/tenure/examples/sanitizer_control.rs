//! Bugs that a sanitizer has to find: the proof that `ci/asan.sh` can fail.
//!
//! Each is a misuse of a count that the counts cannot see. Run by that script only.

use std::process::ExitCode;
use tenure::count::PutResult;
use tenure::count::generic::TicketRef;

struct Object {
    count: TicketRef,
}

fn object() -> Box<Object> {
    Box::new(Object { count: TicketRef::new() })
}

/// A holder goes on reading after it was told to destroy the object, and did.
fn use_after_free() {
    let object = Box::into_raw(object());
    // SAFETY: alive: its reference has not been put yet.
    let put = unsafe { (*object).count.put() };
    if put == PutResult::Last {
        // SAFETY: told to destroy it.
        drop(unsafe { Box::from_raw(object) });
    }
    // SAFETY: none. This is the bug.
    let dead = unsafe { (*object).count.is_dead() };
    println!("the freed object says {dead}");
}

/// The thread that puts the last reference forgets to destroy the object.
fn leak() {
    let object = Box::into_raw(object());
    // SAFETY: alive: its reference has not been put yet.
    let put = unsafe { (*object).count.put() };
    println!("the address is gone after this: {object:p} {put:?}");
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("use-after-free") => use_after_free(),
        Some("leak") => leak(),
        _ => {
            eprintln!("usage: sanitizer_control use-after-free|leak");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
