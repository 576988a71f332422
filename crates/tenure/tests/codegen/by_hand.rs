//! The fast paths of `shipped.rs` on core's atomics. Compiled by `tests/codegen`, never run.

#![crate_type = "lib"]

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

pub enum Get {
    Acquired,
    Dead,
}

pub enum Put {
    StillHeld,
    Last,
}

// What the library does out of line. Never linked.
unsafe extern "Rust" {
    #[cold]
    safe fn cold_get_u32(word: &AtomicU32, new: u32) -> Get;
    #[cold]
    safe fn cold_put_u32(word: &AtomicU32, new: u32) -> Put;
    #[cold]
    safe fn cold_get_u64(word: &AtomicU64, new: u64) -> Get;
    #[cold]
    safe fn cold_put_u64(word: &AtomicU64, new: u64) -> Put;
    #[cold]
    safe fn cold_held(word: &AtomicU64);
    #[cold]
    safe fn cold_first(counts: &Counts, old: u64);
}

const MAX: u32 = 0x7FFF_FFFF;

#[unsafe(no_mangle)]
pub fn inc_not_zero_get(word: &AtomicU32) -> Get {
    let mut old = word.load(Relaxed);
    loop {
        if !(1..MAX).contains(&old) {
            return cold_get_u32(word, old);
        }
        match word.compare_exchange_weak(old, old + 1, Relaxed, Relaxed) {
            Ok(_) => return Get::Acquired,
            Err(found) => old = found,
        }
    }
}

#[unsafe(no_mangle)]
pub fn inc_not_zero_put(word: &AtomicU32) -> Put {
    let old = word.fetch_sub(1, Release);
    if (2..=MAX).contains(&old) { Put::StillHeld } else { cold_put_u32(word, old) }
}

#[unsafe(no_mangle)]
pub fn rcuref_get(word: &AtomicU32) -> Get {
    let new = word.fetch_add(1, Relaxed).wrapping_add(1);
    if new as i32 >= 0 { Get::Acquired } else { cold_get_u32(word, new) }
}

#[unsafe(no_mangle)]
pub fn rcuref_put(word: &AtomicU32) -> Put {
    let new = word.fetch_sub(1, Release).wrapping_sub(1);
    if new as i32 >= 0 { Put::StillHeld } else { cold_put_u32(word, new) }
}

const ONE: u64 = 1 << 32;

#[unsafe(no_mangle)]
pub fn ticketref_get(word: &AtomicU64) -> Get {
    let new = word.fetch_add(ONE, Relaxed).wrapping_add(ONE);
    if new as i64 >= ONE as i64 { Get::Acquired } else { cold_get_u64(word, new) }
}

#[unsafe(no_mangle)]
pub fn ticketref_get_held(word: &AtomicU64) {
    let new = word.fetch_add(ONE, Relaxed).wrapping_add(ONE);
    if (new as i64) < 0 {
        cold_held(word);
    }
}

#[unsafe(no_mangle)]
pub fn ticketref_put(word: &AtomicU64) -> Put {
    let new = word.fetch_sub(ONE, Release).wrapping_sub(ONE);
    if new as i64 >= 0 { Put::StillHeld } else { cold_put_u64(word, new) }
}

#[repr(C)]
pub struct Counts {
    strong: AtomicU64,
    weak: AtomicU64,
}

#[unsafe(no_mangle)]
pub fn arc_clone(counts: &Counts) {
    let new = counts.strong.fetch_add(ONE, Relaxed).wrapping_add(ONE);
    if (new as i64) < 0 {
        cold_held(&counts.strong);
    }
}

#[unsafe(no_mangle)]
pub fn arc_drop(counts: &Counts) -> Put {
    let new = counts.strong.fetch_sub(ONE, Release).wrapping_sub(ONE);
    if new as i64 >= 0 { Put::StillHeld } else { cold_put_u64(&counts.strong, new) }
}

#[unsafe(no_mangle)]
pub fn arc_downgrade(counts: &Counts) {
    let old = counts.weak.fetch_add(2, Relaxed);
    if old as i64 <= 0 {
        cold_first(counts, old);
    }
}

#[unsafe(no_mangle)]
pub fn weak_upgrade(counts: &Counts) -> Get {
    let new = counts.strong.fetch_add(ONE, Acquire).wrapping_add(ONE);
    if new as i64 >= ONE as i64 { Get::Acquired } else { cold_get_u64(&counts.strong, new) }
}

#[unsafe(no_mangle)]
pub fn weak_clone(counts: &Counts) {
    counts.weak.fetch_add(2, Relaxed);
}

// Controls: not the same as their namesakes.

#[unsafe(no_mangle)]
pub fn rcuref_get_with_a_load_more(word: &AtomicU32) -> Get {
    let new = word.fetch_add(1, Relaxed).wrapping_add(1);
    word.load(Acquire);
    if new as i32 >= 0 { Get::Acquired } else { cold_get_u32(word, new) }
}

#[unsafe(no_mangle)]
pub fn rcuref_get_with_a_branch_more(word: &AtomicU32, even: &mut u32) -> Get {
    let new = word.fetch_add(1, Relaxed).wrapping_add(1);
    if new as i32 >= 0 {
        if new & 1 == 0 {
            *even = new;
        }
        Get::Acquired
    } else {
        cold_get_u32(word, new)
    }
}

#[unsafe(no_mangle)]
pub fn ticketref_get_as_a_loop(word: &AtomicU64) -> Get {
    let mut old = word.load(Relaxed);
    loop {
        if (old as i64) < 0 {
            return cold_get_u64(word, old);
        }
        match word.compare_exchange_weak(old, old + ONE, Relaxed, Relaxed) {
            Ok(_) => return Get::Acquired,
            Err(found) => old = found,
        }
    }
}
