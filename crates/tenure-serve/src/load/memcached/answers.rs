//! Answers of the text protocol, recognised as they arrive.

use super::keys::Values;
use crate::load::engine::protocol::{Lines, Piece};
use crate::load::engine::protocol::{Step, Verdict, shown};
use crate::number::unsigned;

/// A key has at most 250 bytes.
const MOST_LINE: usize = 2048;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(super) key: u32,
    pub(super) set: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Scan {
    state: State,
    lines: Lines,
    wrong: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// In a value or the line break after it.
    Value {
        at: usize,
        len: usize,
    },
    End,
}

enum Line {
    Answer(Verdict),
    Value(usize),
}

impl Scan {
    #[inline]
    pub(super) fn take(&mut self, ask: Ask, prefix: &str, values: &Values, input: &[u8]) -> Step {
        let mut consumed = 0;
        while consumed < input.len() {
            let rest = &input[consumed..];
            if let State::Value { at, len } = self.state {
                let count = rest.len().min(len + 2 - at);
                consumed += count;
                if let Some(verdict) = self.value(ask, values, &rest[..count], at, len) {
                    return self.done(consumed, verdict);
                }
                continue;
            }
            let line = match self.lines.take(rest, MOST_LINE) {
                Piece::Line(line, count) => {
                    consumed += count;
                    line
                }
                Piece::Cut => return Step { consumed: input.len(), answer: None },
                Piece::TooLong => return self.done(input.len(), broken("a line without an end")),
            };
            let Some(line) = line.strip_suffix(b"\r") else {
                return self.done(consumed, broken(&shown(&line)));
            };
            match self.line(ask, prefix, values, line) {
                Line::Answer(verdict) => return self.done(consumed, verdict),
                Line::Value(len) => self.state = State::Value { at: 0, len },
            }
        }
        Step { consumed, answer: None }
    }

    fn done(&mut self, consumed: usize, verdict: Verdict) -> Step {
        *self = Self::default();
        Step { consumed, answer: Some(verdict.into()) }
    }

    #[inline]
    fn line(&mut self, ask: Ask, prefix: &str, values: &Values, line: &[u8]) -> Line {
        let verdict = match (self.state, line) {
            (State::End, b"END") => self.wrong.take().map_or(Verdict::Done, Verdict::Wrong),
            (State::Start, b"END") if !ask.set => Verdict::Miss,
            (State::Start, b"STORED") if ask.set => Verdict::Done,
            (State::Start, _) if !ask.set && line.starts_with(b"VALUE ") => {
                return self.header(ask, prefix, values, &line[6..]);
            }
            (State::Start, _) if is_error(line) => Verdict::Refused(shown(line)),
            _ => broken(&shown(line)),
        };
        Line::Answer(verdict)
    }

    #[inline]
    fn header(&mut self, ask: Ask, prefix: &str, values: &Values, words: &[u8]) -> Line {
        let mut words = words.split(|&byte| byte == b' ');
        let (key, flags) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Some(len) = words.next().and_then(number) else {
            return Line::Answer(broken("a value without a length"));
        };
        let is_key = key.strip_prefix(prefix.as_bytes()).and_then(number) == Some(ask.key as usize);
        if !is_key {
            self.wrong =
                Some(format!("the value of {} for that of {prefix}{}", shown(key), ask.key));
        } else if len != values.len(ask.key) {
            let wanted = values.len(ask.key);
            self.wrong =
                Some(format!("{len} bytes for the {wanted} stored under {prefix}{}", ask.key));
        } else if flags != b"0" {
            self.wrong = Some(format!("flags {} for 0 of {prefix}{}", shown(flags), ask.key));
        }
        Line::Value(len)
    }

    /// Takes bytes from `at` on, with the line break.
    #[inline]
    fn value(
        &mut self,
        ask: Ask,
        values: &Values,
        bytes: &[u8],
        at: usize,
        len: usize,
    ) -> Option<Verdict> {
        let (data, line_break) = bytes.split_at(bytes.len().min(len.saturating_sub(at)));
        if self.wrong.is_none() && data != &values.of(ask.key)[at.min(len)..][..data.len()] {
            self.wrong = Some(format!("other bytes than were stored under key {}", ask.key));
        }
        let from = (at + data.len()).saturating_sub(len);
        if line_break != &b"\r\n"[from..from + line_break.len()] {
            return Some(broken("a value that does not end where its length says"));
        }
        let at = at + bytes.len();
        self.state = if at == len + 2 { State::End } else { State::Value { at, len } };
        None
    }
}

fn is_error(line: &[u8]) -> bool {
    // `ERROR Too many open connections` has more words.
    let first = line.split(|&byte| byte == b' ').next();
    matches!(first, Some(b"ERROR" | b"SERVER_ERROR" | b"CLIENT_ERROR"))
}

#[cold]
fn broken(line: &str) -> Verdict {
    Verdict::Broken(line.to_owned())
}

