//! One version of a file, ready to be sent; workers and connections share it by [`FileRef`], and outputs by [`Chunk`].
//!
//! The key identifies a version: connections that still send an old one keep it, later ones share the new one. A
//! version goes with the last answer or cache that has it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;
use tenure::count::TicketRef;
use tenure::line::Isolated;
use tenure::registry::{Ref, Registry};

use super::status::Status;

pub(super) const SERVER: &str = concat!("Server: tenure/", env!("CARGO_PKG_VERSION"), "\r\n");

/// The first second without an HTTP date: the year 10000.
const END_OF_DATES: u64 = 253_402_300_800;

#[derive(Debug)]
pub(super) struct File {
    /// The head of its answer, without the lines of [`Tails`](super::date::Tails).
    pub(super) head: Vec<u8>,
    media: &'static str,
    pub(super) validators: String,
    pub(super) version: Option<Version>,
    pub(super) len: u64,
    contents: Contents,
}

#[derive(Debug)]
pub(super) struct Version {
    /// In whole seconds, as in the protocol.
    pub(super) modified: SystemTime,
    /// In quotes.
    pub(super) tag: String,
}

#[derive(Debug)]
pub(super) enum Contents {
    Held(Vec<u8>),
    /// Read while it is sent.
    OnDisk(fs::File),
}

/// Seconds since 1970, and nanoseconds.
pub(super) type Modified = (i64, u64);

impl File {
    /// Without `modified` the file has no versions.
    pub(super) fn new(
        media: &'static str,
        modified: Option<Modified>,
        len: u64,
        contents: Contents,
    ) -> Self {
        let version = modified.map(|(seconds, nanoseconds)| {
            let dated = u64::try_from(seconds).unwrap_or(0).min(END_OF_DATES - 1);
            Version {
                modified: UNIX_EPOCH + Duration::from_secs(dated),
                tag: format!("\"{seconds:x}.{nanoseconds:x}-{len:x}\""),
            }
        });
        let validators = version.as_ref().map_or_else(String::new, |version| {
            let modified = HttpDate::from(version.modified);
            format!(
                "Last-Modified: {modified}\r\nETag: {}\r\nAccept-Ranges: bytes\r\n",
                version.tag
            )
        });
        let mut file = Self { head: Vec::new(), media, validators, version, len, contents };
        let mut head = Vec::new();
        file.write_head(Status::OK, len, &mut head);
        file.head = head;
        file
    }

    /// Writes all but the last lines.
    pub(super) fn write_head(&self, status: Status, len: u64, into: &mut Vec<u8>) {
        let Status { code, reason } = status;
        let Self { media, validators, .. } = self;
        let _ = write!(
            into,
            "HTTP/1.1 {code} {reason}\r\n{SERVER}Content-Type: {media}\r\nContent-Length: {len}\r\n{validators}",
        );
    }

    #[inline]
    pub(super) fn held(&self) -> Option<&[u8]> {
        match &self.contents {
            Contents::Held(bytes) => Some(bytes),
            Contents::OnDisk(_) => None,
        }
    }

    /// Reads up to `len` bytes from `at` on of a file on disk: fewer, or none, where it has shrunk.
    pub(super) fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let Contents::OnDisk(file) = &self.contents else { return Ok(Vec::new()) };
        let mut piece = Vec::new();
        piece.try_reserve_exact(len)?;
        piece.resize(len, 0);
        let count = loop {
            match file.read_at(&mut piece, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        piece.truncate(count);
        Ok(piece)
    }
}

/// Every answer writes the count and reads the file, so the count has a line of its own.
type Count = Isolated<TicketRef>;

pub(super) type Live = Registry<Key, File, Count>;

pub(super) type FileRef = Ref<Key, File, Count>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) name: PathBuf,
    pub(super) stamp: Stamp,
}

/// Changes when a file does; `changed` is its inode's time. A change within a tick of the file system's clock that
/// keeps the length is not seen.
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
    Shared { file: FileRef, end: usize },
    Own(Vec<u8>),
}

impl Chunk {
    /// The first `end` bytes of a file that is [held](File::held).
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

/// Media types by extension. Text is UTF-8.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("xml", "text/xml; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("wasm", "application/wasm"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("zst", "application/zstd"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

pub(super) fn media_of(name: &[u8]) -> &'static str {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = last.iter().rposition(|byte| *byte == b'.');
    let extension = dot.map_or(&[][..], |dot| &last[dot + 1..]);
    let known = TYPES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(extension));
    known.map_or("application/octet-stream", |(_, media)| media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_of_the_last_segment_says_what_a_file_is() {
        for (name, media) in [
            ("a/index.html", "text/html; charset=utf-8"),
            ("A.SVG", "image/svg+xml"),
            ("a.tar.gz", "application/gzip"),
            ("a.html/b", "application/octet-stream"),
            ("html", "application/octet-stream"),
            ("a.", "application/octet-stream"),
        ] {
            assert_eq!(media_of(name.as_bytes()), media, "{name}");
        }
    }
}
