//! HTTP/1.1 answers, recognised as they arrive. A body has a `Content-Length`, comes in chunks, or ends with the
//! connection; its bytes are not checked.

use memchr::memchr;

use crate::load::engine::protocol::{Answer, Step, Verdict, shown};
use crate::load::engine::protocol::{Lines, Piece};

const MOST_LINE: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Scan {
    state: State,
    lines: Lines,
    head: Head,
}

#[derive(Debug, Default, Clone, Copy)]
struct Head {
    status: u16,
    length: Option<u64>,
    chunked: bool,
    closes: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Status,
    Head,
    /// Bytes still to come.
    Body(u64),
    /// Ends with the connection.
    Endless,
    Size,
    /// Bytes still to come, with the line break.
    Chunk(u64),
    Trailer,
}

impl Scan {
    #[inline]
    pub(super) fn take(&mut self, input: &[u8]) -> Step {
        let mut consumed = 0;
        while consumed < input.len() {
            let rest = &input[consumed..];
            match self.state {
                State::Endless => return Step { consumed: input.len(), answer: None },
                State::Body(left) | State::Chunk(left) => {
                    let count = left.min(rest.len() as u64);
                    consumed += count as usize;
                    let left = left - count;
                    match self.state {
                        State::Body(_) if left == 0 => return self.done(consumed),
                        State::Body(_) => self.state = State::Body(left),
                        _ if left == 0 => self.state = State::Size,
                        _ => self.state = State::Chunk(left),
                    }
                    continue;
                }
                _ => {}
            }
            let line = match self.lines.take(rest, MOST_LINE) {
                Piece::Line(line, count) => {
                    consumed += count;
                    line
                }
                Piece::Cut => return Step { consumed: input.len(), answer: None },
                Piece::TooLong => return self.broken(input.len(), b"a line without an end"),
            };
            match self.line(line.strip_suffix(b"\r").unwrap_or(&line)) {
                Ok(false) => {}
                Ok(true) => return self.done(consumed),
                Err(()) => return self.broken(consumed, &line),
            }
        }
        Step { consumed, answer: None }
    }

    /// The connection has ended, and with it a body without a length.
    pub(super) fn end(&mut self) -> Option<Answer> {
        (self.state == State::Endless).then(|| Answer { closes: true, ..self.answer() })
    }

    fn done(&mut self, consumed: usize) -> Step {
        let answer = self.answer();
        *self = Self::default();
        Step { consumed, answer: Some(answer) }
    }

    fn answer(&self) -> Answer {
        let verdict = match self.head.status {
            200..400 => Verdict::Done,
            status => Verdict::Refused(format!("status {status}")),
        };
        Answer { verdict, closes: self.head.closes }
    }

    #[cold]
    fn broken(&mut self, consumed: usize, line: &[u8]) -> Step {
        *self = Self::default();
        Step { consumed, answer: Some(Verdict::Broken(shown(line)).into()) }
    }

    /// Whether the answer ends with the line; an error if the line belongs to no answer.
    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<bool, ()> {
        match self.state {
            State::Status => {
                self.head = status(line).ok_or(())?;
                self.state = State::Head;
            }
            State::Head if line.is_empty() => return self.end_of_head(),
            State::Head => self.field(line)?,
            State::Size => {
                let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
                let size = number(digits.trim_ascii(), 16).ok_or(())?;
                self.state = if size == 0 { State::Trailer } else { State::Chunk(size + 2) };
            }
            State::Trailer => return Ok(line.is_empty()),
            State::Body(_) | State::Endless | State::Chunk(_) => {}
        }
        Ok(false)
    }

    #[inline]
    fn field(&mut self, line: &[u8]) -> Result<(), ()> {
        // Three fields matter. The first letter rules out most others.
        if !matches!(line[0] | 0x20, b'c' | b't') {
            return Ok(());
        }
        let colon = memchr(b':', line).ok_or(())?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.head.length = Some(number(value, 10).ok_or(())?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.head.chunked = value.to_ascii_lowercase().ends_with(b"chunked");
        } else if name.eq_ignore_ascii_case(b"connection") {
            self.head.closes = value.eq_ignore_ascii_case(b"close");
        }
        Ok(())
    }

