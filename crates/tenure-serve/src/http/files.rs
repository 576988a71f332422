//! Files below a root: [`Root`] opens them, and each worker's [`Cache`] keeps references to those it sends.
//!
//! # Below the root
//!
//! Names are opened with `openat2` and `RESOLVE_BENEATH`: the kernel follows no symbolic link that leads out of the root,
//! whoever moves directories meanwhile. Relative links within the root work. The kernel refuses every absolute one; where
//! it leads to a place below the root, that place is opened by its own name, without links.
//!
//! # In memory or not
//!
//! Files up to [`Limits::held`](super::Limits::held) are read once, and then sent from memory. A file that
//! changes while it is read is read again. Larger ones stay open, and a piece is read when the one before was
//! sent: nothing is mapped, so a file that somebody cuts short ends the answer early, and nothing else.
//!
//! # Until when
//!
//! A cached file is looked at again after a second. Then a change is seen: the worker takes the new version, and
//! the old one goes with the last answer that sends it. What is not asked for is dropped after half a minute.

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

use super::file::{Contents, File};
use super::live::{FileRef, Key, Live, Stamp};
use super::status::Status;
use super::{Limits, media};

/// A cached file is good for so long without a look at the file system.
const FRESH: Duration = Duration::from_secs(1);

/// A file that nobody asked for leaves the cache after that time.
const UNUSED: Duration = Duration::from_secs(30);

/// Files that are open and not in memory; a worker keeps no more of them at hand.
const MOST_ON_DISK: usize = 64;

/// Times that a file is read which changes meanwhile.
const ATTEMPTS: usize = 3;

/// Why there is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The name is that of a directory.
    Directory,
    /// There is none, or none that may be read.
    Refused(Status),
    /// There may be one: the system is short of something, or the file does not hold still.
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

/// The directory whose files are served, and those that somebody has.
#[derive(Debug)]
pub(super) struct Root {
    directory: Option<OwnedFd>,
    live: Live,
    limits: Limits,
}

impl Root {
    /// The files below `path`; none at all without one.
    pub(super) fn open(path: Option<&Path>, limits: Limits) -> Result<Self, String> {
        let directory = path.map(|path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(path, flags, Mode::empty());
            let directory = opened.map_err(|error| {
                format!("cannot serve {}: {error}; give a directory", path.display())
            })?;
            // To find out now what would otherwise make every file unavailable.
            beneath(&directory, b".", OFlags::PATH).map_err(|error| {
                format!(
                    "cannot serve {}: openat2 fails ({error}); Linux has it since 5.6",
                    path.display()
                )
            })?;
            Ok::<_, String>(directory)
        });
        Ok(Self { directory: directory.transpose()?, live: Live::default(), limits })
    }

    /// An object that lives as long as somebody has it, as files do, and is none.
    pub(super) fn fixed(&self, name: &str, media: &'static str, bytes: Vec<u8>) -> FileRef {
        let key = Key { name: PathBuf::from(name), stamp: Stamp::default() };
        let file = File::new(media, None, bytes.len() as u64, Contents::Held(bytes));
        self.live.acquire(&key, || file)
    }

    /// Versions of files that somebody has.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// The newest version of the file of that name, and what tells it from others. `known` is what the caller
    /// has: it stays if it is that.
    fn find(&self, name: &[u8], known: Option<&Entry>) -> Result<(FileRef, Stamp), Missing> {
        let directory = self.directory.as_ref().ok_or(Missing::Refused(Status::NOT_FOUND))?;
        for _ in 0..ATTEMPTS {
            // A pipe that nobody writes to must not hold up the worker.
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

    /// Reads a file of which that was said, or keeps it open.
    fn load(&self, name: &[u8], file: fs::File, stamp: Stamp) -> Result<File, Missing> {
        let held = usize::try_from(stamp.len).ok().filter(|len| *len <= self.limits.held);
        let contents = match held {
            Some(len) => {
                let mut bytes = Vec::with_capacity(len);
                let read = (&file).take(stamp.len).read_to_end(&mut bytes);
                read.map_err(|error| {
                    Errno::from_io_error(&error).map_or(Missing::Busy, Missing::from)
                })?;
                // Its name may have gone to another one meanwhile: that changes no byte of it.
                let now = self::stamp(&rustix::fs::fstat(&file)?);
                if bytes.len() < len || (now.len, now.modified) != (stamp.len, stamp.modified) {
                    return Err(Missing::Busy);
                }
                Contents::Held(bytes)
            }
            None => Contents::OnDisk(file),
        };
        Ok(File::new(media::of(name), Some(stamp.modified), stamp.len, contents))
    }
}

/// Opens what `name` means, if that is below the directory.
fn beneath(directory: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, name, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// Opens what `name` means through absolute links, if that is below the directory: by the name without links that it has
/// there, through which no link leads out by the time it is opened.
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

/// The files that one worker sends, so that most requests look at no file system and write nothing that workers
/// share but the count of the file.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<Vec<u8>, Entry>,
    /// Bytes of the files that are held in memory.
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
    /// The file of that name.
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

    /// Looks at the file system.
    #[cold]
    fn look(&mut self, root: &Root, name: &[u8], now: Instant) -> Result<FileRef, Missing> {
        let known = self.entries.get(name);
        let (file, stamp) = match (root.find(name, known), known) {
            // What was good a second ago is better than nothing.
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

    /// Drops what was not asked for in a while.
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

    /// Drops what was asked for least recently.
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
