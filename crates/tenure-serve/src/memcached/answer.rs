//! Parts of answers: shared lines, lines written in pieces, and what `ms` repeats.

use std::fmt::{self, Display, Write as _};

use tenure::count::RefCount;

use super::base64;
use super::item::{Chunk, END, ItemRef, state};
use super::number::Decimal;
use super::store::Outcome;
use crate::handler::Output;

pub(super) type Answer<C> = Output<Chunk<C>>;

/// A result, or the line that refuses.
pub(super) type Answered<T = ()> = Result<T, &'static [u8]>;

/// The memcached whose answers these are, then this server: clients read the leading numbers, and one refuses a 0.
pub(super) const VERSION: &str = concat!("1.6.45-tenure-", env!("CARGO_PKG_VERSION"));

pub(super) const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
pub(super) const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
pub(super) const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
pub(super) const ERROR: &[u8] = b"ERROR\r\n";
pub(super) const NON_NUMERIC: &[u8] =
    b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";

/// Includes the letter of its flag.
pub(super) const MOST_OPAQUE: usize = 32;

pub(super) const LONG_OPAQUE: &[u8] = b"CLIENT_ERROR opaque token too long\r\n";

pub(super) struct Line {
    bytes: [u8; Self::MOST],
    len: usize,
}

impl Line {
    /// More than a key in base64, an opaque token and a number for each other flag.
    const MOST: usize = 896;

    pub(super) fn new(start: &[u8]) -> Self {
        let mut line = Self { bytes: [0; Self::MOST], len: 0 };
        line.push(start);
        line
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    pub(super) fn push_key(&mut self, key: &[u8], binary: bool) {
        self.push(b" k");
        if binary {
            base64::encode(key, |four| self.push(four));
            self.push(b" b");
        } else {
            self.push(key);
        }
    }

    pub(super) fn push_number(&mut self, flag: &[u8], number: u64) {
        self.push(flag);
        self.push(&Decimal::new(number));
    }
}

impl std::ops::Deref for Line {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Without memory for a line, it and all after it are left out.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    cut: bool,
}

impl Lines {
    pub(super) fn stat(&mut self, name: impl Display, value: impl Display) {
        let _ = write!(self, "STAT {name} {value}\r\n");
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.cut |= self.bytes.try_reserve(bytes.len()).is_err();
        if !self.cut {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Sends the lines and `END`, or the want of memory.
    pub(super) fn send<C: RefCount + 'static>(self, output: &mut Answer<C>) {
        if self.cut {
            return output.write(b"SERVER_ERROR out of memory writing stats\r\n");
        }
        output.write(&self.bytes);
        output.write(END);
    }
}

impl fmt::Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

pub(super) struct Echo {
    opaque: [u8; MOST_OPAQUE],
    opaque_len: usize,
    /// `O`, `k`, `c` and `s`, in the order of the request.
    order: [u8; 4],
}

impl Echo {
    pub(super) fn new(words: &[&[u8]]) -> Answered<Self> {
        let mut echo = Self { opaque: [0; MOST_OPAQUE], opaque_len: 0, order: [0; 4] };
        let asked = words.iter().filter(|word| matches!(word[0], b'O' | b'k' | b'c' | b's'));
        // No flag comes twice.
        for (place, word) in echo.order.iter_mut().zip(asked) {
            *place = word[0];
            if word[0] == b'O' {
                echo.opaque.get_mut(..word.len()).ok_or(LONG_OPAQUE)?.copy_from_slice(word);
                echo.opaque_len = word.len();
            }
        }
        Ok(echo)
    }

    pub(super) fn answer<C: RefCount + 'static>(
        &self,
        stored: Outcome,
        item: &ItemRef<C>,
        quiet: bool,
        output: &mut Answer<C>,
    ) {
        let sent = item.len();
        let (code, cas, len) = match stored {
            Outcome::Done { .. } if quiet => return,
            Outcome::Done { cas, len } => (b"HD", cas, len),
            Outcome::Refused => (b"NS", 0, sent),
            Outcome::Exists => (b"EX", 0, sent),
            Outcome::NotFound => (b"NF", 0, sent),
            Outcome::NoMemory => return output.write(NO_MEMORY),
        };
        let mut line = Line::new(code);
        for flag in self.order {
            match flag {
                b'O' => {
                    line.push(b" ");
                    line.push(&self.opaque[..self.opaque_len]);
                }
                b'k' => line.push_key(item.key(), item.state() & state::BINARY != 0),
                b'c' => line.push_number(b" c", cas),
                b's' => line.push_number(b" s", len as u64),
                _ => {}
            }
        }
        line.push(b"\r\n");
        output.write(&line);
    }
}
