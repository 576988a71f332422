//! [`Live`]: one live object for each version of a file, however many workers and connections send it.
//!
//! The key has what tells versions apart, so that connections which still send an old one keep that, and those
//! that come after a change share the new one. An object goes with the last answer or cache that has it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tenure::sync::{Arc, Weak};

use super::file::File;

/// Keeps a file.
pub(super) type FileRef = Arc<File>;

/// A version of a file: where it is, and what the system says of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) name: PathBuf,
    pub(super) stamp: Stamp,
}

/// What changes when a file does: device, inode, length, and the times of the last change of its bytes and of
/// the inode. A change within one tick of the file system's clock that leaves the length as it was is not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) len: u64,
    pub(super) modified: (i64, u64),
    pub(super) changed: (i64, u64),
}

/// All versions that somebody has.
#[derive(Debug, Default)]
pub(super) struct Live(Mutex<HashMap<Key, Weak<File>>>);

impl Live {
    /// The file of that key; `create` makes it if nobody has it.
    pub(super) fn acquire<E>(
        &self,
        key: Key,
        create: impl FnOnce() -> Result<File, E>,
    ) -> Result<FileRef, E> {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = live.get(&key).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(create()?);
        live.retain(|_, file| !file.is_dead());
        live.insert(key, Arc::downgrade(&file));
        Ok(file)
    }

    /// Objects that somebody has.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.values().filter(|file| !file.is_dead()).count()
    }
}
