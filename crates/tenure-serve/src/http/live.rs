//! [`Live`]: one object for each version of a file, however many workers and connections send it. And [`Chunk`]: what
//! of it waits in an output.
//!
//! The key has what tells versions apart, so that connections which still send an old one keep that, and those
//! that come after a change share the new one. An object goes with the last answer or cache that has it.

use std::path::PathBuf;

use tenure::count::TicketRef;
use tenure::line::Isolated;
use tenure::registry::{Ref, Registry};

use super::file::File;

/// The references to a file: every answer adds one, and takes it away. They are kept off the lines of the file,
/// which every answer reads.
type Count = Isolated<TicketRef>;

/// All versions that somebody has.
pub(super) type Live = Registry<Key, File, Count>;

/// Keeps a version of a file.
pub(super) type FileRef = Ref<Key, File, Count>;

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

/// Bytes that wait in an output.
#[derive(Debug)]
pub struct Chunk(Bytes);

#[derive(Debug)]
enum Bytes {
    /// The first so many of a file, sent from where all connections share it.
    Shared { file: FileRef, end: usize },
    /// Read for one connection.
    Own(Vec<u8>),
}

impl Chunk {
    /// The first `end` bytes of a file, which is [held](File::held) and not shorter.
    #[inline]
    pub(super) fn of(file: FileRef, end: usize) -> Self {
        Self(Bytes::Shared { file, end })
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Bytes::Own(bytes))
    }
}

impl AsRef<[u8]> for Chunk {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Shared { file, end } => &file.held().unwrap_or_default()[..*end],
            Bytes::Own(bytes) => bytes,
        }
    }
}
