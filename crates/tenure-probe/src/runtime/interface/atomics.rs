//! Atomic operations: the compiler leaves the operation itself to the runtime.
//!
//! Orderings are the numbers of C's ABI: relaxed 0, consume 1, acquire 2, release 3, both 4, sequentially consistent 5.
//! Loads and stores have the ordering that was asked for; everything else is sequentially consistent, as the
//! instructions of x86-64 are anyway.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

use crate::runtime::lines::note;
use crate::runtime::sys;
use crate::runtime::waits::{failed, timed};
use crate::segment::AccessKind;

/// The operations of one width, on core's atomics. A weak compare-exchange may be a strong one.
macro_rules! atomics {
    ($atomic:ty, $word:ty, $load:ident, $store:ident, [$($add:ident: $added:ident;)*], [$($fetch:ident: $method:ident;)*],
     [$($exchange_if:ident)*], $value:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $load(address: *mut $word, order: c_int) -> $word {
            let code = sys::caller();
            // SAFETY: the program loads from this address atomically.
            timed(address as usize, code, |_| unsafe {
                note(address as usize, size_of::<$word>() as u8, AccessKind::Load, code);
                let atomic = <$atomic>::from_ptr(address);
                match order {
                    0 => atomic.load(Relaxed),
                    5 => atomic.load(SeqCst),
                    _ => atomic.load(Acquire),
                }
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $store(address: *mut $word, value: $word, order: c_int) {
            let code = sys::caller();
            // SAFETY: the program stores to this address atomically.
            timed(address as usize, code, |is_contended| unsafe {
                note(address as usize, size_of::<$word>() as u8, AccessKind::Store, code);
                if is_contended {
                    sys::fetch(address as usize, true);
                }
                let atomic = <$atomic>::from_ptr(address);
                match order {
                    0 => atomic.store(value, Relaxed),
                    5 => atomic.store(value, SeqCst),
                    _ => atomic.store(value, Release),
                }
            });
        }

        atomics! { @always Add, $atomic, $word, $($add: $added;)* }
        atomics! { @always Exchange, $atomic, $word, $($fetch: $method;)* }

        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $exchange_if(
                address: *mut $word, expected: *mut $word, new: $word, _: c_int, _: c_int,
            ) -> c_int {
                // SAFETY: the program's atomic word and its own expected value.
                match unsafe { atomics!(@compare $atomic, address, *expected, new) } {
                    Ok(_) => 1,
                    Err(found) => {
                        // SAFETY: as above.
                        unsafe { *expected = found };
                        0
                    }
                }
            }
        )*

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $value(
            address: *mut $word, expected: $word, new: $word, _: c_int, _: c_int,
        ) -> $word {
            // SAFETY: the program's atomic word.
            match unsafe { atomics!(@compare $atomic, address, expected, new) } {
                Ok(found) | Err(found) => found,
            }
        }
    };
    // In the exported function itself, whose frame it notes.
    (@compare $atomic:ty, $address:ident, $expected:expr, $new:ident) => {{
        let code = sys::caller();
        let result = timed($address as usize, code, |_| {
            let result = <$atomic>::from_ptr($address).compare_exchange($expected, $new, SeqCst, SeqCst);
            let access = if result.is_ok() { AccessKind::CompareExchange } else { AccessKind::Failed };
            note($address as usize, size_of_val(&$new) as u8, access, code);
            result
        });
        if result.is_err() {
            failed($address as usize);
        }
        result
    }};
    (@always $access:ident, $atomic:ty, $word:ty, $($name:ident: $method:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(address: *mut $word, value: $word, _: c_int) -> $word {
                let code = sys::caller();
                // SAFETY: the program changes this word atomically.
                timed(address as usize, code, |_| unsafe {
                    note(address as usize, size_of::<$word>() as u8, AccessKind::$access, code);
                    <$atomic>::from_ptr(address).$method(value, SeqCst)
                })
            }
        )*
    };
}

atomics! { AtomicU8, u8, __tsan_atomic8_load, __tsan_atomic8_store,
[__tsan_atomic8_fetch_add: fetch_add; __tsan_atomic8_fetch_sub: fetch_sub;],
[__tsan_atomic8_exchange: swap; __tsan_atomic8_fetch_and: fetch_and; __tsan_atomic8_fetch_or: fetch_or;
 __tsan_atomic8_fetch_xor: fetch_xor; __tsan_atomic8_fetch_nand: fetch_nand;],
[__tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak], __tsan_atomic8_compare_exchange_val }
atomics! { AtomicU16, u16, __tsan_atomic16_load, __tsan_atomic16_store,
[__tsan_atomic16_fetch_add: fetch_add; __tsan_atomic16_fetch_sub: fetch_sub;],
[__tsan_atomic16_exchange: swap; __tsan_atomic16_fetch_and: fetch_and; __tsan_atomic16_fetch_or: fetch_or;
 __tsan_atomic16_fetch_xor: fetch_xor; __tsan_atomic16_fetch_nand: fetch_nand;],
[__tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak], __tsan_atomic16_compare_exchange_val }
atomics! { AtomicU32, u32, __tsan_atomic32_load, __tsan_atomic32_store,
[__tsan_atomic32_fetch_add: fetch_add; __tsan_atomic32_fetch_sub: fetch_sub;],
[__tsan_atomic32_exchange: swap; __tsan_atomic32_fetch_and: fetch_and; __tsan_atomic32_fetch_or: fetch_or;
 __tsan_atomic32_fetch_xor: fetch_xor; __tsan_atomic32_fetch_nand: fetch_nand;],
[__tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak], __tsan_atomic32_compare_exchange_val }
atomics! { AtomicU64, u64, __tsan_atomic64_load, __tsan_atomic64_store,
[__tsan_atomic64_fetch_add: fetch_add; __tsan_atomic64_fetch_sub: fetch_sub;],
[__tsan_atomic64_exchange: swap; __tsan_atomic64_fetch_and: fetch_and; __tsan_atomic64_fetch_or: fetch_or;
 __tsan_atomic64_fetch_xor: fetch_xor; __tsan_atomic64_fetch_nand: fetch_nand;],
[__tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak], __tsan_atomic64_compare_exchange_val }

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_: c_int) {
    fence(SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: c_int) {
    core::sync::atomic::compiler_fence(SeqCst);
}

/// One compare-exchange of 16 bytes: what was there, and whether it was replaced.
///
/// # Safety
///
/// The address is a 16-byte word, aligned, that the program accesses atomically.
unsafe fn compare_exchange(address: *mut u128, expected: u128, new: u128) -> (u128, bool) {
    // SAFETY: the caller's promise. `rbx` is the compiler's own, so it is saved around the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
        let done: usize;
        core::arch::asm!(
            "xchg rbx, rsi", "lock cmpxchg16b [rdi]", "sete dil", "mov rbx, rsi",
            inout("rdi") address as usize => done, inout("rsi") new as u64 => _, in("rcx") (new >> 64) as u64,
            inout("rax") low, inout("rdx") high, options(nostack),
        );
        (u128::from(low) | u128::from(high) << 64, done as u8 != 0)
    }
    // SAFETY: the caller's promise. The loop ends when the exclusive store succeeds, or when the values differ.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        loop {
            let (low, high): (u64, u64);
            core::arch::asm!("ldaxp {0}, {1}, [{2}]", out(reg) low, out(reg) high, in(reg) address, options(nostack));
            let found = u128::from(low) | u128::from(high) << 64;
            // A value that differs is stored back as well: only that makes the load one whole.
            let is_equal = found == expected;
            let value = if is_equal { new } else { found };
            let failed: u32;
            core::arch::asm!("stlxp {0:w}, {1}, {2}, [{3}]", out(reg) failed, in(reg) value as u64,
                in(reg) (value >> 64) as u64, in(reg) address, options(nostack));
            if failed == 0 {
                return (found, is_equal);
            }
        }
    }
}

