//! How the map finds items: by a key with its hash, which a request computes once, or by a cell.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ptr::NonNull;

use papaya::Equivalent;
use tenure::count::RefCount;

use crate::memcached::arena::Cell;
use crate::memcached::item::ItemRef;

pub(super) struct Entry<C: RefCount + 'static>(pub(super) ItemRef<C>);

impl<C: RefCount + 'static> Hash for Entry<C> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0.hash());
    }
}

impl<C: RefCount + 'static> PartialEq for Entry<C> {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash() == other.0.hash() && self.0.key() == other.0.key()
    }
}

impl<C: RefCount + 'static> Eq for Entry<C> {}

#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) hash: u64,
}

impl Hash for Key<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.hash);
    }
}

impl<C: RefCount + 'static> Equivalent<Entry<C>> for Key<'_> {
    #[inline]
    fn equivalent(&self, entry: &Entry<C>) -> bool {
        self.hash == entry.0.hash() && self.bytes == entry.0.key()
    }
}

pub(super) struct InCell {
    pub(super) hash: u64,
    pub(super) cell: NonNull<Cell>,
}

impl Hash for InCell {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.hash);
    }
}

impl<C: RefCount + 'static> Equivalent<Entry<C>> for InCell {
    fn equivalent(&self, entry: &Entry<C>) -> bool {
        self.hash == entry.0.hash() && entry.0.has(self.cell)
    }
}

/// Passes a hash through.
#[derive(Clone, Copy, Default)]
pub(super) struct Hashed(pub(super) u64);

impl Hasher for Hashed {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys write their hash");
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for Hashed {
    type Hasher = Self;
    #[inline]
    fn build_hasher(&self) -> Self {
        Self(0)
    }
}
