//! The real machine: core's atomics, each method one inlined call. Nothing else in the crate names them.
#![allow(clippy::disallowed_types, reason = "this is the file that wraps core's atomics")]

mod barrier;
#[cfg(feature = "std")]
mod threads;
#[cfg(all(feature = "alloc", not(feature = "std")))]
mod unnumbered;

pub use barrier::use_full_fences;
#[cfg(feature = "registry")]
pub(crate) use threads::forks;

use super::{Atomic, Memory, Ordering, Plain, Pointer};
#[cfg(feature = "std")]
use core::cell::Cell;
use core::cell::UnsafeCell;
use core::marker::PhantomData;

/// The machine this program runs on, at no cost: the types of `core::sync::atomic`, and each call inlined to its
/// operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {}

// SAFETY: core's atomics, and the barriers that `barrier` describes.
unsafe impl Memory for Native {
    type AtomicU32 = core::sync::atomic::AtomicU32;
    #[cfg(target_has_atomic = "64")]
    type AtomicU64 = core::sync::atomic::AtomicU64;
    type Pointer<T> = core::sync::atomic::AtomicPtr<T>;
    type Plain<T> = PlainCell<T>;

    #[inline(always)]
    fn light_barrier() {
        barrier::light();
    }
    fn light_is_free() -> bool {
        barrier::light_is_free()
    }
    #[inline(always)]
    fn free_light_barrier() {
        barrier::free_light();
    }
    fn heavy_barrier() {
        barrier::heavy();
    }
    #[inline(always)]
    fn spin_hint() {
        core::hint::spin_loop();
    }
    #[cfg(feature = "std")]
    fn thread_word<R>(access: impl FnOnce(&Cell<*const ()>) -> R) -> Option<R> {
        std::thread_local!(static WORD: Cell<*const ()> = const { Cell::new(core::ptr::null()) });
        // Without a destructor it is there up to the end of the thread.
        WORD.try_with(access).ok()
    }
}

/// `word`, by an address that is in one register.
///
/// For a word that a thread adds to by a load and a store, again and again. CPUs with memory renaming (Intel's since
/// Golden Cove, AMD's since Zen 2) give what was stored to the next load at once, but not if the address has an index:
/// one addition after the other takes 0.7 ns by a register, and 2.4 by base and index.
#[cfg(feature = "alloc")]
#[inline(always)]
pub(crate) fn by_register<T>(word: &T) -> &T {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut address: *const T = word;
        // SAFETY: no instruction, but for the compiler, which has the address in a register before.
        #[allow(clippy::pointers_in_nomem_asm_block, reason = "it looks at no memory")]
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) address, options(pure, nomem, nostack, preserves_flags));
        }
        // SAFETY: it is the reference's still, as the compiler cannot see.
        unsafe {
            core::hint::assert_unchecked(!address.is_null());
            &*address
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    word
}

macro_rules! core_atomic {
    ($atomic:ident, $int:ty) => {
        impl Atomic<$int> for core::sync::atomic::$atomic {
            #[inline(always)]
            fn new(value: $int) -> Self {
                Self::new(value)
            }
            forward! { self =>
                fn load(&self, order: Ordering) -> $int;
                fn store(&self, value: $int, order: Ordering);
                fn fetch_add(&self, value: $int, order: Ordering) -> $int;
                fn fetch_sub(&self, value: $int, order: Ordering) -> $int;
                fn fetch_or(&self, value: $int, order: Ordering) -> $int;
                fn compare_exchange(&self, current: $int, new: $int, success: Ordering, failure: Ordering)
                    -> Result<$int, $int>;
                fn compare_exchange_weak(&self, current: $int, new: $int, success: Ordering, failure: Ordering)
                    -> Result<$int, $int>;
            }
        }
    };
}

core_atomic!(AtomicU32, u32);
#[cfg(target_has_atomic = "64")]
core_atomic!(AtomicU64, u64);

impl<T> Pointer<T> for core::sync::atomic::AtomicPtr<T> {
    #[inline(always)]
    fn new(value: *mut T) -> Self {
        Self::new(value)
    }
    forward! { self =>
        fn load(&self, order: Ordering) -> *mut T;
        fn store(&self, value: *mut T, order: Ordering);
        fn compare_exchange(&self, current: *mut T, new: *mut T, success: Ordering, failure: Ordering)
            -> Result<*mut T, *mut T>;
    }
}

/// The value itself, with the layout of `T`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct PlainCell<T>(UnsafeCell<T>);

// SAFETY: every access goes through a raw pointer, and the unsafe block that dereferences it answers for the absence of
// races. `T: Send`: one thread may move a value in and another copy it out. `T: Sync`: readers may share it.
unsafe impl<T: Send + Sync> Sync for PlainCell<T> {}

impl<T> Plain<T> for PlainCell<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
    #[inline(always)]
    fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get().cast_const())
    }
    #[inline(always)]
    fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// A replaceable function, for hooks in statics.
pub(crate) struct FnSlot<A: ?Sized>(core::sync::atomic::AtomicPtr<()>, PhantomData<fn(&A)>);

impl<A: ?Sized> FnSlot<A> {
    pub(crate) const fn new() -> Self {
        Self(core::sync::atomic::AtomicPtr::new(core::ptr::null_mut()), PhantomData)
    }

    pub(crate) fn replace(&self, function: Option<fn(&A)>) -> Option<fn(&A)> {
        let new = function.map_or(core::ptr::null_mut(), |f| f as *mut ());
        // AcqRel: Release pairs with the Acquire in `get`: what the setter prepared is there when its function runs.
        // Acquire likewise, for the function handed back.
        Self::function(self.0.swap(new, Ordering::AcqRel))
    }

    pub(crate) fn get(&self) -> Option<fn(&A)> {
        // Acquire: pairs with the swap in `replace`.
        Self::function(self.0.load(Ordering::Acquire))
    }

    fn function(pointer: *mut ()) -> Option<fn(&A)> {
        // SAFETY: the slot holds null, which is `None`, or a `fn(&A)` from `replace`; function pointers have the size
        // of data pointers on every target of Rust's core.
        unsafe { core::mem::transmute::<*mut (), Option<fn(&A)>>(pointer) }
    }
}