/// A number that is not absurd for a key or a length.
#[inline]
fn number(digits: &[u8]) -> Option<usize> {
    unsigned(digits).filter(|number| *number < 10_000_000_000).map(|number| number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::engine::protocol::Answer;

    const KEY: u32 = 7;

    fn values() -> Values {
        Values::new(&(10..=10))
    }

    fn stored() -> String {
        String::from_utf8(values().of(KEY).to_vec()).unwrap()
    }

    /// However it is cut, and with another one behind it.
    fn verdict(set: bool, text: &str) -> Verdict {
        let (values, ask) = (values(), Ask { key: KEY, set });
        let take = |scan: &mut Scan, input: &[u8]| scan.take(ask, "k-", &values, input);
        let both = format!("{text}END\r\n");
        let mut scan = Scan::default();
        let whole = take(&mut scan, both.as_bytes());
        assert_eq!(whole.consumed, text.len(), "{text}");
        let Some(Answer { verdict, closes: false }) = whole.answer else {
            panic!("no answer: {text}")
        };
        for cut in 1..text.len() {
            let (first, second) = both.as_bytes().split_at(cut);
            let mut scan = Scan::default();
            assert_eq!(take(&mut scan, first), Step { consumed: cut, answer: None }, "{text}");
            let step = take(&mut scan, second);
            assert_eq!(step.consumed, text.len() - cut, "{text} cut at {cut}");
            assert_eq!(step.answer.unwrap().verdict, verdict, "{text} cut at {cut}");
        }
        let mut scan = Scan::default();
        let mut last = None;
        for byte in text.as_bytes() {
            assert_eq!(last, None, "{text}");
            let step = take(&mut scan, &[*byte]);
            assert_eq!(step.consumed, 1);
            last = step.answer;
        }
        assert_eq!(last.unwrap().verdict, verdict, "{text} byte by byte");
        verdict
    }

    #[test]
    fn answers_are_recognised_wherever_they_are_cut() {
        let value = stored();
        let hit = format!("VALUE k-7 0 10\r\n{value}\r\nEND\r\n");
        assert_eq!(verdict(false, &hit), Verdict::Done);
        assert_eq!(verdict(false, "END\r\n"), Verdict::Miss);
        assert_eq!(verdict(true, "STORED\r\n"), Verdict::Done);
        let full = "SERVER_ERROR out of memory storing object";
        assert_eq!(verdict(true, &format!("{full}\r\n")), Verdict::Refused(full.to_owned()));
        for text in ["ERROR", "ERROR Too many open connections"] {
            assert_eq!(verdict(false, &format!("{text}\r\n")), Verdict::Refused(text.to_owned()));
        }
    }

    #[test]
    fn a_value_that_is_not_the_stored_one_is_wrong_and_the_next_answer_is_found() {
        let value = stored();
        let mut other = value.clone().into_bytes();
        other[9] ^= 1;
        let other = String::from_utf8(other).unwrap();
        for (text, says) in [
            (format!("VALUE k-7 0 10\r\n{other}\r\nEND\r\n"), "other bytes"),
            (format!("VALUE k-8 0 10\r\n{value}\r\nEND\r\n"), "k-8"),
            (format!("VALUE x-7 0 10\r\n{value}\r\nEND\r\n"), "x-7"),
            (format!("VALUE k-7 1 10\r\n{value}\r\nEND\r\n"), "flags 1"),
            (format!("VALUE k-7 0 9\r\n{}\r\nEND\r\n", &value[..9]), "9 bytes for the 10"),
            (format!("VALUE k-7 0 11\r\n{value}x\r\nEND\r\n"), "11 bytes for the 10"),
            ("VALUE k-7 0 0\r\n\r\nEND\r\n".to_owned(), "0 bytes for the 10"),
        ] {
            let Verdict::Wrong(said) = verdict(false, &text) else { panic!("{text}") };
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn what_is_no_answer_breaks_the_connection() {
        let value = stored();
        let (values, get) = (values(), Ask { key: KEY, set: false });
        for text in [
            "STORED\r\n",
            "ERRORS\r\n",
            "END\n",
            "VALUE k-7 0\r\n",
            "VALUE k-7 0 x\r\n",
            "VALUE k-7 0 99999999999999999999\r\n",
            &format!("VALUE k-7 0 10\r\n{value}x\nEND\r\n"),
            &format!("VALUE k-7 0 10\r\n{value}\r\nVALUE k-7 0 10\r\n"),
            "HTTP/1.1 400 Bad Request\r\n",
            &"x".repeat(MOST_LINE + 1),
        ] {
            let step = Scan::default().take(get, "k-", &values, text.as_bytes());
            let verdict = step.answer.map(|answer| answer.verdict);
            assert!(matches!(verdict, Some(Verdict::Broken(_))), "{text}: {verdict:?}");
        }
        let set = Ask { set: true, ..get };
        let step = Scan::default().take(set, "k-", &values, b"END\r\n");
        assert!(matches!(step.answer.unwrap().verdict, Verdict::Broken(_)));
    }
}