    fn end_of_head(&mut self) -> Result<bool, ()> {
        let Head { status, length, chunked, .. } = self.head;
        match status {
            // 100 Continue and the like: the answer is yet to come.
            100..200 => self.state = State::Status,
            204 | 304 => return Ok(true),
            _ if chunked => self.state = State::Size,
            _ => match length {
                Some(0) => return Ok(true),
                Some(length) => self.state = State::Body(length),
                None => self.state = State::Endless,
            },
        }
        Ok(false)
    }
}

/// `HTTP/1.1 200 OK`.
#[inline]
fn status(line: &[u8]) -> Option<Head> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let (version, rest) = rest.split_first()?;
    let digits = rest.strip_prefix(b" ")?.get(..3)?;
    let status = number(digits, 10)? as u16;
    (100..1000).contains(&status).then_some(Head {
        status,
        // HTTP/1.0 closes by default, and this generator does not ask otherwise.
        closes: *version == b'0',
        ..Head::default()
    })
}

#[inline]
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() || digits.len() > 12 {
        return None;
    }
    digits.iter().try_fold(0, |number, &digit| {
        let value = char::from(digit).to_digit(radix)?;
        Some(number * u64::from(radix) + u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello";

    /// However it is cut, and with another one behind it.
    fn answer(text: &str) -> Answer {
        let both = format!("{text}{HELLO}");
        let whole = Scan::default().take(both.as_bytes());
        assert_eq!(whole.consumed, text.len(), "{text}");
        let answer = whole.answer.unwrap();
        for cut in 1..text.len() {
            let mut scan = Scan::default();
            let first = scan.take(&both.as_bytes()[..cut]);
            assert_eq!(first, Step { consumed: cut, answer: None }, "{text} cut at {cut}");
            let second = scan.take(&both.as_bytes()[cut..]);
            assert_eq!(second.consumed, text.len() - cut, "{text} cut at {cut}");
            assert_eq!(second.answer.as_ref(), Some(&answer), "{text} cut at {cut}");
        }
        answer
    }

    #[test]
    fn answers_are_recognised_wherever_they_are_cut() {
        let keeps = Answer { verdict: Verdict::Done, closes: false };
        let closes = Answer { verdict: Verdict::Done, closes: true };
        let refused = Answer { verdict: Verdict::Refused("status 404".to_owned()), closes: false };
        let chunks = "5\r\nhello\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n";
        for (text, wanted) in [
            (HELLO.to_owned(), &keeps),
            ("HTTP/1.1 200 OK\r\ncontent-LENGTH:0\r\n\r\n".to_owned(), &keeps),
            ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), &keeps),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".to_owned(), &keeps),
            (format!("HTTP/1.1 100 Continue\r\n\r\n{HELLO}"), &keeps),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx".to_owned(), &refused),
            ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx".to_owned(), &closes),
            ("HTTP/1.1 200\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx".to_owned(), &closes),
            (format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}\r\n"), &keeps),
            (
                format!(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n{chunks}X: y\r\n\r\n"
                ),
                &keeps,
            ),
        ] {
            assert_eq!(&answer(&text), wanted, "{text}");
        }
    }

    #[test]
    fn a_body_without_a_length_ends_with_the_connection_and_no_other_does() {
        let mut scan = Scan::default();
        let text = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\nhello";
        assert_eq!(scan.take(text), Step { consumed: text.len(), answer: None });
        assert_eq!(scan.end(), Some(Answer { verdict: Verdict::Done, closes: true }));
        for cut in 0..HELLO.len() {
            let mut scan = Scan::default();
            let _ = scan.take(&HELLO.as_bytes()[..cut]);
            assert_eq!(scan.end(), None, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_answer_breaks_the_connection() {
        for text in [
            "END\r\n",
            "HTTP/2 200\r\n",
            "HTTP/1.1 20\r\n",
            "HTTP/1.1 abc\r\n",
            "HTTP/1.1 099 x\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length 1\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            &"x".repeat(MOST_LINE + 1),
        ] {
            let answer = Scan::default().take(text.as_bytes()).answer.unwrap();
            assert!(matches!(answer.verdict, Verdict::Broken(_)), "{text}");
        }
    }
}
