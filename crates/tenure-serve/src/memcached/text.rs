//! The classic commands, but for retrievals.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::answer::{Answer, Answered, BAD_LINE, ERROR, NO_MEMORY, NON_NUMERIC, VERSION};
use super::classes::Classes;
use super::counters::Counter;
use super::item::{ItemRef, MOST_KEY, Recipe};
use super::number::{self, Decimal, value_length};
use super::prefixes::Use;
use super::request::{Pending, Request, Then, reply};
use super::store::{Delta, Outcome, Removal, Storing, Verb};
use super::watch::{kind, kinds};
use super::words::{InUrl, Words};

const BAD_CLASS: &[u8] = b"BADCLASS invalid class id\r\n";
const BAD_EXPIRY: &[u8] = b"CLIENT_ERROR invalid exptime argument\r\n";
const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
const OK: &[u8] = b"OK\r\n";

impl<C: RefCount + 'static, P: RegistryCount> Request<'_, C, P> {
    pub(super) fn line(&self, line: &[u8], output: &mut Answer<C>) -> Then<C> {
        if line.len() < 2 {
            return reply(output, false, BAD_LINE);
        }
        let words = Words::new(line);
        let Some(command) = words.first() else {
            return reply(output, false, ERROR);
        };
        let count = words.len();
        let noreply = words.noreply();
        // Answers with a meta command's error, if any.
        let meta = |answered: Answered, output: &mut Answer<C>| {
            reply(output, answered.is_ok(), answered.err().unwrap_or_default())
        };
        match (*command, count) {
            (b"set", _) => self.update(&words, Verb::Set, output),
            (b"add", _) => self.update(&words, Verb::Add, output),
            (b"replace", _) => self.update(&words, Verb::Replace, output),
            (b"append", _) => self.update(&words, Verb::Append, output),
            (b"prepend", _) => self.update(&words, Verb::Prepend, output),
            (b"cas", _) => self.update(&words, Verb::Cas, output),
            (b"ms", _) => self.meta_set(&words, output),
            (b"mg", _) => meta(self.meta_get(&words, output), output),
            (b"md", _) => meta(self.meta_delete(&words, output), output),
            (b"ma", _) => meta(self.meta_arithmetic(&words, output), output),
            (b"me", _) => meta(self.meta_debug(&words, output), output),
            (b"mn", _) => reply(output, false, b"MN\r\n"),
            (b"incr" | b"decr" | b"touch", 3..) | (b"delete", 2..=4)
                if words[1].len() > MOST_KEY =>
            {
                reply(output, noreply, BAD_LINE)
            }
            (b"incr" | b"decr", 3..) => match self.arithmetic(&words, *command == b"incr") {
                Ok(value) => {
                    reply(output, noreply, &Decimal::new(value));
                    reply(output, noreply, b"\r\n")
                }
                Err(error) => reply(output, noreply, error),
            },
            (b"delete", 2..=4) => {
                let noreply = count > 2 && noreply;
                reply(output, noreply, self.delete(words[1]))
            }
            (b"touch", 3..) => reply(output, noreply, self.touch(&words)),
            (b"incr" | b"decr" | b"delete" | b"touch", _) => reply(output, false, BAD_LINE),
            (b"flush_all", _) => reply(output, noreply, self.flush_all(&words)),
            (b"stats", _) => self.stats(&words, output),
            (b"version", _) => {
                output.write(b"VERSION ");
                output.write(VERSION.as_bytes());
                reply(output, false, b"\r\n")
            }
            (b"verbosity", _) => match words.get(1).and_then(|level| number::unsigned_32(level)) {
                Some(_) => reply(output, noreply, OK),
                None => reply(output, noreply, BAD_LINE),
            },
            (b"cache_memlimit", _) => reply(output, noreply, self.memory_limit(&words)),
            (b"quit", _) => Then::End,
            // As in memcached's debug build: tests need not wait an hour for an expiry.
            #[cfg(debug_assertions)]
            (b"debugtime", 2) => match number::unsigned_32(words[1]) {
                Some(seconds) => {
                    self.shared.clock.move_on(seconds);
                    reply(output, noreply, OK)
                }
                None => reply(output, noreply, ERROR),
            },
            (b"shutdown", _) => self.shut_down(&words, output),
            (b"watch", _) => self.watch(&words, output),
            (b"slabs", 4) if words[1] == b"reassign" => {
                reply(output, false, b"CLIENT_ERROR slab reassignment disabled\r\n")
            }
            (b"lru_crawler", 3) if words[1] == b"metadump" => self.dump(words[2], output),
            (b"lru_crawler", 3) if words[1] == b"crawl" => {
                reply(output, false, self.crawl(words[2]))
            }
            (b"lru_crawler", 2) if matches!(words[1], b"enable" | b"disable") => {
                self.visit.switch_crawl(words[1] == b"enable");
                reply(output, noreply, OK)
            }
            (b"slabs", 3..) if words[1] == b"automove" => match number::unsigned_32(words[2]) {
                Some(_) => reply(output, noreply, b"CLIENT_ERROR slab automove disabled\r\n"),
                None => reply(output, noreply, BAD_LINE),
            },
            // The client takes this for a web server.
            _ if words[1..].last().is_some_and(|word| word.starts_with(b"HTTP/")) => Then::Misled,
            _ => reply(output, noreply, ERROR),
        }
    }

