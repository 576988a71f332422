//! The traits of core, of std and of other crates: an `Arc` is what its value is.

use super::Arc;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::error::Error;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::UnwindSafe;

/// As the values. std's `Arc` skips the comparison of a shared value with itself if `T: Eq`, for which it needs
/// specialisation.
#[allow(clippy::partialeq_ne_impl, reason = "the value's own `ne` is the one to ask")]
impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    forward! { (**self) =>
        fn eq(&self, other: &Self) -> bool;
        fn ne(&self, other: &Self) -> bool;
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    forward! { (**self) =>
        fn partial_cmp(&self, other: &Self) -> Option<Ordering>;
        fn lt(&self, other: &Self) -> bool;
        fn le(&self, other: &Self) -> bool;
        fn gt(&self, other: &Self) -> bool;
        fn ge(&self, other: &Self) -> bool;
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    forward! { (**self) => fn cmp(&self, other: &Self) -> Ordering; }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    forward! { (**self) => fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result; }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    forward! { (**self) => fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result; }
}

/// The address of the value.
impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Self::as_ptr(self), f)
    }
}

impl<T: ?Sized + Error> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }

    #[allow(deprecated, reason = "errors that only have a description keep it")]
    fn description(&self) -> &str {
        (**self).description()
    }

    #[allow(deprecated, reason = "errors that only have a cause keep it")]
    fn cause(&self) -> Option<&dyn Error> {
        (**self).cause()
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

/// Moving an `Arc` does not move its value.
impl<T: ?Sized> Unpin for Arc<T> {}

impl<T: ?Sized + core::panic::RefUnwindSafe> UnwindSafe for Arc<T> {}

/// Files, whose position all holders of the `Arc` share, and what has a descriptor or a handle.
#[cfg(feature = "std")]
mod of_std {
    use super::Arc;
    use std::fs::File;
    use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
    use std::string::String;
    use std::vec::Vec;

    impl Read for Arc<File> {
        forward! { (&**self) =>
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize>;
            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize>;
            fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize>;
            fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize>;
        }
    }

    impl Write for Arc<File> {
        forward! { (&**self) =>
            fn write(&mut self, buf: &[u8]) -> io::Result<usize>;
            fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize>;
            fn flush(&mut self) -> io::Result<()>;
        }
    }

    impl Seek for Arc<File> {
        forward! { (&**self) =>
            fn seek(&mut self, pos: SeekFrom) -> io::Result<u64>;
            fn stream_position(&mut self) -> io::Result<u64>;
        }
    }

    #[cfg(any(unix, target_os = "wasi"))]
    impl<T: ?Sized + std::os::fd::AsFd> std::os::fd::AsFd for Arc<T> {
        forward! { (**self) => fn as_fd(&self) -> std::os::fd::BorrowedFd<'_>; }
    }

    #[cfg(any(unix, target_os = "wasi"))]
    impl<T: std::os::fd::AsRawFd> std::os::fd::AsRawFd for Arc<T> {
        forward! { (**self) => fn as_raw_fd(&self) -> std::os::fd::RawFd; }
    }

    #[cfg(windows)]
    impl<T: ?Sized + std::os::windows::io::AsHandle> std::os::windows::io::AsHandle for Arc<T> {
        forward! { (**self) => fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_>; }
    }

    #[cfg(windows)]
    impl<T: std::os::windows::io::AsSocket> std::os::windows::io::AsSocket for Arc<T> {
        forward! { (**self) => fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_>; }
    }
}

/// As serde's feature `rc` for std's pointers: an `Arc` is written as its value, so a shared one is read back as two.
#[cfg(feature = "serde")]
mod of_serde {
    use crate::arc::{Arc, Weak};
    use alloc::boxed::Box;
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    impl<T: ?Sized + Serialize> Serialize for Arc<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            (**self).serialize(serializer)
        }
    }

    impl<'de, T: ?Sized> Deserialize<'de> for Arc<T>
    where
        Box<T>: Deserialize<'de>,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Box::deserialize(deserializer).map(Self::from)
        }
    }

    /// As an `Option` of the value: none if it is dead.
    impl<T: ?Sized + Serialize> Serialize for Weak<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.upgrade().serialize(serializer)
        }
    }

    /// Reads an `Option` of the value, and is always dead: there is no `Arc` to the value.
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Weak<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Option::<T>::deserialize(deserializer)?;
            Ok(Self::new())
        }
    }
}

#[cfg(feature = "stable_deref_trait")]
mod of_stable_deref_trait {
    use super::Arc;
    use stable_deref_trait::{CloneStableDeref, StableDeref};

