//! [`Key`]: what objects are registered under.

use core::hash::Hash;

/// What every key has: a short name for it, which all such types have by themselves.
///
/// Keys are hashed once for each acquire or get, and compared under a guard that holds back the freeing of memory, which
/// should not take long. They are dropped late, and by any thread: see [limits](super#limits).
///
/// A key whose `Eq` or `Hash` lies finds the wrong object or none; no memory depends on it. No type has a short name of its
/// own:
///
/// ```compile_fail,E0119
/// struct Mine;
/// impl tenure::registry::Key for Mine {} // error: conflicting implementation
/// ```
pub trait Key: Hash + Eq + Send + Sync + 'static {}

impl<K: Hash + Eq + Send + Sync + 'static> Key for K {}
