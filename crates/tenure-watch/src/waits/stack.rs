//! The callers of a thread that sleeps.
//!
//! `/proc` gives its stack and instruction pointer and no other register, so frames that are found by a frame pointer cannot be
//! unwound. But each return address on the stack follows a call, and most calls name the function that they are of. So the stack
//! is read upwards for the call of each function that was found before. What was left there by calls that have returned seldom
//! fits.

use crate::arch::{self, code_address};
use crate::callers::Callers;
use crate::sys::process::LiveProcess;

/// So much of the stack is read: a lock's slow path has less.
const STACK_BYTES: usize = 2048;

/// Callers that are followed, at most.
const MAX_CALLERS: usize = 8;

/// The words of a thread's stack, as far as its callers are searched there.
pub(super) fn words(stack: u64, process: &LiveProcess) -> Vec<u64> {
    let mut bytes = [0; STACK_BYTES];
    let read = process.read_some(stack, &mut bytes);
    let (words, _) = bytes[..read].as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// The names of the library functions that wait, the innermost first, and the return address in the program's own code, by the words
/// from the stack pointer on.
pub(super) fn callers(
    ip: u64,
    stack: &[u64],
    process: &LiveProcess,
    callers: &mut Callers,
) -> (Vec<String>, Option<u64>) {
    let mut words = stack.iter().map(|word| code_address(*word));
    let mut names = Vec::new();
    let mut inside = ip;
    for _ in 0..MAX_CALLERS {
        if !callers.is_foreign(inside) {
            let is_known = callers.has(inside);
            return (names, is_known.then_some(inside));
        }
        names.extend(callers.name(inside));
        let start = callers.start(inside);
        let Some(next) = words.find(|&word| is_call_of(word, start, process, callers)) else {
            break;
        };
        inside = next;
    }
    (names, None)
}

/// Whether an address follows a call that may be of the function that starts there.
fn is_call_of(back: u64, start: Option<u64>, process: &LiveProcess, callers: &mut Callers) -> bool {
    if !callers.has(back) {
        return false;
    }
    let mut code = [0; arch::CALL_BYTES];
    if process.read(back.wrapping_sub(arch::CALL_BYTES as u64), &mut code).is_err() {
        return false;
    }
    match arch::call_before(&code, back) {
        None => false,
        Some(None) => true,
        // A stub of the linker has no symbol, and leads to another module.
        Some(Some(target)) => {
            start.is_none_or(|start| start == target) || !callers.is_named(target)
        }
    }
}