    /// A command with a value. That of a refused line is dropped, never read as commands: an attacker who chose the key
    /// may have chosen it.
    fn update(&self, words: &Words<'_>, verb: Verb, output: &mut Answer<C>) -> Then<C> {
        let noreply = words.noreply();
        let Some(len) = Self::announced(words, verb) else {
            output.write(BAD_LINE);
            // Fewer words than a line with an empty key: no value was announced.
            return if words.len() < 4 { Then::Done } else { Then::Linger };
        };
        let numbers = || {
            let flags = number::unsigned_32(words[2])?;
            let expiry = number::signed(words[3])?;
            let cas = if verb == Verb::Cas { number::unsigned(words.get(5)?)? } else { 0 };
            Some((flags, self.expiry(expiry), cas))
        };
        let Some((flags, expiry, cas)) = numbers().filter(|_| words[1].len() <= MOST_KEY) else {
            reply(output, noreply, BAD_LINE);
            return Then::Swallow(len + 2);
        };
        self.note(words[1], Use::Set);
        let key = self.visit.key(words[1]);
        let (bytes, hash) = (key.bytes, key.hash);
        let recipe = Recipe { key: bytes, hash, flags, expiry, len, state: 0, number: 0 };
        match self.draft(&recipe) {
            Ok(draft) => {
                let storing = Storing { verb, cas, stale: false, makes: false };
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

    /// The length of the announced value. `None` where that is uncertain: spaces in the key, say, move it.
    fn announced(words: &Words<'_>, verb: Verb) -> Option<usize> {
        let is_whole = match (verb, words.len()) {
            (Verb::Cas, 5 | 6) | (_, 5) => true,
            (Verb::Cas, 7) | (_, 6) => words.noreply(),
            _ => false,
        };
        value_length(words.get(4).filter(|_| is_whole)?)
    }

    pub(super) fn complete(&self, pending: Pending<C>, output: &mut Answer<C>) {
        let Pending { draft, storing, noreply, echo } = pending;
        self.count(Counter::Sets);
        if !draft.ends_line() {
            reply(output, noreply && echo.is_none(), b"CLIENT_ERROR bad data chunk\r\n");
            return;
        }
        let item = draft.finish();
        let watchers = self.visit.watchers();
        let is_watched = watchers.want(kind::FETCHERS | kind::MUTATIONS);
        if is_watched {
            // Storing looks the key up first, and memcached logs that.
            let found = self.visit.find(self.visit.key(item.key()));
            watchers.log_get(item.key(), found, self.connection);
        }
        let stored = self.visit.store(&item, storing);
        if is_watched {
            let (status, command) = (stored.name(), storing.verb.name());
            watchers.log_store(&item, status, command, self.visit.now, self.connection);
        }
        if let Some(echo) = echo {
            echo.answer(stored, &item, noreply, output);
            return;
        }
        reply(
            output,
            noreply,
            match stored {
                Outcome::Done { .. } => b"STORED\r\n",
                Outcome::Refused => b"NOT_STORED\r\n",
                Outcome::Exists => b"EXISTS\r\n",
                Outcome::NotFound => NOT_FOUND,
                Outcome::NoMemory => NO_MEMORY,
            },
        );
    }

    fn arithmetic(&self, words: &Words<'_>, up: bool) -> Answered<u64> {
        let delta = number::unsigned(words[2]);
        let delta = delta.ok_or(&b"CLIENT_ERROR invalid numeric delta argument\r\n"[..])?;
        let key = self.visit.key(words[1]);
        match self.visit.lock(key).add(key, up, delta, 0) {
            Delta::Value(value, _) => Ok(value),
            Delta::NotFound | Delta::Mismatch => {
                self.count(if up { Counter::IncrMisses } else { Counter::DecrMisses });
                Err(NOT_FOUND)
            }
            Delta::NonNumeric => Err(NON_NUMERIC),
            Delta::NoMemory => Err(b"SERVER_ERROR out of memory\r\n"),
        }
    }

    fn delete(&self, key: &[u8]) -> &'static [u8] {
        self.note(key, Use::Delete);
        match self.visit.delete(self.visit.key(key), None, "delete") {
            Removal::Done => b"DELETED\r\n",
            Removal::Exists | Removal::NotFound => NOT_FOUND,
        }
    }

    fn touch(&self, words: &Words<'_>) -> &'static [u8] {
        let Some(expiry) = number::signed(words[2]) else { return BAD_EXPIRY };
        let key = self.visit.key(words[1]);
        self.count(Counter::Touches);
        let touched = self.visit.lock(key).find(key).map(|item| {
            item.expiry.set(self.expiry(expiry));
            item.hit(self.visit.now);
        });
        self.count(if touched.is_some() { Counter::TouchHits } else { Counter::TouchMisses });
        touched.map_or(NOT_FOUND, |()| b"TOUCHED\r\n")
    }

    fn flush_all(&self, words: &Words<'_>) -> &'static [u8] {
        self.count(Counter::Flushes);
        if !self.shared.config.flush {
            return b"CLIENT_ERROR flush_all not allowed\r\n";
        }
        let now = self.visit.now;
        let mut when = now;
        if words.len() != if words.noreply() { 2 } else { 1 } {
            let Some(delay) = number::signed(words[1]) else { return BAD_EXPIRY };
            if delay > 0 {
                when = self.expiry(delay);
            }
        }
        self.shared.store.flush(when, now);
        OK
    }

    fn watch(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        if !self.shared.config.watch {
            return reply(output, false, b"CLIENT_ERROR watch commands not allowed\r\n");
        }
        if !output.is_empty() {
            let error = b"ERROR cannot pipeline other commands before watch\r\n";
            return reply(output, false, error);
        }
        let Some(kinds) = kinds(&words[1..]) else {
            return reply(output, false, ERROR);
        };
        let Some(watcher) = self.visit.watchers().join(kinds) else {
            return reply(output, false, b"WATCHER_TOO_MANY log watcher limit reached\r\n");
        };
        output.write(OK);
        Then::Watch(watcher)
    }

    /// All expired items, of whatever class.
    fn crawl(&self, classes: &[u8]) -> &'static [u8] {
        if !self.visit.crawls() {
            b"CLIENT_ERROR lru crawler disabled\r\n"
        } else if Classes::named(classes).is_none() {
            BAD_CLASS
        } else if self.visit.begin_crawl() {
            OK
        } else {
            b"BUSY currently processing crawler request\r\n"
        }
    }

    fn dump(&self, classes: &[u8], output: &mut Answer<C>) -> Then<C> {
        if !self.shared.config.dump {
            return reply(output, false, b"ERROR metadump not allowed\r\n");
        }
        if !output.is_empty() {
            let error = b"ERROR cannot pipeline other commands before metadump\r\n";
            return reply(output, false, error);
        }
        let classes = if classes == b"hash" { &b"all"[..] } else { classes };
        let Some(classes) = Classes::named(classes) else {
            return reply(output, false, BAD_CLASS);
        };
        output.write(OK);
        Then::Dump(classes)
    }

    pub(super) fn dump_item(&self, item: &ItemRef<C>, output: &mut Answer<C>) {
        let clock = &self.shared.clock;
        let expiry = if item.expiry.get() == 0 { -1 } else { clock.wall(item.expiry.get()) };
        let facts = item.facts(expiry, clock.wall(item.time()));
        let (key, flags) = (InUrl(item.key()), item.flags);
        output.write(format!("key={key} {facts} flags={flags}\n").as_bytes());
    }

    fn shut_down(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        if !self.shared.config.shutdown {
            return reply(output, false, b"SERVER_ERROR: shutdown not enabled\r\n");
        }
        if !matches!(words[1..], [] | [b"graceful"]) {
            return reply(output, false, b"CLIENT_ERROR invalid shutdown mode\r\n");
        }
        if let Some(server) = self.shared.server() {
            server.stop();
        }
        Then::End
    }

    fn memory_limit(&self, words: &Words<'_>) -> &'static [u8] {
        match words.get(1).and_then(|limit| number::unsigned_32(limit)) {
            None => ERROR,
            Some(..8) => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
            Some(1_000_000_001..) => {
                b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n"
            }
            Some(mebibytes) => {
                self.shared.store.set_limit(u64::from(mebibytes) << 20);
                OK
            }
        }
    }
}
