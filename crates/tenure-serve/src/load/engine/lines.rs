//! [`Lines`]: the lines of answers that come in pieces.

use std::borrow::Cow;

use memchr::memchr;

/// The beginning of a line that was cut.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    cut: Vec<u8>,
}

/// What the front of the input is.
pub(crate) enum Piece<'i> {
    /// A line without its `\n`, and the bytes of the input that it took.
    Line(Cow<'i, [u8]>, usize),
    /// All of the input is the beginning of a line.
    Cut,
    /// More than a line may have.
    TooLong,
}

impl Lines {
    /// Takes a line of at most `most` bytes from the front of the input.
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
