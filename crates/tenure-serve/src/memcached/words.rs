//! A request's line, cut into words.

use std::fmt::{self, Write as _};

use super::base64;
use super::number::Decimal;

/// Words that are looked at, as in memcached.
const MOST: usize = 23;

/// The first words of a line.
pub(super) struct Words<'a> {
    words: [&'a [u8]; MOST],
    len: usize,
}

impl<'a> Words<'a> {
    /// Cuts a line at its spaces.
    pub(super) fn new(line: &'a [u8]) -> Self {
        let mut words = Self { words: [&[]; MOST], len: 0 };
        let cut = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        for (place, word) in words.words.iter_mut().zip(cut) {
            *place = word;
            words.len += 1;
        }
        words
    }

    /// Whether these are certainly all words of the line.
    pub(super) fn are_all(&self) -> bool {
        self.len < MOST
    }

    /// Whether the last word asks for no reply.
    pub(super) fn noreply(&self) -> bool {
        self.last().is_some_and(|word| *word == b"noreply")
    }
}

impl<'a> std::ops::Deref for Words<'a> {
    type Target = [&'a [u8]];
    fn deref(&self) -> &[&'a [u8]] {
        &self.words[..self.len]
    }
}

/// A key as it is in a URL, so that a line with it is one.
pub(super) struct InUrl<'a>(pub(super) &'a [u8]);

impl fmt::Display for InUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| match byte {
            b'-' | b'.' | b'_' | b'~' => f.write_char(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => f.write_char(char::from(*byte)),
            byte => write!(f, "%{byte:02X}"),
        })
    }
}

/// A line of an answer, written in pieces.
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

    /// # Panics
    ///
    /// If the line becomes longer than any answer is.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Adds a key, in base64 if it is binary.
    pub(super) fn push_key(&mut self, key: &[u8], binary: bool) {
        self.push(b" k");
        if binary {
            base64::encode(key, |four| self.push(four));
            self.push(b" b");
        } else {
            self.push(key);
        }
    }

    /// Adds a flag and its number.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_its_spaces_alone() {
        let words = Words::new(b"  set  key\t1\0 \r noreply ");
        assert_eq!(*words, [&b"set"[..], b"key\t1\0", b"\r", b"noreply"]);
        assert!(words.noreply());
        assert!(Words::new(b"").is_empty() && !Words::new(b"").noreply());
        let many = [b"a ".repeat(22), b"b c d".to_vec()].concat();
        assert_eq!(Words::new(&many).len(), MOST);
        assert!(words.are_all() && !Words::new(&many).are_all());
        assert_eq!(Words::new(&many).last(), Some(&&b"b"[..]));
    }
}