    // SAFETY: the value is in the allocation that the `Arc` points to, which never moves; `deref` always gives that
    // place, and nothing but `make_mut`, which takes `&mut`, lets an `Arc` point elsewhere.
    unsafe impl<T: ?Sized> StableDeref for Arc<T> {}

    // SAFETY: a clone points to the same allocation.
    unsafe impl<T: ?Sized> CloneStableDeref for Arc<T> {}
}

#[cfg(feature = "arc-swap")]
mod of_arc_swap {
    use crate::arc::{Arc, Weak};
    use arc_swap::RefCnt;
    use core::ptr;

    /// ```
    /// use tenure::sync::Arc;
    ///
    /// type ArcSwap<T> = arc_swap::ArcSwapAny<Arc<T>>;
    ///
    /// let config = ArcSwap::new(Arc::new(String::from("old")));
    /// let before = config.load();
    /// config.store(Arc::new(String::from("new")));
    /// assert_eq!((before.as_str(), config.load().as_str()), ("old", "new"));
    /// ```
    // SAFETY: `into_raw` and `from_raw`, whose pointer is the value's: the same for all clones, never null, and another
    // for each allocation that lives. Every reference is one in the count.
    unsafe impl<T> RefCnt for Arc<T> {
        type Base = T;

        fn into_ptr(me: Self) -> *mut T {
            Self::into_raw(me).cast_mut()
        }

        fn as_ptr(me: &Self) -> *mut T {
            Self::as_ptr(me).cast_mut()
        }

        unsafe fn from_ptr(ptr: *const T) -> Self {
            // SAFETY: from `into_raw`; what is converted back too often is forgotten again (caller).
            unsafe { Self::from_raw(ptr) }
        }
    }

    /// A `Weak` to nothing is the null pointer.
    // SAFETY: as above; two `Weak`s to nothing are the same, and null is no allocation's.
    unsafe impl<T> RefCnt for Weak<T> {
        type Base = T;

        fn into_ptr(me: Self) -> *mut T {
            if me.counts().is_some() { me.into_raw().cast_mut() } else { ptr::null_mut() }
        }

        fn as_ptr(me: &Self) -> *mut T {
            if me.counts().is_some() { me.as_ptr().cast_mut() } else { ptr::null_mut() }
        }

        unsafe fn from_ptr(ptr: *const T) -> Self {
            if ptr.is_null() {
                return Self::new();
            }
            // SAFETY: from `into_raw`; what is converted back too often is forgotten again (caller).
            unsafe { Self::from_raw(ptr) }
        }
    }
}

/// What only a nightly compiler lets `Arc` and `Weak` implement: std's coercions, receivers and drop check. May change
/// with any nightly; `ci/nightly_toolchain.sh` names the one that this is written for.
#[cfg(tenure_nightly)]
mod nightly {
    use crate::arc::{Arc, Weak};
    use core::marker::Unsize;
    use core::ops::{CoerceUnsized, DispatchFromDyn, LegacyReceiver};
    use core::pin::PinSafePointer;

    /// `Arc<T>` becomes `Arc<dyn Trait>` by itself.
    impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}
    impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Weak<U>> for Weak<T> {}

    /// Methods that take `self: Arc<Self>` can be called on an `Arc<dyn Trait>`.
    impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}
    impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Weak<U>> for Weak<T> {}

    /// Methods may take `self: Arc<Self>`, `self: &Arc<Self>` and `self: Pin<Arc<Self>>`.
    impl<T: ?Sized> LegacyReceiver for Arc<T> {}

    // SAFETY: `deref` always gives the same place, which is in the allocation and does not move with the `Arc`; a
    // coercion changes the metadata alone.
    unsafe impl<T: ?Sized> PinSafePointer for Arc<T> {}

    // SAFETY: the drop touches the value only to drop it, which `PhantomData<Inner<T>>` shows to the drop check. Size
    // and alignment are read from the pointer's metadata.
    unsafe impl<#[may_dangle] T: ?Sized> Drop for Arc<T> {
        /// Gives the reference up, and with the last one drops the value. If its destructor panics the memory is
        /// released all the same.
        #[inline]
        fn drop(&mut self) {
            // SAFETY: the drop.
            unsafe { self.give_up() };
        }
    }

    // SAFETY: the drop never touches the value. Size and alignment are read from the pointer's metadata.
    unsafe impl<#[may_dangle] T: ?Sized> Drop for Weak<T> {
        /// Gives the reference up, and frees the memory with the last one of a dead value.
        #[inline]
        fn drop(&mut self) {
            // SAFETY: the drop.
            unsafe { self.give_up() };
        }
    }
}
