//! The types of all units so far, and which unit defines each.
//!
//! *Roots* (composites, enumerations, numbers, aliases) are looked up by the hash of their content; the first unit in
//! the order of the file defines them. Units are read in parallel: a later unit that comes first notes its number, and
//! an earlier one replaces that and defines the type again. The merge takes the definition of the unit noted in the
//! end, so the result does not depend on timing.
//!
//! *Derived* types (pointers, arrays, qualified types, names without definition) follow from their parts. Their hash
//! says all, so any unit may define them.

use std::collections::hash_map::Entry as MapEntry;
use std::sync::{Arc, Mutex, PoisonError};

use super::digest::{Digest, DigestMap};
use super::table::{EntryKind, EntryPosition};
use crate::model::{BitField, Name, Qualifier};

/// A name with its path.
#[derive(Debug, Clone)]
pub(super) struct StoredText<'d> {
    /// The path, with the separator; empty if there is none.
    pub(super) path: Arc<[u8]>,
    pub(super) name: &'d [u8],
}

/// Defined by one unit.
#[derive(Debug)]
pub(super) struct Root<'d> {
    pub(super) content: Digest,
    /// The key by which declarations find it; 0 without a name.
    pub(super) key: Digest,
    pub(super) name: StoredText<'d>,
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) what: EntryKind,
    /// The target of an alias.
    pub(super) target: Digest,
    pub(super) members: Box<[RootMember<'d>]>,
    pub(super) declared: Option<(Name, u32)>,
}

#[derive(Debug)]
pub(super) struct RootMember<'d> {
    pub(super) name: &'d [u8],
    pub(super) offset: u64,
    pub(super) ty: Digest,
    pub(super) bits: Option<BitField>,
    pub(super) inherited: bool,
}

/// Follows from others.
#[derive(Debug, Clone)]
pub(super) enum Derived<'d> {
    Pointer {
        to: Digest,
        size: u64,
    },
    Array {
        of: Digest,
        count: u64,
    },
    Qualified {
        qualifier: Qualifier,
        of: Digest,
    },
    Function,
    /// Only its name, and the key of its definition elsewhere.
    Opaque {
        key: Digest,
        name: StoredText<'d>,
        size: u64,
    },
}

#[derive(Debug)]
pub(super) struct RootStatic<'d> {
    pub(super) name: StoredText<'d>,
    pub(super) section: Name,
    pub(super) address: u64,
    pub(super) ty: Digest,
    pub(super) declared: Option<(Name, u32)>,
}

#[derive(Debug, Default)]
pub(super) struct StoredEntry<'d> {
    pub(super) order: u32,
    pub(super) translation_units: u64,
    pub(super) roots: Vec<Root<'d>>,
    pub(super) statics: Vec<RootStatic<'d>>,
    /// If asked for: where entries of types are, with the numbers of their identities.
    pub(super) entries: Vec<(EntryPosition, u32)>,
}

/// Enough locks that few threads meet.
const SHARDS: usize = 64;

#[derive(Debug)]
pub(super) struct Store<'d> {
    firsts: Vec<Mutex<DigestMap<u32>>>,
    derived: Vec<Mutex<DigestMap<Derived<'d>>>>,
    /// The identities of entries, by shard in the order in which they came; none if those are not kept.
    numbers: Option<Vec<Mutex<DigestMap<u32>>>>,
}

impl<'d> Store<'d> {
    pub(super) fn new(keep_entries: bool) -> Self {
        Self {
            numbers: keep_entries.then(|| (0..SHARDS).map(|_| Mutex::default()).collect()),
            firsts: (0..SHARDS).map(|_| Mutex::default()).collect(),
            derived: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether this unit defines a root: unless it or an earlier unit asked before.
    pub(super) fn claim(&self, content: Digest, order: u32) -> bool {
        let mut shard = self.firsts[shard(content)].lock().unwrap_or_else(PoisonError::into_inner);
        match shard.entry(content) {
            MapEntry::Vacant(place) => {
                place.insert(order);
                true
            }
            MapEntry::Occupied(mut first) => {
                let earlier = order < *first.get();
                if earlier {
                    first.insert(order);
                }
                earlier
            }
        }
    }

    pub(super) fn derive(&self, identity: Digest, make: impl FnOnce() -> Derived<'d>) {
        let mut shard =
            self.derived[shard(identity)].lock().unwrap_or_else(PoisonError::into_inner);
        shard.entry(identity).or_insert_with(make);
    }

    pub(super) fn keeps_entries(&self) -> bool {
        self.numbers.is_some()
    }

    /// A small number for an identity. Which one depends on timing.
    pub(super) fn number(&self, identity: Digest) -> Option<u32> {
        let which = shard(identity);
        let mut shard =
            self.numbers.as_ref()?[which].lock().unwrap_or_else(PoisonError::into_inner);
        let next = shard.len() * SHARDS + which;
        Some(*shard.entry(identity).or_insert(u32::try_from(next).ok()?))
    }

    /// Takes the identities that have numbers, each with its own.
    pub(super) fn take_numbers(&mut self) -> Vec<(Digest, u32)> {
        let shards = self.numbers.take().unwrap_or_default().into_iter();
        let open = |mutex: Mutex<DigestMap<u32>>| {
            mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
        };
        shards.flat_map(open).collect()
    }

    pub(super) fn into_parts(self) -> (Sharded<u32>, Sharded<Derived<'d>>) {
        let open = |mutex: Mutex<DigestMap<u32>>| {
            mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
        };
        let firsts = self.firsts.into_iter().map(open).collect();
        let open =
            |mutex: Mutex<DigestMap<_>>| mutex.into_inner().unwrap_or_else(PoisonError::into_inner);
        (Sharded(firsts), Sharded(self.derived.into_iter().map(open).collect()))
    }
}

#[derive(Debug)]
pub(super) struct Sharded<T>(Vec<DigestMap<T>>);

impl<T> Sharded<T> {
    pub(super) fn get(&self, key: Digest) -> Option<&T> {
        self.0[shard(key)].get(&key)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(DigestMap::len).sum()
    }
}

fn shard(digest: Digest) -> usize {
    // Not the bits by which maps place their keys first.
    (digest >> 90) as usize % SHARDS
}
