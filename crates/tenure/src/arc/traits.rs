//! The traits of core: an `Arc` is what its value is.

use super::Arc;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::error::Error;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::UnwindSafe;

/// As the values. Two `Arc`s to one value compare it with itself: stable Rust does not let them
/// ask whether `T: Eq`, which std's `Arc` does in order to skip that.
impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }

    #[inline]
    #[allow(clippy::partialeq_ne_impl, reason = "the value's own `ne` is the one to ask")]
    fn ne(&self, other: &Self) -> bool {
        **self != **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
    fn lt(&self, other: &Self) -> bool {
        **self < **other
    }
    fn le(&self, other: &Self) -> bool {
        **self <= **other
    }
    fn gt(&self, other: &Self) -> bool {
        **self > **other
    }
    fn ge(&self, other: &Self) -> bool {
        **self >= **other
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
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
