//! What buffers and their parts have of the slice that they are, and the generic ones as well.

use super::{PooledBuf, PooledBytes};
use crate::pool::generic;
use crate::pool::list::List;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{Hash, Hasher};

macro_rules! slices {
    ($([$($generics:tt)*] $bytes:ty;)*) => {$(
        impl<$($generics)*> AsRef<[u8]> for $bytes {
            fn as_ref(&self) -> &[u8] {
                self
            }
        }

        impl<$($generics)*> Borrow<[u8]> for $bytes {
            fn borrow(&self) -> &[u8] {
                self
            }
        }

        impl<$($generics)*> Eq for $bytes {}

        impl<$($generics)*> Hash for $bytes {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        equal! { [$($generics)*] $bytes, Self }
        equal! { [$($generics)*] $bytes, [u8] }
        equal! { [$($generics)*] $bytes, &[u8] }
        equal! { [const N: usize, $($generics)*] $bytes, [u8; N] }
        equal! { [const N: usize, $($generics)*] $bytes, &[u8; N] }
    )*};
}

macro_rules! equal {
    ([$($generics:tt)*] $bytes:ty, $other:ty) => {
        impl<$($generics)*> PartialEq<$other> for $bytes {
            fn eq(&self, other: &$other) -> bool {
                let other: &[u8] = other.as_ref();
                **self == *other
            }
        }
    };
}

slices! {
    [] PooledBuf;
    [] PooledBytes;
    [L: List] generic::PooledBuf<L>;
    [L: List] generic::PooledBytes<L>;
}

/// Lengths alone: the contents may be secret.
impl<L: List> fmt::Debug for generic::PooledBuf<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBuf")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// The length alone, as above.
impl<L: List> fmt::Debug for generic::PooledBytes<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBytes").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for PooledBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for PooledBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
