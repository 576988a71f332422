//! Atomic operations: the compiler leaves the operation itself to the runtime.
//!
//! Orderings are the numbers of C's ABI: relaxed 0, consume 1, acquire 2, release 3, both 4, sequentially consistent 5.
//! Loads and stores have the ordering that was asked for; everything else is sequentially consistent, as the
//! instructions of x86-64 are anyway.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

use crate::runtime::lines::note;
use crate::runtime::sys;
use crate::runtime::waits::{failed, timed};
use crate::segment::AccessKind;

/// The operations of each width. A weak compare-exchange may be a strong one.
macro_rules! atomics {
    ($($bits:literal: $atomic:ident, $word:ty;)*) => {$(
        const _: () = {
            const BYTES: u8 = size_of::<$word>() as u8;

            #[unsafe(export_name = concat!("__tsan_atomic", $bits, "_load"))]
            unsafe extern "C" fn load(address: *mut $word, order: c_int) -> $word {
                let code = sys::caller();
                // SAFETY: the program loads from this address atomically.
                timed(address as usize, code, |_| unsafe {
                    note(address as usize, BYTES, AccessKind::Load, code);
                    let atomic = $atomic::from_ptr(address);
                    match order {
                        0 => atomic.load(Relaxed),
                        5 => atomic.load(SeqCst),
                        _ => atomic.load(Acquire),
                    }
                })
            }

            #[unsafe(export_name = concat!("__tsan_atomic", $bits, "_store"))]
            unsafe extern "C" fn store(address: *mut $word, value: $word, order: c_int) {
                let code = sys::caller();
                // SAFETY: the program stores to this address atomically.
                timed(address as usize, code, |is_contended| unsafe {
                    note(address as usize, BYTES, AccessKind::Store, code);
                    if is_contended {
                        sys::fetch(address as usize, true);
                    }
                    let atomic = $atomic::from_ptr(address);
                    match order {
                        0 => atomic.store(value, Relaxed),
                        5 => atomic.store(value, SeqCst),
                        _ => atomic.store(value, Release),
                    }
                });
            }

            atomics! { @always $bits, $atomic, $word, BYTES,
                Add "fetch_add": fetch_add; Add "fetch_sub": fetch_sub;
                Exchange "exchange": swap; Exchange "fetch_and": fetch_and; Exchange "fetch_or": fetch_or;
                Exchange "fetch_xor": fetch_xor; Exchange "fetch_nand": fetch_nand;
            }
            atomics! { @exchange_if $bits, $atomic, $word, BYTES, "strong": strong; "weak": weak; }

            #[unsafe(export_name = concat!("__tsan_atomic", $bits, "_compare_exchange_val"))]
            unsafe extern "C" fn value(
                address: *mut $word, expected: $word, new: $word, _: c_int, _: c_int,
            ) -> $word {
                // SAFETY: the program's atomic word.
                match unsafe { atomics!(@compare $atomic, BYTES, address, expected, new) } {
                    Ok(found) | Err(found) => found,
                }
            }
        };
    )*};
    (@always $bits:literal, $atomic:ident, $word:ty, $bytes:ident, $($access:ident $name:literal: $method:ident;)*) => {$(
        #[unsafe(export_name = concat!("__tsan_atomic", $bits, "_", $name))]
        unsafe extern "C" fn $method(address: *mut $word, value: $word, _: c_int) -> $word {
            let code = sys::caller();
            // SAFETY: the program changes this word atomically.
            timed(address as usize, code, |_| unsafe {
                note(address as usize, $bytes, AccessKind::$access, code);
                $atomic::from_ptr(address).$method(value, SeqCst)
            })
        }
    )*};
    (@exchange_if $bits:literal, $atomic:ident, $word:ty, $bytes:ident, $($name:literal: $function:ident;)*) => {$(
        #[unsafe(export_name = concat!("__tsan_atomic", $bits, "_compare_exchange_", $name))]
        unsafe extern "C" fn $function(
            address: *mut $word, expected: *mut $word, new: $word, _: c_int, _: c_int,
        ) -> c_int {
            // SAFETY: the program's atomic word and its own expected value.
            match unsafe { atomics!(@compare $atomic, $bytes, address, *expected, new) } {
                Ok(_) => 1,
                Err(found) => {
                    // SAFETY: as above.
                    unsafe { *expected = found };
                    0
                }
            }
        }
    )*};
    // In the exported function itself, whose frame it notes.
    (@compare $atomic:ident, $bytes:ident, $address:ident, $expected:expr, $new:ident) => {{
        let code = sys::caller();
        let result = timed($address as usize, code, |_| {
            let result = $atomic::from_ptr($address).compare_exchange($expected, $new, SeqCst, SeqCst);
            let access = if result.is_ok() { AccessKind::CompareExchange } else { AccessKind::Failed };
            note($address as usize, $bytes, access, code);
            result
        });
        if result.is_err() {
            failed($address as usize);
        }
        result
    }};
}

