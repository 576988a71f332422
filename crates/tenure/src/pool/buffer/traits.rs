//! What [`PooledBuf`] and [`PooledBytes`] have of the slice that they are.

use super::{PooledBuf, PooledBytes};
use crate::pool::FreeList;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{Hash, Hasher};

macro_rules! slices {
    ($($bytes:ident)*) => {$(
        impl<L: FreeList> AsRef<[u8]> for $bytes<L> {
            fn as_ref(&self) -> &[u8] {
                self
            }
        }

        impl<L: FreeList> Borrow<[u8]> for $bytes<L> {
            fn borrow(&self) -> &[u8] {
                self
            }
        }

        impl<L: FreeList> Eq for $bytes<L> {}

        impl<L: FreeList> Hash for $bytes<L> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        equals! { $bytes:
            (K: FreeList) $bytes<K>;
            () [u8];
            () &[u8];
            (const N: usize) [u8; N];
            (const N: usize) &[u8; N];
        }
    )*};
}

macro_rules! equals {
    ($bytes:ident: $(($($parameter:tt)*) $other:ty;)*) => {$(
        impl<L: FreeList, $($parameter)*> PartialEq<$other> for $bytes<L> {
            fn eq(&self, other: &$other) -> bool {
                let other: &[u8] = other.as_ref();
                **self == *other
            }
        }
    )*};
}

slices! { PooledBuf PooledBytes }

/// Lengths alone: the contents may be secret.
impl<L: FreeList> fmt::Debug for PooledBuf<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBuf")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// The length alone, as above.
impl<L: FreeList> fmt::Debug for PooledBytes<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBytes").field("len", &self.len()).finish_non_exhaustive()
    }
}
