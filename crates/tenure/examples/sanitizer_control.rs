//! Bugs that a sanitizer has to find: the proof that `ci/tsan.sh` and `ci/asan.sh` can fail.
//!
//! Each is a misuse of a count that the counts cannot see. Run by those scripts only.

use std::process::ExitCode;
use std::thread;
use tenure::count::{Put, TicketRef};
use tenure::memory::{Memory, Native, Plain};

struct Object {
    count: TicketRef,
    value: <Native as Memory>::Plain<u64>,
}

fn object() -> Box<Object> {
    Box::new(Object { count: TicketRef::new(), value: Plain::new(1) })
}

/// Two threads with a reference each write what only the last holder may write.
fn race() {
    let object: &Object = Box::leak(object());
    let _ = object.count.get();
    let writers: Vec<_> = (0..2)
        .map(|value| {
            thread::spawn(move || {
                // SAFETY: none. This is the bug.
                object.value.with_mut(|place| unsafe { place.write(value) });
                object.count.put()
            })
        })
        .collect();
    for writer in writers {
        let _ = writer.join().unwrap();
    }
}

/// A holder goes on reading after it was told to destroy the object, and did.
fn use_after_free() {
    let object = Box::into_raw(object());
    // SAFETY: alive: its reference has not been put yet.
    let put = unsafe { (*object).count.put() };
    if put == Put::Last {
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
        Some("race") => race(),
        Some("use-after-free") => use_after_free(),
        Some("leak") => leak(),
        _ => {
            eprintln!("usage: sanitizer_control race|use-after-free|leak");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
