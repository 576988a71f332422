//! What a [`Shared`] has of its value: its comparisons, its hash, its formats; and what an [`Owner`] says of it.

use super::{Owner, Shared};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::{RefUnwindSafe, UnwindSafe};

impl<T: ?Sized + PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Shared<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Shared<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Shared<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Shared<T> {
    forward! { (**self) => fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result; }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Shared<T> {
    forward! { (**self) => fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result; }
}

/// The address of the value.
impl<T: ?Sized> fmt::Pointer for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&(&raw const **self), f)
    }
}

impl<T: ?Sized> AsRef<T> for Shared<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Shared<T> {
    fn borrow(&self) -> &T {
        self
    }
}

macro_rules! both {
    ($($pointer:ident)*) => {$(
        /// Moving the pointer does not move its value.
        impl<T: ?Sized> Unpin for $pointer<T> {}

        impl<T: ?Sized + RefUnwindSafe> UnwindSafe for $pointer<T> {}

        impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for $pointer<T> {}
    )*};
}

both! { Owner Shared }

/// `Owner(None)` once it was closed.
impl<T: ?Sized + fmt::Debug> fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owner").field(&self.try_share()).finish()
    }
}

#[cfg(feature = "serde")]
mod of_serde {
    use super::super::{Owner, Shared};
    use alloc::boxed::Box;
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Error, Serialize, Serializer};

    impl<T: ?Sized + Serialize> Serialize for Shared<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            (**self).serialize(serializer)
        }
    }

    /// Fails if the owner is closed.
    impl<T: ?Sized + Serialize> Serialize for Owner<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let shared = self.try_share().ok_or_else(|| Error::custom("the owner is closed"))?;
            shared.serialize(serializer)
        }
    }

    impl<'de, T: ?Sized> Deserialize<'de> for Owner<T>
    where
        Box<T>: Deserialize<'de>,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Box::deserialize(deserializer).map(Self::from)
        }
    }
}
