//! [`File`]: one version of a file, ready to be sent.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

use super::status::Status;

/// The name by which the server goes.
pub(super) const SERVER: &str = concat!("Server: tenure/", env!("CARGO_PKG_VERSION"), "\r\n");

/// The first second that has no date of HTTP's: that of the year 10000.
const END_OF_DATES: u64 = 253_402_300_800;

/// One version of a file.
#[derive(Debug)]
pub(super) struct File {
    /// The head of its answer, but for the lines that [`Tails`](super::date::Tails) has.
    head: Vec<u8>,
    media: &'static str,
    /// The lines that tell this version from others.
    validators: String,
    version: Option<Version>,
    len: u64,
    contents: Contents,
}

/// What tells one version of a file from another.
#[derive(Debug)]
pub(super) struct Version {
    /// In whole seconds, as the protocol has it.
    pub(super) modified: SystemTime,
    /// The entity tag, in quotes.
    pub(super) tag: String,
}

/// Where the bytes of a file are.
#[derive(Debug)]
pub(super) enum Contents {
    /// Here.
    Held(Vec<u8>),
    /// In a file that is read while it is sent.
    OnDisk(fs::File),
}

/// When a file was last modified: seconds since 1970, and nanoseconds.
pub(super) type Modified = (i64, u64);

impl File {
    /// A file of `len` bytes. One without a time of its last change has no versions.
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

    /// The head of an answer with all of it, but for the last lines.
    #[inline]
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Writes the head of an answer with `len` bytes of it.
    pub(super) fn write_head(&self, status: Status, len: u64, into: &mut Vec<u8>) {
        let Status { code, reason } = status;
        let Self { media, validators, .. } = self;
        // A Vec takes whatever comes.
        let _ = write!(
            into,
            "HTTP/1.1 {code} {reason}\r\n{SERVER}Content-Type: {media}\r\nContent-Length: {len}\r\n{validators}",
        );
    }

    /// The lines that tell this version from others.
    pub(super) fn validators(&self) -> &str {
        &self.validators
    }

    pub(super) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Its bytes, if they are in memory.
    #[inline]
    pub(super) fn held(&self) -> Option<&[u8]> {
        match &self.contents {
            Contents::Held(bytes) => Some(bytes),
            Contents::OnDisk(_) => None,
        }
    }

    /// Reads bytes of a file that is not in memory, from `at` on, into an empty piece of that length. The
    /// piece is shorter, or empty, where the file has become so.
    pub(super) fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let Contents::OnDisk(file) = &self.contents else { return Ok(Vec::new()) };
        let mut piece = vec![0; len];
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
