//! [`Protocol`]: what a protocol is to the engine. [`Lines`]: lines of answers that arrive in pieces.

use std::borrow::Cow;

use memchr::memchr;

pub(crate) trait Protocol: Send {
    /// What was asked, as far as it decides the answer.
    type Ask: Copy + Send;
    type Scan: Default + Send;

    const KINDS: &'static [&'static str];

    /// `None` if no request is left.
    fn ask(&mut self, out: &mut Vec<u8>) -> Option<Self::Ask>;

    fn kind(ask: Self::Ask) -> usize;

    /// Takes bytes of the answer to `ask`, up to its end.
    fn scan(&self, scan: &mut Self::Scan, ask: Self::Ask, input: &[u8]) -> Step;

    /// The answer, if it ends with the connection.
    fn end(&self, scan: &mut Self::Scan, ask: Self::Ask) -> Option<Answer>;
}

#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// All bytes if there is no answer yet.
    pub(crate) consumed: usize,
    pub(crate) answer: Option<Answer>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    /// The server ends the connection after it.
    pub(crate) closes: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    Miss,
    /// In the server's words.
    Refused(String),
    /// Not what was asked for, but with a known end.
    Wrong(String),
    /// Not an answer: the connection is useless.
    Broken(String),
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, closes: false }
    }
}

#[cold]
pub(crate) fn shown(bytes: &[u8]) -> String {
    let bytes = bytes.trim_ascii_end();
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).escape_debug().to_string()
}

/// Keeps the beginning of a cut line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    cut: Vec<u8>,
}

pub(crate) enum Piece<'i> {
    /// A line without its `\n`, and its length in the input.
    Line(Cow<'i, [u8]>, usize),
    /// All of the input is the beginning of a line.
    Cut,
    TooLong,
}

impl Lines {
    #[inline]
    pub(crate) fn take<'i>(&mut self, input: &'i [u8], most: usize) -> Piece<'i> {
        let end = memchr(b'\n', input);
        if self.cut.len() + end.unwrap_or(input.len()) > most {
            return Piece::TooLong;
        }
        let Some(end) = end else {
            self.cut.extend_from_slice(input);
            return Piece::Cut;
        };
        let line = if self.cut.is_empty() {
            Cow::Borrowed(&input[..end])
        } else {
            self.cut.extend_from_slice(&input[..end]);
            Cow::Owned(std::mem::take(&mut self.cut))
        };
        Piece::Line(line, end + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_whole_however_it_is_cut_and_none_is_too_long() {
        let text = b"first\r\nsecond\n\n";
        for piece in 1..=text.len() {
            let (mut lines, mut whole) = (Lines::default(), Vec::new());
            for mut input in text.chunks(piece) {
                while !input.is_empty() {
                    match lines.take(input, 6) {
                        Piece::Line(line, count) => {
                            whole.push(line.into_owned());
                            input = &input[count..];
                        }
                        Piece::Cut => break,
                        Piece::TooLong => panic!("no line has more than 6 bytes"),
                    }
                }
            }
            assert_eq!(whole, [&b"first\r"[..], b"second", b""]);
        }
        for piece in 1..=text.len() {
            let mut lines = Lines::default();
            let mut pieces = text[7..].chunks(piece);
            assert!(pieces.any(|input| matches!(lines.take(input, 5), Piece::TooLong)));
        }
    }
}