/// Replaces 16 bytes by what `change` makes of them, and returns what was there.
unsafe fn update(address: *mut u128, change: impl Fn(u128) -> u128) -> u128 {
    let mut expected = 0;
    loop {
        // SAFETY: the caller's promise.
        match unsafe { compare_exchange(address, expected, change(expected)) } {
            (found, true) => return found,
            (found, false) => expected = found,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_load(address: *mut u128, _: c_int) -> u128 {
    let code = sys::caller();
    // SAFETY: the program accesses this word atomically.
    timed(address as usize, code, |_| unsafe {
        note(address as usize, 16, AccessKind::Load, code);
        compare_exchange(address, 0, 0).0
    })
}

/// Operations of 16 bytes that always take effect.
macro_rules! wide {
    ($($access:ident $name:ident: |$old:ident, $value:ident| $new:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(address: *mut u128, $value: u128, _: c_int) -> u128 {
                let code = sys::caller();
                // SAFETY: the program accesses this word atomically.
                timed(address as usize, code, |_| unsafe {
                    note(address as usize, 16, AccessKind::$access, code);
                    update(address, |$old| $new)
                })
            }
        )*
    };
}

wide! {
    Exchange __tsan_atomic128_exchange: |_old, value| value;
    Add __tsan_atomic128_fetch_add: |old, value| old.wrapping_add(value);
    Add __tsan_atomic128_fetch_sub: |old, value| old.wrapping_sub(value);
    Exchange __tsan_atomic128_fetch_and: |old, value| old & value;
    Exchange __tsan_atomic128_fetch_or: |old, value| old | value;
    Exchange __tsan_atomic128_fetch_xor: |old, value| old ^ value;
    Exchange __tsan_atomic128_fetch_nand: |old, value| !(old & value);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_store(address: *mut u128, value: u128, _: c_int) {
    let code = sys::caller();
    // SAFETY: the program accesses this word atomically.
    timed(address as usize, code, |_| unsafe {
        note(address as usize, 16, AccessKind::Store, code);
        update(address, |_| value);
    });
}

/// [`compare_exchange`] by the instruction whose call returns to `code`.
///
/// # Safety
///
/// As of [`compare_exchange`].
unsafe fn noted(address: *mut u128, expected: u128, new: u128, code: u64) -> (u128, bool) {
    // SAFETY: the caller's promise.
    timed(address as usize, code, |_| unsafe {
        let (found, done) = compare_exchange(address, expected, new);
        let access = if done { AccessKind::CompareExchange } else { AccessKind::Failed };
        note(address as usize, 16, access, code);
        (found, done)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_compare_exchange_val(
    address: *mut u128,
    expected: u128,
    new: u128,
    _: c_int,
    _: c_int,
) -> u128 {
    // SAFETY: the program accesses this word atomically.
    unsafe { noted(address, expected, new, sys::caller()).0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_compare_exchange_strong(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    _: c_int,
    _: c_int,
) -> c_int {
    // SAFETY: the program's atomic word and its own expected value.
    unsafe {
        let (found, done) = noted(address, *expected, new, sys::caller());
        *expected = found;
        c_int::from(done)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_atomic128_compare_exchange_weak(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    success: c_int,
    failure: c_int,
) -> c_int {
    // SAFETY: the strong form may take the place of this one.
    unsafe { __tsan_atomic128_compare_exchange_strong(address, expected, new, success, failure) }
}
