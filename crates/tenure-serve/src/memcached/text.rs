//! The classic commands: what a line asks for, but for retrievals, and the answer to it.

use tenure::count::RefCount;

use super::Shared;
use super::clock::Seconds;
use super::counters::Counter;
use super::item::{Chunk, Draft, MOST_KEY, Recipe};
use super::meta::Echo;
use super::number::{self, Decimal};
use super::peer::Limits;
use super::store::{Delta, Key, Outcome, Removal, Storing, Verb, Visit};
use super::words::Words;
use crate::handler::Output;

pub(super) type Answer<C> = Output<Chunk<C>>;

/// What a request leaves to be done.
pub(super) enum Then<C: RefCount + 'static> {
    /// Nothing.
    Done,
    /// A retrieval's keys are to be looked up: they follow in the input.
    Keys(Keys),
    /// The data of a value follows in the input.
    Data(Pending<C>),
    /// So many bytes of the input are to be thrown away.
    Swallow(usize),
    /// The connection ends.
    End,
}

/// A retrieval whose keys follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    /// Whether the values' numbers are asked for.
    pub(super) cas: bool,
    /// The expiry that the items get.
    pub(super) touch: Option<Seconds>,
}

/// A value whose data is coming in.
pub(super) struct Pending<C: RefCount + 'static> {
    pub(super) draft: Draft<C>,
    pub(super) storing: Storing,
    pub(super) noreply: bool,
    /// What the answer to a meta command repeats.
    pub(super) echo: Option<Echo>,
}

/// The memcached whose answers these are, and this server. Clients read the numbers in front, and one of them refuses a 0.
pub(super) const VERSION: &str = concat!("1.6.18-tenure-", env!("CARGO_PKG_VERSION"));

pub(super) const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
pub(super) const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
pub(super) const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
pub(super) const ERROR: &[u8] = b"ERROR\r\n";

/// A request, and what it is made to.
pub(super) struct Request<'a, C: RefCount + 'static, P: RefCount + 'static> {
    pub(super) shared: &'a Shared<C, P>,
    pub(super) visit: &'a Visit<'a, C>,
    pub(super) limits: Limits,
}

/// Answers with a line, unless none is wanted.
fn reply<C: RefCount + 'static>(output: &mut Answer<C>, noreply: bool, line: &[u8]) -> Then<C> {
    if !noreply {
        output.write(line);
    }
    Then::Done
}

