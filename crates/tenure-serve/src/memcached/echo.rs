//! [`Echo`]: what the answer to `ms` repeats of the request.

use tenure::count::RefCount;

use super::item::{ItemRef, state};
use super::reply::{Answer, NO_MEMORY};
use super::store::Outcome;
use super::words::Line;

/// Longest opaque token, with the letter of its flag.
pub(super) const MOST_OPAQUE: usize = 32;

pub(super) const LONG_OPAQUE: &[u8] = b"CLIENT_ERROR opaque token too long\r\n";

/// What the answer to `ms` repeats, kept until the data has come in.
pub(super) struct Echo {
    opaque: [u8; MOST_OPAQUE],
    opaque_len: usize,
    /// The flags `O`, `k`, `c` and `s` in the order in which they came.
    order: [u8; 4],
}

impl Echo {
    pub(super) fn new(words: &[&[u8]]) -> Result<Self, &'static [u8]> {
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

    /// Answers what became of a value.
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
