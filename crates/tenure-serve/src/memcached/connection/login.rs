//! Passwords: a connection first has to send one as the value of a `set`. Lines and answers are memcached's. A line
//! shorter than any `set`, such as `quit`, ends the connection.

use memchr::memchr;
use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::{BINARY, NO_BINARY, Run, State};
use crate::handler::Next;
use crate::memcached::answer::Answer;
use crate::memcached::counters::Counter;
use crate::memcached::number;
use crate::memcached::passwords::MOST_TOKEN;
use crate::memcached::words::Words;

/// The shortest line with an answer, without its end.
const LEAST_LINE: usize = 6;

impl<C: RefCount + 'static, P: RegistryCount> Run<'_, C, P> {
    /// The line that announces the password's length.
    #[cold]
    pub(super) fn login(&mut self, output: &mut Answer<C>) -> Option<Next> {
        let rest = self.rest();
        if rest[0] == BINARY {
            return self.fail(Next::Refuse(NO_BINARY));
        }
        let Some(end) = memchr(b'\n', rest) else {
            let is_long = rest.len() > self.session.peer.limits.line;
            return Some(if is_long { Next::End } else { Next::Input });
        };
        if end < LEAST_LINE {
            return Some(Next::End);
        }
        self.session.requests += 1;
        self.at += end + 1;
        let words = Words::new(rest[..end].trim_ascii_end());
        let len =
            words.get(4).filter(|_| words[0] == b"set").and_then(|len| number::unsigned_32(len));
        match len.map(|len| len as usize) {
            None => output.write(b"CLIENT_ERROR unauthenticated\r\n"),
            Some(len) if len > MOST_TOKEN => output.write(b"CLIENT_ERROR auth token too long\r\n"),
            Some(len) => self.session.state = State::Password(len + 2),
        }
        None
    }

    /// Takes a password of `len` bytes, with the end of its line.
    #[cold]
    pub(super) fn password(&mut self, len: usize, output: &mut Answer<C>) -> Option<Next> {
        let Some(token) = self.rest().get(..len) else {
            return Some(Next::Input);
        };
        self.at += len;
        self.session.state = State::Login;
        let answer: &[u8] = match token.strip_suffix(b"\r\n") {
            None => b"CLIENT_ERROR bad command line termination\r\n",
            Some(token) if !token.contains(&b' ') => {
                b"CLIENT_ERROR bad authentication token format\r\n"
            }
            Some(token) => {
                self.visit.worker.count(Counter::AuthCommands);
                let passwords = self.shared.config.passwords.as_ref();
                if passwords.is_some_and(|passwords| passwords.admit(token)) {
                    self.session.state = State::Command;
                    b"STORED\r\n"
                } else {
                    self.visit.worker.count(Counter::AuthErrors);
                    b"CLIENT_ERROR authentication failure\r\n"
                }
            }
        };
        output.write(answer);
        None
    }
}
