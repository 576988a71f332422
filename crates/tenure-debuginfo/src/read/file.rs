//! [`MappedFile`]: the bytes of a file.

use std::borrow::Cow;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use gimli::{AttributeValue, EndianSlice, LineProgramHeader, RunTimeEndian};
use memmap2::{Mmap, MmapOptions};

use crate::Error;

/// A file mapped from the page cache. If another process shortens it meanwhile, this one ends with a bus error, as
/// every tool that maps its input; if it writes to it, the file is malformed or the report a mixture.
#[derive(Debug)]
pub struct MappedFile {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    /// Pseudo-files, such as the kernel's under `/sys`, cannot be mapped everywhere.
    Read(Vec<u8>),
}

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    ///
    /// It cannot be opened, read, or mapped.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |error| Error::unreadable(path, &error);
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Error::new(format!("{} is a directory; give a file", path.display())));
        }
        if !metadata.is_file() {
            return Err(Error::new(format!(
                "{} is neither a file nor a directory; give a file",
                path.display()
            )));
        }
        // Private: the kernel maps its own BTF in no other way (6.16). SAFETY: a read-only mapping; nothing in this
        // process writes to the file or the mapping. Another process may write while the bytes are borrowed: then a
        // slice's bytes change under safe code, which no bound of the language covers, but everything here copies
        // lengths and offsets out before it checks and uses them, and trusts nothing else.
        let mapped = unsafe { MmapOptions::new().map_copy_read_only(&file) };
        let bytes = match mapped {
            Ok(map) => Bytes::Mapped(map),
            Err(_) => Bytes::Read(fs::read(path).map_err(unreadable)?),
        };
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it has.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }

    /// Gives the memory of these bytes back to the page cache, so that the process stays small. Ignores bytes of other
    /// memory.
    #[cfg(unix)]
    pub(super) fn release(&self, bytes: &[u8]) {
        let Bytes::Mapped(map) = &self.bytes else { return };
        let Some(start) = (bytes.as_ptr() as usize).checked_sub(map.as_ptr() as usize) else {
            return;
        };
        // Whole pages, so that neighbours stay. Where pages are larger, a neighbour's are read from the cache again.
        const PAGE: usize = 1 << 12;
        let end = start.saturating_add(bytes.len());
        if end > map.len() {
            return;
        }
        let (start, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
        if start < end {
            // SAFETY: the pages are a file's and were never written, so dropping them loses nothing: the next access
            // reads the same bytes from the file.
            let advised = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start)
            };
            // If the kernel refuses, only memory is lost.
            drop(advised);
        }
    }

    #[cfg(not(unix))]
    pub(super) fn release(&self, _bytes: &[u8]) {}
}

/// The path of a source file by its number in a line table: with its directory, without the unit's. Directory 0 is the
/// compiler's: without it a path is shorter, and the same on every machine. `text` reads an attribute.
pub(crate) fn file_path<'d>(
    header: &LineProgramHeader<EndianSlice<'d, RunTimeEndian>>,
    number: u64,
    text: impl Fn(
        AttributeValue<EndianSlice<'d, RunTimeEndian>>,
    ) -> Option<EndianSlice<'d, RunTimeEndian>>,
) -> Option<String> {
    let file = header.file(number)?;
    let path = text(file.path_name())?.to_string_lossy().into_owned();
    let directory = (file.directory_index() != 0).then(|| file.directory(header));
    Some(match directory.flatten().and_then(text) {
        Some(directory) => within(&directory.to_string_lossy(), path),
        None => path,
    })
}

/// A path that is relative to a directory.
pub(crate) fn within(directory: &str, path: String) -> String {
    match path.starts_with('/') {
        true => path,
        false => format!("{}/{path}", directory.trim_end_matches('/')),
    }
}

/// Bytes where paths are bytes, UTF-8 elsewhere.
pub(super) fn path_in(bytes: &[u8]) -> Cow<'_, Path> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Cow::Borrowed(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(path) => Cow::Borrowed(Path::new(path)),
            Cow::Owned(path) => Cow::Owned(PathBuf::from(path)),
        }
    }
}
