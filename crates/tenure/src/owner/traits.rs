//! What both pointers have of their value: its comparisons, its hash, its formats.

use super::{Owner, Shared};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! as_the_value {
    ($($pointer:ident)*) => {$(
        impl<T: ?Sized + PartialEq> PartialEq for $pointer<T> {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl<T: ?Sized + Eq> Eq for $pointer<T> {}

        impl<T: ?Sized + PartialOrd> PartialOrd for $pointer<T> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                (**self).partial_cmp(&**other)
            }
        }

        impl<T: ?Sized + Ord> Ord for $pointer<T> {
            fn cmp(&self, other: &Self) -> Ordering {
                (**self).cmp(&**other)
            }
        }

        impl<T: ?Sized + Hash> Hash for $pointer<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $pointer<T> {
            forward! { (**self) => fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result; }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $pointer<T> {
            forward! { (**self) => fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result; }
        }

        /// The address of the value.
        impl<T: ?Sized> fmt::Pointer for $pointer<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Pointer::fmt(&(&raw const **self), f)
            }
        }

        impl<T: ?Sized> AsRef<T> for $pointer<T> {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<T: ?Sized> Borrow<T> for $pointer<T> {
            fn borrow(&self) -> &T {
                self
            }
        }

        /// Moving the pointer does not move its value.
        impl<T: ?Sized> Unpin for $pointer<T> {}

        impl<T: ?Sized + RefUnwindSafe> UnwindSafe for $pointer<T> {}

        impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for $pointer<T> {}

        #[cfg(feature = "serde")]
        impl<T: ?Sized + serde::Serialize> serde::Serialize for $pointer<T> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                (**self).serialize(serializer)
            }
        }
    )*};
}

as_the_value! { Owner Shared }