impl<C: RefCount + 'static, P: RefCount + 'static> Request<'_, C, P> {
    pub(super) fn count(&self, counter: Counter) {
        self.visit.worker.count(counter);
    }

    pub(super) fn expiry(&self, expiry: i32) -> Seconds {
        self.shared.clock.expiry(expiry, self.visit.now)
    }

    /// Answers one line.
    pub(super) fn line(&self, line: &[u8], output: &mut Answer<C>) -> Then<C> {
        let words = Words::new(line);
        let Some(command) = words.first().filter(|command| command.len() >= 2) else {
            return reply(output, false, ERROR);
        };
        let count = words.len();
        let noreply = words.noreply();
        match (*command, count) {
            (b"set", 5 | 6) => self.update(&words, Verb::Set, output),
            (b"add", 5 | 6) => self.update(&words, Verb::Add, output),
            (b"replace", 5 | 6) => self.update(&words, Verb::Replace, output),
            (b"append", 5 | 6) => self.update(&words, Verb::Append, output),
            (b"prepend", 5 | 6) => self.update(&words, Verb::Prepend, output),
            (b"cas", 6 | 7) => self.update(&words, Verb::Cas, output),
            (b"mg", _) => self.meta_get(&words, output),
            (b"ms", _) => self.meta_set(&words, output),
            (b"md", _) => self.meta_delete(&words, output),
            (b"ma", _) => self.meta_arithmetic(&words, output),
            (b"me", _) => self.meta_debug(&words, output),
            (b"mn", _) => reply(output, false, b"MN\r\n"),
            (b"incr", 3 | 4) => self.arithmetic(&words, true, output),
            (b"decr", 3 | 4) => self.arithmetic(&words, false, output),
            (b"delete", 2..=4) => self.delete(&words, output),
            (b"touch", 3 | 4) => self.touch(&words, output),
            (b"flush_all", 1..=3) => self.flush_all(&words, output),
            (b"stats", _) => self.stats(&words, output),
            (b"version", _) => {
                output.write(b"VERSION ");
                output.write(VERSION.as_bytes());
                reply(output, false, b"\r\n")
            }
            (b"verbosity", 2 | 3) => match number::unsigned_32(words[1]) {
                Some(_) => reply(output, noreply, b"OK\r\n"),
                None => reply(output, noreply, BAD_LINE),
            },
            (b"cache_memlimit", 2 | 3) => self.memory_limit(&words, output),
            (b"quit", _) => Then::End,
            (b"shutdown", _) => reply(output, false, b"ERROR: shutdown not enabled\r\n"),
            (b"watch", _) => reply(output, noreply, b"CLIENT_ERROR watch commands not allowed\r\n"),
            (b"slabs", 4) if words[1] == b"reassign" => {
                reply(output, false, b"CLIENT_ERROR slab reassignment disabled\r\n")
            }
            (b"lru_crawler", 3) if matches!(words[1], b"crawl" | b"metadump") => {
                reply(output, false, b"CLIENT_ERROR lru crawler disabled\r\n")
            }
            // Somebody took this for a web server.
            _ if self.is_http(&words) => Then::End,
            _ => reply(output, false, ERROR),
        }
    }

    /// memcached looks for this only where the command is none of those that begin like one of its own.
    fn is_http(&self, words: &Words<'_>) -> bool {
        let known = matches!(words[0][0], b'g' | b's' | b'a' | b'c' | b'i' | b'd' | b't');
        let meta = words[0].len() == 2 && words[0][0] == b'm';
        !(known || meta) && words.last().is_some_and(|word| word.starts_with(b"HTTP/"))
    }

    /// Whether an item is larger than allowed, as memcached counts it: with its header of 56 bytes.
    pub(super) fn is_too_large(&self, key: &[u8], flags: u32, len: usize) -> bool {
        !self.shared.store.takes(key, flags, len)
    }

    fn update(&self, words: &Words<'_>, verb: Verb, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.noreply();
        let numbers = || {
            let flags = number::unsigned_32(words[2])?;
            let expiry = number::signed_32(words[3])?;
            let len = number::signed_32(words[4])?;
            let cas = if verb == Verb::Cas { number::unsigned(words[5])? } else { 0 };
            let len = usize::try_from(len).ok().filter(|len| *len <= i32::MAX as usize - 2)?;
            Some((flags, self.expiry(expiry), len, cas))
        };
        let Some((flags, expiry, len, cas)) = numbers().filter(|_| words[1].len() <= MOST_KEY)
        else {
            return reply(output, noreply, BAD_LINE);
        };
        let key = self.visit.key(words[1]);
        let recipe = Recipe { key: key.bytes, hash: key.hash, flags, expiry, len, state: 0 };
        match self.draft(&recipe) {
            Ok(draft) => {
                let storing = Storing { verb, cas, stale: false };
                Then::Data(Pending { draft, storing, noreply, echo: None })
            }
            Err(error) => {
                if verb == Verb::Set {
                    self.forget(key);
                }
                reply(output, noreply, error);
                Then::Swallow(len + 2)
            }
        }
    }

    /// Room for an item, or the answer that says why there is none.
    pub(super) fn draft(&self, recipe: &Recipe<'_>) -> Result<Draft<C>, &'static [u8]> {
        if self.is_too_large(recipe.key, recipe.flags, recipe.len) {
            self.count(Counter::StoreTooLarge);
            return Err(TOO_LARGE);
        }
        self.visit.draft(recipe).ok_or_else(|| {
            self.count(Counter::StoreNoMemory);
            NO_MEMORY
        })
    }

    /// A new value was refused: the old one is not to be taken for it.
    pub(super) fn forget(&self, key: Key<'_>) {
        let mut locked = self.visit.lock(key);
        if let Some(item) = locked.find(key) {
            locked.unlink(item);
        }
    }

    /// The data of a value is complete.
    pub(super) fn complete(&self, pending: Pending<C>, output: &mut Answer<C>) {
        let Pending { draft, storing, noreply, echo } = pending;
        self.count(Counter::Sets);
        if !draft.ends_line() {
            reply(output, noreply && echo.is_none(), b"CLIENT_ERROR bad data chunk\r\n");
            return;
        }
        let item = draft.finish();
        let stored = self.visit.store(&item, storing);
        if let Some(echo) = echo {
            echo.answer(stored, &item, noreply, output);
            return;
        }
        reply(
            output,
            noreply,
            match stored {
                Outcome::Done(_) => b"STORED\r\n",
                Outcome::Refused => b"NOT_STORED\r\n",
                Outcome::Exists => b"EXISTS\r\n",
                Outcome::NotFound => b"NOT_FOUND\r\n",
            },
        );
    }

    fn arithmetic(&self, words: &Words<'_>, up: bool, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.noreply();
        if words[1].len() > MOST_KEY {
            return reply(output, noreply, BAD_LINE);
        }
        let Some(delta) = number::unsigned(words[2]) else {
            let error = b"CLIENT_ERROR invalid numeric delta argument\r\n";
            return reply(output, noreply, error);
        };
        let key = self.visit.key(words[1]);
        match self.visit.lock(key).add(key, up, delta, 0) {
            Delta::Value(value, _) => {
                reply(output, noreply, &Decimal::new(value));
                reply(output, noreply, b"\r\n")
            }
            Delta::NotFound | Delta::Mismatch => {
                self.count(if up { Counter::IncrMisses } else { Counter::DecrMisses });
                reply(output, noreply, b"NOT_FOUND\r\n")
            }
            Delta::NonNumeric => reply(output, noreply, NON_NUMERIC),
            Delta::NoMemory => reply(output, noreply, b"SERVER_ERROR out of memory\r\n"),
        }
    }

    fn delete(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.len() > 2 && words.noreply();
        let zero = words.get(2).is_some_and(|word| *word == b"0");
        let valid = match words.len() {
            2 => true,
            3 => zero || noreply,
            _ => zero && noreply,
        };
        if !valid {
            let usage = b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
            return reply(output, noreply, usage);
        }
        if words[1].len() > MOST_KEY {
            return reply(output, noreply, BAD_LINE);
        }
        match self.visit.delete(self.visit.key(words[1]), None) {
            Removal::Done => reply(output, noreply, b"DELETED\r\n"),
            Removal::Exists | Removal::NotFound => reply(output, noreply, b"NOT_FOUND\r\n"),
        }
    }

    fn touch(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.noreply();
        if words[1].len() > MOST_KEY {
            return reply(output, noreply, BAD_LINE);
        }
        let Some(expiry) = number::signed_32(words[2]) else {
            return reply(output, noreply, b"CLIENT_ERROR invalid exptime argument\r\n");
        };
        let key = self.visit.key(words[1]);
        self.count(Counter::Touches);
        let touched = self.visit.lock(key).find(key).map(|item| {
            item.set_expiry(self.expiry(expiry));
            item.hit(self.visit.now);
        });
        if touched.is_some() {
            self.count(Counter::TouchHits);
            reply(output, noreply, b"TOUCHED\r\n")
        } else {
            self.count(Counter::TouchMisses);
            reply(output, noreply, b"NOT_FOUND\r\n")
        }
    }

    fn flush_all(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.noreply();
        self.count(Counter::Flushes);
        let now = self.visit.now;
        let mut when = now;
        if words.len() != if noreply { 2 } else { 1 } {
            let Some(delay) = number::signed_32(words[1]) else {
                return reply(output, noreply, b"CLIENT_ERROR invalid exptime argument\r\n");
            };
            if delay > 0 {
                when = self.expiry(delay);
            }
        }
        self.shared.store.flush(when, now);
        reply(output, noreply, b"OK\r\n")
    }

    fn memory_limit(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.noreply();
        let answer: &[u8] = match number::unsigned_32(words[1]) {
            None => ERROR,
            Some(..8) => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
            Some(1_000_000_001..) => {
                b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n"
            }
            Some(mebibytes) => {
                self.shared.store.set_limit(u64::from(mebibytes) << 20);
                b"OK\r\n"
            }
        };
        reply(output, noreply, answer)
    }
}

pub(super) const NON_NUMERIC: &[u8] =
    b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