atomics! {
    8: AtomicU8, u8;
    16: AtomicU16, u16;
    32: AtomicU32, u32;
    64: AtomicU64, u64;
    128: AtomicU128, u128;
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_: c_int) {
    fence(SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_: c_int) {
    core::sync::atomic::compiler_fence(SeqCst);
}

/// Methods that replace the word by what a closure makes of it and the argument, and return what was there.
macro_rules! updates {
    ($($method:ident: $new:expr;)*) => {
        impl AtomicU128 {$(
            fn $method(&self, value: u128, _: Ordering) -> u128 {
                let new: fn(u128, u128) -> u128 = $new;
                self.update(|old| new(old, value))
            }
        )*}
    };
}

updates! {
    swap: |_, value| value;
    fetch_add: u128::wrapping_add;
    fetch_sub: u128::wrapping_sub;
    fetch_and: |old, value| old & value;
    fetch_or: |old, value| old | value;
    fetch_xor: |old, value| old ^ value;
    fetch_nand: |old, value| !(old & value);
}

/// A word of 16 bytes, which core has no atomics for. Every access is sequentially consistent.
#[repr(transparent)]
struct AtomicU128(UnsafeCell<u128>);

impl AtomicU128 {
    /// # Safety
    ///
    /// The address is aligned, and accessed atomically alone while the result is used.
    unsafe fn from_ptr<'a>(address: *mut u128) -> &'a Self {
        // SAFETY: the caller's promise; the cell has the word's layout.
        unsafe { &*address.cast() }
    }

    fn load(&self, _: Ordering) -> u128 {
        self.compare_exchange(0, 0, SeqCst, SeqCst).unwrap_or_else(|found| found)
    }

    fn store(&self, value: u128, _: Ordering) {
        self.update(|_| value);
    }

    /// Replaces the word by what `change` makes of it, and returns what was there.
    fn update(&self, change: impl Fn(u128) -> u128) -> u128 {
        let mut expected = 0;
        loop {
            match self.compare_exchange(expected, change(expected), SeqCst, SeqCst) {
                Ok(found) => return found,
                Err(found) => expected = found,
            }
        }
    }

    fn compare_exchange(
        &self,
        expected: u128,
        new: u128,
        _: Ordering,
        _: Ordering,
    ) -> Result<u128, u128> {
        // SAFETY: the word is 16 bytes, aligned, and only accessed atomically. `rbx` is the compiler's own, so
        // it is saved around the instruction.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
            let done: usize;
            core::arch::asm!(
                "xchg rbx, rsi", "lock cmpxchg16b [rdi]", "sete dil", "mov rbx, rsi",
                inout("rdi") self.0.get() as usize => done, inout("rsi") new as u64 => _, in("rcx") (new >> 64) as u64,
                inout("rax") low, inout("rdx") high, options(nostack),
            );
            let found = u128::from(low) | u128::from(high) << 64;
            if done as u8 != 0 { Ok(found) } else { Err(found) }
        }
        // SAFETY: the word is 16 bytes, aligned, and only accessed atomically. The loop ends when the exclusive
        // store succeeds.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            loop {
                let (low, high): (u64, u64);
                core::arch::asm!("ldaxp {0}, {1}, [{2}]", out(reg) low, out(reg) high, in(reg) self.0.get(), options(nostack));
                let found = u128::from(low) | u128::from(high) << 64;
                // A value that differs is stored back as well: only that makes the load one whole.
                let is_equal = found == expected;
                let value = if is_equal { new } else { found };
                let failed: u32;
                core::arch::asm!("stlxp {0:w}, {1}, {2}, [{3}]", out(reg) failed, in(reg) value as u64,
                    in(reg) (value >> 64) as u64, in(reg) self.0.get(), options(nostack));
                if failed == 0 {
                    return if is_equal { Ok(found) } else { Err(found) };
                }
            }
        }
    }
}
