//! [`unsize!`](crate::unsize): from `Arc<T>` to `Arc<dyn Trait>` on stable Rust.
//!
//! std's `Arc` coerces by an unstable trait. But any *raw pointer* is unsized when it is assigned to a variable of the
//! unsized type, and the macro makes such an assignment with the pointer to the value.
//!
//! It has to be a coercion (`let`), not a cast (`as`), which may turn a `*const u8` into a `*const String`, and the
//! `Arc` would drop a string that never was. A coercion of a `*const T` keeps the address, and its metadata is valid:
//!
//! - `T` to `dyn Trait`, `[T; N]` to `[T]`, the last field of a struct likewise;
//! - one `dyn Trait` to a supertrait, to fewer auto traits, to a shorter lifetime;
//! - nothing, or a subtype to its supertype: the `Arc` is covariant as well.

use super::{Arc, Weak};
use core::pin::Pin;

/// Turns an [`Arc<T>`](crate::arc::Arc), a [`Weak<T>`](crate::arc::Weak), a `Pin<Arc<T>>`, an
/// [`Owner<T>`](crate::owner::Owner) or a [`Shared<T>`](crate::owner::Shared) into one of an unsized type, as the coercion of std's pointers does. No atomic operation.
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
/// A closure's arguments need no types if the macro sees `Arc::new` around it (or `sync::Arc::new`, `arc::Arc::new`,
/// with or without `tenure::`). Otherwise the `let` gives them:
///
/// ```
/// use tenure::sync::Arc;
/// use tenure::unsize;
///
/// let len = unsize!(Arc::new(|text| text.len()) => dyn Fn(&str) -> usize);
/// assert_eq!(len("four"), 4);
///
/// let boxed: Box<dyn Fn(&str) -> usize> = Box::new(|text| text.len());
/// let len: Arc<dyn Fn(&str) -> usize> = Arc::from(boxed);
/// assert_eq!(len("four"), 4);
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
/// ```compile_fail,E0271
/// # use std::fmt::Display;
/// let shown = tenure::unsize!(std::sync::Arc::new(5) => dyn Display); // error: distinct types of similar names
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
    (Arc::new($value:expr $(,)?) => $unsized:ty $(,)?) => {
        $crate::unsize!(@new Arc::new, $value => $unsized)
    };
    (sync::Arc::new($value:expr $(,)?) => $unsized:ty $(,)?) => {
        $crate::unsize!(@new sync::Arc::new, $value => $unsized)
    };
    (arc::Arc::new($value:expr $(,)?) => $unsized:ty $(,)?) => {
        $crate::unsize!(@new arc::Arc::new, $value => $unsized)
    };
    (tenure::sync::Arc::new($value:expr $(,)?) => $unsized:ty $(,)?) => {
        $crate::unsize!(@new tenure::sync::Arc::new, $value => $unsized)
    };
    (tenure::arc::Arc::new($value:expr $(,)?) => $unsized:ty $(,)?) => {
        $crate::unsize!(@new tenure::arc::Arc::new, $value => $unsized)
    };
    // The argument is checked against what it will be, as by std's coercion.
    (@new $new:path, $value:expr => $unsized:ty) => {
        match $crate::arc::__unsize::same::<*const $unsized>(
            $crate::arc::__unsize::open_new($value, $new),
        ) {
            // SAFETY: the pointer of an `Arc`, after the coercion of an argument.
            data => unsafe { $crate::arc::__unsize::close(data, $crate::arc::__unsize::OfArc) },
        }
    };
    ($pointer:expr => $unsized:ty $(,)?) => {
        match $crate::arc::__unsize::open($pointer) {
            (data, kind) => {
                let data: *const $unsized = data;
                // SAFETY: the pointer and its kind, after one coercion and nothing else.
                unsafe { $crate::arc::__unsize::close(data, kind) }
            }
        }
    };
}

