//! Stacks of loom's threads, which go from one execution to the next. Models run on others: see
//! [`large_stack`](super::large_stack).
//!
//! loom maps a stack for each thread of each execution, with a page that guards it, and unmaps it: up to a third of a
//! model's time, and more where two models run at once, since each unmapping interrupts the other one's CPU. So `mmap`
//! and `munmap` of this program keep such stacks.

#![cfg(target_os = "linux")]

use super::large_stack::BYTES;
use super::stage::{passes, spawn};
use libc::{MAP_ANON, MAP_PRIVATE, MAP_STACK, PROT_READ, PROT_WRITE};
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::panic::catch_unwind;
use std::ptr;

struct Stacks {
    in_use: Vec<(*mut c_void, usize)>,
    idle: Vec<(*mut c_void, usize)>,
}

thread_local! {
    // loom's threads are coroutines of one thread of the system.
    static STACKS: RefCell<Stacks> = const { RefCell::new(Stacks { in_use: Vec::new(), idle: Vec::new() }) };
}

impl Drop for Stacks {
    fn drop(&mut self) {
        for (memory, length) in self.idle.drain(..) {
            // SAFETY: mapped below, and given back by its user.
            unsafe { unmap(memory, length) };
        }
    }
}

unsafe fn unmap(memory: *mut c_void, length: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_munmap, memory, length) as c_int }
}

/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    // SAFETY: the caller's.
    let map = || unsafe {
        libc::syscall(libc::SYS_mmap, at, length, protection, flags, file, offset) as *mut c_void
    };
    let is_stack = at.is_null()
        && protection == PROT_READ | PROT_WRITE
        && flags == MAP_PRIVATE | MAP_ANON | MAP_STACK;
    if !is_stack {
        return map();
    }
    let kept = STACKS.try_with(|stacks| {
        let mut stacks = stacks.borrow_mut();
        let kept = stacks.idle.iter().rposition(|(_, its)| *its == length);
        let memory = kept.map_or_else(map, |kept| stacks.idle.swap_remove(kept).0);
        if memory != libc::MAP_FAILED {
            stacks.in_use.push((memory, length));
        }
        memory
    });
    kept.unwrap_or_else(|_| map())
}

/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(memory: *mut c_void, length: usize) -> c_int {
    let is_kept = STACKS.try_with(|stacks| {
        let mut stacks = stacks.borrow_mut();
        let at = stacks.in_use.iter().position(|stack| *stack == (memory, length))?;
        let stack = stacks.in_use.swap_remove(at);
        stacks.idle.push(stack);
        Some(())
    });
    match is_kept {
        Ok(Some(())) => 0,
        // SAFETY: the caller's.
        _ => unsafe { unmap(memory, length) },
    }
}

#[test]
fn a_stack_is_used_again() {
    let map = || {
        let (protection, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_STACK);
        // SAFETY: a new mapping.
        unsafe { libc::mmap(ptr::null_mut(), 1 << 16, protection, flags, -1, 0) }
    };
    let first = map();
    assert_ne!(first, libc::MAP_FAILED);
    let second = map();
    assert_ne!(second, first, "it is in use");
    // SAFETY: mapped above, and not used any more.
    let unmapped = unsafe { libc::munmap(first, 1 << 16) };
    assert_eq!((unmapped, map()), (0, first));
}

fn takes_half_of_a_stack() {
    let bytes = [1_u8; BYTES / 2];
    assert_eq!(black_box(&bytes)[BYTES / 4], 1);
}

fn panics() {
    // It reads debugging information, whatever RUST_BACKTRACE says.
    let trace = Backtrace::force_capture().to_string();
    assert!(trace.contains("models"), "{trace}");
    catch_unwind(|| panic!("on purpose")).unwrap_err();
}

#[test]
fn every_thread_of_a_model_has_room_for_a_panic_and_its_backtrace() {
    passes(Some(1), || {
        let other = spawn(|| {
            takes_half_of_a_stack();
            panics();
        });
        takes_half_of_a_stack();
        panics();
        other.join().unwrap();
    });
}
