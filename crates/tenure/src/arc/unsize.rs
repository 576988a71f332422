//! [`unsize!`](crate::unsize): from `Arc<T>` to `Arc<dyn Trait>` on stable Rust.
//!
//! `let it: Arc<dyn Trait> = Arc::new(value)` works for std's `Arc` by a trait that is not stable.
//! What every Rust knows is how to unsize a *raw pointer*, wherever one is assigned to a variable
//! of the unsized type. The macro makes such an assignment, with the pointer to the value.
//!
//! It has to be a coercion (`let`), not a cast (`as`). A cast of raw pointers may change the type
//! at will, from `*const u8` to `*const String` for one, and the `Arc` would drop a string that
//! never was. What a coercion does to a `*const T` keeps the address, and the result is valid
//! metadata for what is there:
//!
//! - unsizing `T` to `dyn Trait`, `[T; N]` to `[T]`, the last field of a struct likewise;
//! - from one `dyn Trait` to a supertrait, to fewer auto traits, to a shorter lifetime;
//! - nothing, or a subtype to its supertype: the `Arc` is covariant as well.

use super::{Arc, Weak};
use core::pin::Pin;

/// Turns an [`Arc<T>`](crate::arc::Arc), a [`Weak<T>`](crate::arc::Weak) or a `Pin<Arc<T>>` into
/// one of an unsized type.
///
/// Stands for the coercion that std's pointers do by themselves. No atomic operation.
///
/// ```
/// use std::any::Any;
/// use std::fmt::Display;
/// use tenure::sync::{Arc, Weak};
/// use tenure::unsize;
///
/// let number = Arc::new(5);
/// let weak: Weak<dyn Display> = unsize!(Arc::downgrade(&number) => dyn Display);
/// let shown = unsize!(number => dyn Display);
/// assert_eq!(shown.to_string(), "5");
/// assert_eq!(weak.upgrade().unwrap().to_string(), "5");
///
/// let any = unsize!(Arc::new("text") => dyn Any + Send + Sync);
/// assert!(any.downcast::<&str>().is_ok());
///
/// let slice: Arc<[u8]> = unsize!(Arc::new([1, 2, 3]) => [u8]);
/// assert_eq!(slice.len(), 3);
/// ```
///
/// What does not coerce does not compile:
///
/// ```compile_fail,E0308
/// # use tenure::sync::Arc;
/// let wrong: Arc<String> = tenure::unsize!(Arc::new(0_u8) => String);
/// ```
///
/// ```compile_fail,E0277
/// # use tenure::sync::Arc;
/// let not_send = Arc::new(std::cell::Cell::new(0));
/// let wrong = tenure::unsize!(not_send => dyn std::any::Any + Send + Sync);
/// ```
///
/// ```compile_fail,E0597
/// # use tenure::sync::Arc;
/// # use std::fmt::Display;
/// let outlives: Arc<dyn Display> = {
///     let local = String::new();
///     tenure::unsize!(Arc::new(&local) => dyn Display)
/// };
/// println!("{outlives}");
/// ```
#[macro_export]
macro_rules! unsize {
    ($pointer:expr => $unsized:ty $(,)?) => {
        match $pointer {
            pointer => {
                let coercion = $crate::arc::__unsize::coercion(&pointer, |data| {
                    let data: *const $unsized = data;
                    data
                });
                // SAFETY: the closure is one coercion of a raw pointer and nothing else.
                unsafe { $crate::arc::__unsize::coerce(pointer, coercion) }
            }
        }
    };
}

/// The pointers that can be unsized.
///
/// # Safety
///
/// `from_data` takes back what `into_data` gave, after a coercion.
pub unsafe trait Pointer: Sized {
    /// What it points to.
    type Target: ?Sized;
    /// The same kind of pointer, to another type.
    type To<U: ?Sized>;

    /// A raw pointer that stands for `self`.
    fn into_data(self) -> *const Self::Target;

    /// # Safety
    ///
    /// `data` came from `into_data` of a `Self::To<T>`, is taken back once, and was unsized from
    /// `*const T` by a coercion.
    unsafe fn from_data<U: ?Sized>(data: *const U) -> Self::To<U>;
}

// SAFETY: `into_raw` and `from_raw`.
unsafe impl<T: ?Sized> Pointer for Arc<T> {
    type Target = T;
    type To<U: ?Sized> = Arc<U>;

    #[inline]
    fn into_data(self) -> *const T {
        Self::into_raw(self)
    }

    #[inline]
    unsafe fn from_data<U: ?Sized>(data: *const U) -> Arc<U> {
        // SAFETY: from `into_raw`, and unsized since (caller).
        unsafe { Arc::from_raw(data) }
    }
}

// SAFETY: `into_raw` and `from_raw`.
unsafe impl<T: ?Sized> Pointer for Weak<T> {
    type Target = T;
    type To<U: ?Sized> = Weak<U>;

    #[inline]
    fn into_data(self) -> *const T {
        self.into_raw()
    }

    #[inline]
    unsafe fn from_data<U: ?Sized>(data: *const U) -> Weak<U> {
        // SAFETY: from `into_raw`, and unsized since (caller).
        unsafe { Weak::from_raw(data) }
    }
}

// SAFETY: as for the Arc in it.
unsafe impl<T: ?Sized> Pointer for Pin<Arc<T>> {
    type Target = T;
    type To<U: ?Sized> = Pin<Arc<U>>;

    #[inline]
    fn into_data(self) -> *const T {
        // SAFETY: nothing is done to the value before it is pinned again.
        Arc::into_raw(unsafe { Pin::into_inner_unchecked(self) })
    }

    #[inline]
    unsafe fn from_data<U: ?Sized>(data: *const U) -> Pin<Arc<U>> {
        // SAFETY: from `into_raw`, and unsized since (caller).
        let arc = unsafe { Arc::from_raw(data) };
        // SAFETY: the value was pinned before, at this place.
        unsafe { Pin::new_unchecked(arc) }
    }
}

/// `coerce`, with its types known: those of the pointer are what the closure's argument is inferred
/// from.
#[inline(always)]
pub fn coercion<P, U, F>(_: &P, coerce: F) -> F
where
    P: Pointer,
    U: ?Sized,
    F: FnOnce(*const P::Target) -> *const U,
{
    coerce
}

/// # Safety
///
/// `coercion` returns its argument, coerced. Called by [`unsize!`](crate::unsize) alone.
#[inline(always)]
pub unsafe fn coerce<P, U, F>(pointer: P, coercion: F) -> P::To<U>
where
    P: Pointer,
    U: ?Sized,
    F: FnOnce(*const P::Target) -> *const U,
{
    let data = coercion(pointer.into_data());
    // SAFETY: from `into_data`, taken back once, and coerced (caller).
    unsafe { P::from_data(data) }
}