/// The pointers that can be unsized.
///
/// ```compile_fail,E0200
/// struct Wild;
/// impl tenure::arc::__unsize::Unsizable for Wild {
///     type Target = u8;
///     type Kind = tenure::arc::__unsize::OfArc;
///     fn into_data(self) -> *const u8 {
///         core::ptr::without_provenance(4096)
///     }
/// }
/// ```
///
/// # Safety
///
/// What `into_data` returns may be given to `from_data` of the kind, once, also after a coercion.
#[diagnostic::on_unimplemented(
    message = "`unsize!` takes an `Arc`, a `Weak`, a `Pin<Arc>`, an `Owner` or a `Shared` of `tenure`, by value: not a `{Self}`",
    label = "not one of `tenure`'s pointers",
    note = "to keep the one behind a reference, give a clone: `unsize!(Arc::clone(&it) => dyn Trait)`"
)]
pub unsafe trait Unsizable: Sized {
    /// What it points to.
    type Target: ?Sized;
    /// Which pointer it is.
    type Kind: Kind;

    /// A raw pointer that stands for `self`.
    fn into_data(self) -> *const Self::Target;
}

/// Which pointer: an `Arc`, a `Weak`, a `Pin<Arc>`, an `Owner`, a `Shared`.
///
/// # Safety
///
/// `from_data` takes back what [`Unsizable::into_data`] of a pointer of this kind gave, after a coercion.
pub unsafe trait Kind: Default {
    /// That pointer, to a `T`.
    type To<T: ?Sized>;

    /// # Safety
    ///
    /// `data` came from `into_data` of a pointer of this kind, perhaps through a coercion, and is taken back once.
    unsafe fn from_data<T: ?Sized>(data: *const T) -> Self::To<T>;
}

macro_rules! unsizable {
    ($($kind:ident: $pointer:ty, $into:path, $from:path;)*) => {$(
        #[doc = concat!("A `", stringify!($pointer), "`.")]
        #[derive(Debug, Default)]
        pub struct $kind;

        // SAFETY: `$into` gives the reference up, and `$from` takes it.
        unsafe impl<T: ?Sized> $crate::arc::__unsize::Unsizable for $pointer {
            type Target = T;
            type Kind = $kind;

            #[inline]
            fn into_data(self) -> *const T {
                $into(self)
            }
        }

        // SAFETY: as above.
        unsafe impl $crate::arc::__unsize::Kind for $kind {
            type To<T: ?Sized> = $pointer;

            #[inline]
            unsafe fn from_data<T: ?Sized>(data: *const T) -> $pointer {
                // SAFETY: from `$into`, and unsized since (caller).
                unsafe { $from(data) }
            }
        }
    )*};
}

pub(crate) use unsizable;

unsizable! {
    OfArc: Arc<T>, Arc::into_raw, Arc::from_raw;
    OfWeak: Weak<T>, Weak::into_raw, Weak::from_raw;
    OfPin: Pin<Arc<T>>, into_raw_pinned, from_raw_pinned;
}

#[inline]
fn into_raw_pinned<T: ?Sized>(pinned: Pin<Arc<T>>) -> *const T {
    // SAFETY: nothing is done to the value before it is pinned again.
    Arc::into_raw(unsafe { Pin::into_inner_unchecked(pinned) })
}

/// # Safety
///
/// `data` came from [`into_raw_pinned`], perhaps through a coercion, and is taken back once.
#[inline]
unsafe fn from_raw_pinned<T: ?Sized>(data: *const T) -> Pin<Arc<T>> {
    // SAFETY: from `into_raw`, and unsized since (caller). The value was pinned before, at this place.
    unsafe { Pin::new_unchecked(Arc::from_raw(data)) }
}

/// The raw pointer of `pointer`, and what makes a pointer of it again.
#[inline(always)]
pub fn open<P: Unsizable>(pointer: P) -> (*const P::Target, P::Kind) {
    (pointer.into_data(), P::Kind::default())
}

/// The raw pointer of the `Arc` that `new` makes of `value`. The expected type of the result is that of the value, so a
/// closure gets its signature.
#[inline(always)]
pub fn open_new<T>(value: T, new: impl FnOnce(T) -> Arc<T>) -> *const T {
    Arc::into_raw(new(value))
}

/// A place where a coercion to `T` happens.
#[inline(always)]
pub fn same<T>(value: T) -> T {
    value
}

/// # Safety
///
/// `data` came from [`open`] with that kind, or from [`open_new`], and was coerced since.
#[inline(always)]
pub unsafe fn close<K: Kind, T: ?Sized>(data: *const T, _: K) -> K::To<T> {
    // SAFETY: from `into_data`, taken back once, and coerced (caller).
    unsafe { K::from_data(data) }
}
