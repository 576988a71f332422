//! From the head of a request to its answer.

use std::io::Write;

use super::condition::{Wanted, wanted};
use super::file::{Chunk, FileRef, SERVER};
use super::files::Missing;
use super::request::{Head, Method, Persistence};
use super::status::Status;
use super::{Http, target};
use crate::handler::Output;

/// Bytes read at once of a file on disk.
const PIECE: usize = 64 << 10;

/// Bytes that wait before another piece is read.
const MOST_PIECES: usize = 256 << 10;

/// A file that is read while it is sent.
#[derive(Debug)]
pub(super) struct Transfer {
    file: FileRef,
    at: u64,
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Done,
    Room,
    /// The file no longer has the promised bytes.
    CutShort,
}

impl Transfer {
    pub(super) fn proceed(&mut self, output: &mut Output<Chunk>) -> Step {
        while self.at < self.end {
            if output.is_full() || output.pending() >= MOST_PIECES {
                return Step::Room;
            }
            let len = usize::try_from(self.end - self.at).unwrap_or(PIECE).min(PIECE);
            match self.file.read(self.at, len) {
                Ok(piece) if !piece.is_empty() => {
                    self.at += piece.len() as u64;
                    output.send(Chunk::from(piece), 0);
                }
                _ => return Step::CutShort,
            }
        }
        Step::Done
    }
}

/// How the connection goes on, and whether there is a body.
type Ending = (Persistence, bool);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instead {
    Statistics,
    /// A directory's name without its slash.
    Directory,
    Refusal(Status),
}

impl Http {
    /// The returned transfer follows the answer.
    pub(super) fn answer(
        &mut self,
        head: &Head<'_>,
        output: &mut Output<Chunk>,
    ) -> Option<Transfer> {
        let method = match head.method {
            Ok(method) => method,
            Err(status) => {
                self.refuse(status, (head.persistence, true), output);
                return None;
            }
        };
        let ending = (head.persistence, method == Method::Get);
        let mut scratch = std::mem::take(&mut self.scratch);
        let found = match target::name(head.target, &mut scratch) {
            _ if head.expects_more => Err(Instead::Refusal(Status::EXPECTATION_FAILED)),
            Ok(name) => self.find(name),
            Err(status) => Err(Instead::Refusal(status)),
        };
        self.scratch = scratch;
        match found {
            Ok(file) => return self.file(head, method, file, output),
            Err(Instead::Refusal(status)) => self.refuse(status, ending, output),
            Err(Instead::Directory) => self.redirect(head, ending, output),
            Err(Instead::Statistics) => {
                let text = (self.stats)();
                let lines = b"Content-Type: application/json\r\nCache-Control: no-store\r\n";
                self.message(Status::OK, lines, text.as_bytes(), ending, output);
            }
        }
        None
    }

    #[inline]
    fn find(&mut self, name: &[u8]) -> Result<FileRef, Instead> {
        let site = &self.site;
        if site.stats.as_deref() == Some(name) {
            return Err(Instead::Statistics);
        }
        if let Some((_, file)) = site.fixed.as_ref().filter(|(fixed, _)| fixed == name) {
            return Ok(FileRef::clone(file));
        }
        let is_directory = name.is_empty() || name.ends_with(b"/");
        let found = if is_directory {
            self.index.clear();
            self.index.extend_from_slice(name);
            self.index.extend_from_slice(b"index.html");
            self.cache.find(&site.root, &self.index, self.now)
        } else {
            self.cache.find(&site.root, name, self.now)
        };
        found.map_err(|missing| match missing {
            Missing::Directory if is_directory => Instead::Refusal(Status::NOT_FOUND),
            Missing::Directory => Instead::Directory,
            Missing::Refused(status) => Instead::Refusal(status),
            Missing::Busy => Instead::Refusal(Status::UNAVAILABLE),
        })
    }

    #[inline]
    fn file(
        &mut self,
        head: &Head<'_>,
        method: Method,
        file: FileRef,
        output: &mut Output<Chunk>,
    ) -> Option<Transfer> {
        let wanted =
            if head.conditions.any { wanted(method, &head.conditions, &file) } else { Wanted::All };
        let ending = (head.persistence, method == Method::Get);
        let part = match wanted {
            Wanted::All => {
                output.write(&file.head);
                0..file.len
            }
            Wanted::Part(part) => {
                let mut lines = Vec::new();
                file.write_head(Status::PARTIAL_CONTENT, part.end - part.start, &mut lines);
                let (first, last, len) = (part.start, part.end - 1, file.len);
                let _ = write!(lines, "Content-Range: bytes {first}-{last}/{len}\r\n");
                output.write(&lines);
                part
            }
            Wanted::NotModified => {
                let Status { code, reason } = Status::NOT_MODIFIED;
                let validators = &file.validators;
                output
                    .write(format!("HTTP/1.1 {code} {reason}\r\n{SERVER}{validators}").as_bytes());
                0..0
            }
            Wanted::Failed => {
                self.refuse(Status::PRECONDITION_FAILED, ending, output);
                return None;
            }
            Wanted::NoSuchPart => {
                let lines = format!("Content-Range: bytes */{}\r\n", file.len);
                self.message(Status::RANGE_NOT_SATISFIABLE, lines.as_bytes(), b"", ending, output);
                return None;
            }
        };
        output.write(self.tails.of(head.persistence));
        if method == Method::Head || part.is_empty() {
            return None;
        }
        if file.held().is_none() {
            return Some(Transfer { file, at: part.start, end: part.end });
        }
        // The length of a file in memory fits.
        output.send(Chunk::of(file, part.end as usize), part.start as usize);
        None
    }

    fn redirect(&mut self, head: &Head<'_>, ending: Ending, output: &mut Output<Chunk>) {
        let mut lines = b"Location: /".to_vec();
        if let Ok(name) = target::name(head.target, &mut self.scratch) {
            target::encode(name, &mut lines);
        }
        lines.push(b'/');
        lines.extend_from_slice(target::query(head.target));
        lines.extend_from_slice(b"\r\n");
        self.message(Status::MOVED_PERMANENTLY, &lines, b"", ending, output);
    }

    pub(super) fn refuse(&mut self, status: Status, ending: Ending, output: &mut Output<Chunk>) {
        self.counters.refused.count(1);
        let Status { code, reason } = status;
        let lines: &[u8] = match status {
            Status::METHOD_NOT_ALLOWED => b"Content-Type: text/plain\r\nAllow: GET, HEAD\r\n",
            Status::UNAVAILABLE => b"Content-Type: text/plain\r\nRetry-After: 1\r\n",
            _ => b"Content-Type: text/plain\r\n",
        };
        let body = format!("{code} {reason}\n");
        self.message(status, lines, body.as_bytes(), ending, output);
    }

    fn message(
        &mut self,
        status: Status,
        lines: &[u8],
        body: &[u8],
        ending: Ending,
        output: &mut Output<Chunk>,
    ) {
        let Status { code, reason } = status;
        let len = body.len();
        output.write(
            format!("HTTP/1.1 {code} {reason}\r\n{SERVER}Content-Length: {len}\r\n").as_bytes(),
        );
        output.write(lines);
        output.write(self.tails.of(ending.0));
        if ending.1 {
            output.write(body);
        }
    }
}
