//! Files below a root: [`Root`] opens them, and each worker's [`Cache`] keeps references to those it sends.
//!
//! Names are opened with `openat2` and `RESOLVE_BENEATH`: the kernel follows no symbolic link out of the root, even
//! while directories move. It refuses every absolute link; if one leads below the root, the target is opened by its own
//! name, without links.
//!
//! Files up to [`Limits::held`](super::Limits::held) are sent from memory. Larger ones stay open and are read piece by
//! piece as they are sent. Nothing is mapped, so a file that shrinks only ends its answer early.
//!
//! A cached file is checked again after a second. If it has changed, the worker takes the new version, and the old one
//! goes with the last answer that sends it. Files without a request are dropped after half a minute.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::Limits;
use super::file::{Contents, File, FileRef, Key, Live, Stamp, media_of};
use super::status::Status;

/// How long a cached file needs no look at the file system.
const FRESH: Duration = Duration::from_secs(1);

/// How long a file stays without a request.
const UNUSED: Duration = Duration::from_secs(30);

/// Open files that a worker keeps.
const MOST_ON_DISK: usize = 64;

/// Attempts to read a file that keeps changing.
const ATTEMPTS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Directory,
    Refused(Status),
    /// The system is short of something, or the file keeps changing.
    Busy,
}

impl From<Errno> for Missing {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::NAMETOOLONG
            | Errno::LOOP
            | Errno::XDEV
            | Errno::INVAL => Self::Refused(Status::NOT_FOUND),
            Errno::ACCESS | Errno::PERM => Self::Refused(Status::FORBIDDEN),
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN | Errno::INTR => Self::Busy,
            _ => Self::Refused(Status::SERVER_ERROR),
        }
    }
}

#[derive(Debug)]
pub(super) struct Root {
    directory: Option<OwnedFd>,
    live: Live,
    limits: Limits,
}

impl Root {
    /// `None` serves no files.
    pub(super) fn open(path: Option<&Path>, limits: Limits) -> Result<Self, String> {
        let directory = path.map(|path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(path, flags, Mode::empty());
            let directory = opened.map_err(|error| {
                format!("cannot serve {}: {error}; give a directory", path.display())
            })?;
            // Fails now if `openat2` does, instead of at every file.
            beneath(&directory, b".", OFlags::PATH).map_err(|error| {
                format!(
                    "cannot serve {}: openat2 fails ({error}); it needs Linux 5.6",
                    path.display()
                )
            })?;
            Ok::<_, String>(directory)
        });
        Ok(Self { directory: directory.transpose()?, live: Live::default(), limits })
    }

    pub(super) fn fixed(&self, name: &str, media: &'static str, bytes: Vec<u8>) -> FileRef {
        let key = Key { name: PathBuf::from(name), stamp: Stamp::default() };
        let file = File::new(media, None, bytes.len() as u64, Contents::Held(bytes));
        self.live.acquire(&key, || file)
    }

    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// The newest version and its stamp: `known` if it still is that.
    fn find(&self, name: &[u8], known: Option<&Entry>) -> Result<(FileRef, Stamp), Missing> {
        let directory = self.directory.as_ref().ok_or(Missing::Refused(Status::NOT_FOUND))?;
        for _ in 0..ATTEMPTS {
            // A pipe without a writer must not block the worker.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let opened = match beneath(directory, name, flags) {
                Err(Errno::XDEV) => through_absolute_links(directory, name, flags),
                opened => opened,
            };
            let file = match opened {
                Err(Errno::AGAIN | Errno::INTR) => continue,
                opened => fs::File::from(opened?),
            };
            let stat = rustix::fs::fstat(&file)?;
            match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
                rustix::fs::FileType::RegularFile => {}
                rustix::fs::FileType::Directory => return Err(Missing::Directory),
                _ => return Err(Missing::Refused(Status::FORBIDDEN)),
            }
            let stamp = stamp(&stat);
            if let Some(known) = known.filter(|known| known.stamp == stamp) {
                return Ok((FileRef::clone(&known.file), stamp));
            }
            let key = Key { name: PathBuf::from(OsStr::from_bytes(name)), stamp };
            match self.live.try_acquire(&key, || self.load(name, file, stamp)) {
                Err(Missing::Busy) => {}
                acquired => return Ok((acquired?, stamp)),
            }
        }
        Err(Missing::Busy)
    }

    fn load(&self, name: &[u8], file: fs::File, stamp: Stamp) -> Result<File, Missing> {
        let held = usize::try_from(stamp.len).ok().filter(|len| *len <= self.limits.held);
        let contents = match held {
            Some(len) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(len).map_err(|_| Missing::Busy)?;
                let read = (&file).take(stamp.len).read_to_end(&mut bytes);
                read.map_err(|error| {
                    Errno::from_io_error(&error).map_or(Missing::Busy, Missing::from)
                })?;
                // Without `changed`: a rename meanwhile changes no byte.
                let now = self::stamp(&rustix::fs::fstat(&file)?);
                if bytes.len() < len || (now.len, now.modified) != (stamp.len, stamp.modified) {
                    return Err(Missing::Busy);
                }
                Contents::Held(bytes)
            }
            None => Contents::OnDisk(file),
        };
        Ok(File::new(media_of(name), Some(stamp.modified), stamp.len, contents))
    }
}

