//! Serialising what is shared, as serde's own feature `rc` does for std's pointers.
//!
//! An `Arc` is written as its value: what two `Arc`s shared is written twice, and read back as two.

use super::{Arc, Weak};
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

/// Reads an `Option` of the value, and is always dead: nobody else would hold the value.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Weak<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<T>::deserialize(deserializer)?;
        Ok(Self::new())
    }
}
