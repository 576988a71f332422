//! A request's line cut into words, and keys as words of a line.

use std::fmt::{self, Write as _};

/// Words after these are ignored, as in memcached.
const MOST: usize = 23;

/// Cut at the spaces.
pub(super) struct Words<'a> {
    words: [&'a [u8]; MOST],
    len: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        let mut words = Self { words: [&[]; MOST], len: 0 };
        let cut = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        for (place, word) in words.words.iter_mut().zip(cut) {
            *place = word;
            words.len += 1;
        }
        words
    }

    /// Whether these certainly are all words of the line.
    pub(super) fn are_all(&self) -> bool {
        self.len < MOST
    }

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

/// A key escaped as in a URL, so that it stays on its line.
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