fn beneath(directory: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, name, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Opens `name` through absolute links if the target is below the directory: by its own name, without links, so that
/// none leads out meanwhile.
fn through_absolute_links(
    directory: &OwnedFd,
    name: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::NOENT);
    // Where the directory is now, should it have been moved.
    let root = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let root = fs::read_link(root).map_err(|_| Errno::XDEV)?;
    let real = fs::canonicalize(root.join(OsStr::from_bytes(name))).map_err(errno)?;
    let below = real.strip_prefix(&root).map_err(|_| Errno::XDEV)?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    // The root itself has no name below the root.
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    rustix::fs::openat2(directory, below, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion)] // The types differ between targets.
fn stamp(stat: &Stat) -> Stamp {
    Stamp {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        len: stat.st_size as u64,
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
    }
}

/// Most requests touch no file system, and write nothing shared but the file's count.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<Vec<u8>, Entry>,
    /// Bytes of files held in memory.
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    file: FileRef,
    stamp: Stamp,
    looked: Instant,
    used: Instant,
}

impl Cache {
    #[inline]
    pub(super) fn find(
        &mut self,
        root: &Root,
        name: &[u8],
        now: Instant,
    ) -> Result<FileRef, Missing> {
        match self.entries.get_mut(name) {
            Some(entry) if now < entry.looked + FRESH => {
                entry.used = now;
                Ok(FileRef::clone(&entry.file))
            }
            _ => self.look(root, name, now),
        }
    }

    #[cold]
    fn look(&mut self, root: &Root, name: &[u8], now: Instant) -> Result<FileRef, Missing> {
        let known = self.entries.get(name);
        let (file, stamp) = match (root.find(name, known), known) {
            // A second old is better than nothing.
            (Err(Missing::Busy), Some(known)) => (FileRef::clone(&known.file), known.stamp),
            (found, _) => found.inspect_err(|_| self.remove(name))?,
        };
        self.remove(name);
        let held = held(&file);
        if file.held().is_none() {
            // Each is an open file.
            while self.on_disk().count() >= MOST_ON_DISK {
                let oldest = self.on_disk().min_by_key(|(_, entry)| entry.used);
                let Some(name) = oldest.map(|(name, _)| name.clone()) else { break };
                self.remove(&name);
            }
        }
        if held <= root.limits.cached_bytes && root.limits.cached_files > 0 {
            while self.entries.len() >= root.limits.cached_files
                || self.bytes + held > root.limits.cached_bytes
            {
                self.evict();
            }
            self.bytes += held;
            let entry = Entry { file: FileRef::clone(&file), stamp, looked: now, used: now };
            self.entries.insert(name.to_vec(), entry);
        }
        Ok(file)
    }

    fn on_disk(&self) -> impl Iterator<Item = (&Vec<u8>, &Entry)> {
        self.entries.iter().filter(|(_, entry)| entry.file.held().is_none())
    }

    /// Drops files that were not requested for a while.
    pub(super) fn sweep(&mut self, now: Instant) {
        let bytes = &mut self.bytes;
        self.entries.retain(|_, entry| {
            let keep = now < entry.used + UNUSED;
            if !keep {
                *bytes -= held(&entry.file);
            }
            keep
        });
    }

    fn evict(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
        if let Some(name) = oldest.map(|(name, _)| name.clone()) {
            self.remove(&name);
        }
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(entry) = self.entries.remove(name) {
            self.bytes -= held(&entry.file);
        }
    }
}

fn held(file: &File) -> usize {
    file.held().map_or(0, <[u8]>::len)
}
