//! The meta commands: `mg`, `ms`, `md`, `ma` and `me`, with their flags.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::answer::{
    Answer, Answered, BAD_LINE, Echo, LONG_OPAQUE, Line, MOST_OPAQUE, NON_NUMERIC,
};
use super::base64;
use super::clock::Seconds;
use super::counters::Counter;
use super::item::{ItemRef, MOST_KEY, Recipe, state};
use super::number::{self, Decimal, value_length};
use super::prefixes::Use;
use super::request::{Pending, Request, Then};
use super::store::{Delta, Key, Removal, Storing, Verb};
use super::words::Words;

const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
const BAD_KEY: &[u8] = b"CLIENT_ERROR error decoding key\r\n";
const BAD_INITIAL: &[u8] = b"CLIENT_ERROR invalid numeric initial value\r\n";
const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta value\r\n";
const INVALID_FLAG: &[u8] = b"CLIENT_ERROR invalid or duplicate flag\r\n";

const MOST_WORDS: usize = 20;

/// The words say which flags are answered, and in which order.
#[derive(Default)]
struct Flags {
    vivify: Option<Seconds>,
    expiry: Option<Seconds>,
    recache: Option<Seconds>,
    value: bool,
    quiet: bool,
    binary: bool,
    no_bump: bool,
    invalidate: bool,
    /// Removes the value alone.
    empty: bool,
    client: u32,
    cas: Option<u64>,
    number: Option<u64>,
    mode: Option<u8>,
    initial: u64,
    delta: Option<u64>,
}

/// Decoded if it came in base64.
struct KeyBytes {
    bytes: [u8; MOST_KEY],
    len: usize,
}

impl KeyBytes {
    fn new(word: &[u8]) -> Self {
        let mut key = Self { bytes: [0; MOST_KEY], len: word.len() };
        key.bytes[..word.len()].copy_from_slice(word);
        key
    }

    fn decode(&mut self) -> bool {
        let mut bytes = [0; MOST_KEY];
        let len = base64::decode(self, &mut bytes);
        *self = Self { bytes, len: len.unwrap_or(0) };
        len.is_some()
    }
}

impl std::ops::Deref for KeyBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// There is a key, and flags begin with a letter or a digit.
fn is_meta(words: &Words<'_>) -> bool {
    words.len() > 1 && words[2..].iter().all(|flag| matches!(flag[0], b'0'..=b'9' | b'A'..=b'z'))
}

/// The flag `t`: seconds until an item expires.
fn push_ttl<C: RefCount + 'static>(line: &mut Line, item: &ItemRef<C>, now: Seconds) {
    match item.expiry.get() {
        0 => line.push(b" t-1"),
        // As memcached counts: what expired long ago has a very long life.
        expiry => line.push_number(b" t", expiry.wrapping_sub(now).into()),
    }
}

/// An opaque token or the key.
fn push_echo(line: &mut Line, word: &[u8], key: &[u8], binary: bool) -> Answered {
    match word[0] {
        b'O' if word.len() > MOST_OPAQUE => return Err(LONG_OPAQUE),
        b'O' => {
            line.push(b" ");
            line.push(word);
        }
        b'k' => line.push_key(key, binary),
        _ => {}
    }
    Ok(())
}

fn echo(code: &[u8], words: &[&[u8]], key: &[u8], flags: &Flags) -> Answered<Line> {
    let mut line = Line::new(code);
    for word in words {
        push_echo(&mut line, word, key, flags.binary)?;
    }
    line.push(b"\r\n");
    Ok(line)
}

/// A word that is none leaves the flag unset.
fn set<T>(flag: &mut Option<T>, number: Option<T>, error: &'static [u8]) -> Answered {
    *flag = number;
    flag.as_ref().map(|_| ()).ok_or(error)
}

impl<C: RefCount + 'static, P: RegistryCount> Request<'_, C, P> {
    /// The error is the last one, as in memcached.
    fn flags(&self, words: &[&[u8]], key: &mut KeyBytes) -> Answered<Flags> {
        let mut flags = Flags::default();
        let mut seen = [false; 127];
        let mut error = Ok(());
        for word in words {
            let token = &word[1..];
            match seen.get_mut(usize::from(word[0])) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(b"CLIENT_ERROR duplicate flag\r\n"),
            }
            let expiry = || number::signed(token).map(|expiry| self.expiry(expiry));
            let unsigned = || number::unsigned(token);
            let good = match word[0] {
                b'b' => {
                    flags.binary = true;
                    key.decode().then_some(()).ok_or(BAD_KEY)
                }
                b'N' => set(&mut flags.vivify, expiry(), BAD_TOKEN),
                b'T' => set(&mut flags.expiry, expiry(), BAD_TOKEN),
                b'R' => set(&mut flags.recache, expiry(), BAD_TOKEN),
                b'C' => set(&mut flags.cas, unsigned(), BAD_TOKEN),
                b'E' => set(&mut flags.number, unsigned(), BAD_TOKEN),
                b'D' => set(&mut flags.delta, unsigned(), BAD_DELTA),
                b'J' => unsigned().map(|initial| flags.initial = initial).ok_or(BAD_INITIAL),
                // As in memcached: the error of an earlier flag stays.
                b'F' => match number::unsigned_32(token) {
                    Some(client) => {
                        flags.client = client;
                        Ok(())
                    }
                    None => Err(error.err().unwrap_or(BAD_LINE)),
                },
                b'M' => {
                    flags.mode = Some(token.first().copied().unwrap_or_default());
                    Ok(())
                }
                b'v' | b'u' | b'q' | b'I' | b'x' => {
                    *match word[0] {
                        b'v' => &mut flags.value,
                        b'u' => &mut flags.no_bump,
                        b'q' => &mut flags.quiet,
                        b'I' => &mut flags.invalidate,
                        _ => &mut flags.empty,
                    } = true;
                    Ok(())
                }
                b'l' | b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'h' => Ok(()),
                _ => return Err(b"CLIENT_ERROR invalid flag\r\n"),
            };
            if good.is_err() {
                error = good;
            }
        }
        error.map(|()| flags)
    }

    fn meta_key(words: &Words<'_>) -> Answered<KeyBytes> {
        let key = words.get(1).filter(|key| key.len() <= MOST_KEY && is_meta(words));
        let key = key.ok_or(BAD_LINE)?;
        if words.len() > MOST_WORDS {
            return Err(b"CLIENT_ERROR options flags are too long\r\n");
        }
        Ok(KeyBytes::new(key))
    }

    /// Not linked yet.
    fn made(&self, key: Key<'_>, flags: &Flags, client: u32, data: &[u8]) -> Option<ItemRef<C>> {
        let mut draft = self.visit.draft(&Recipe {
            key: key.bytes,
            hash: key.hash,
            flags: client,
            expiry: flags.expiry.unwrap_or(0),
            len: data.len(),
            state: if flags.binary { state::BINARY } else { 0 },
            number: flags.number.unwrap_or(0),
        })?;
        draft.fill(data);
        draft.fill(b"\r\n");
        Some(draft.finish())
    }

    pub(super) fn meta_get(&self, words: &Words<'_>, output: &mut Answer<C>) -> Answered {
        let mut bytes = Self::meta_key(words)?;
        let words = &words[2..];
        let flags = self.flags(words, &mut bytes)?;
        let key = self.visit.key(&bytes);
        let now = self.visit.now;

        // Without a lock, unless the item may change or the client may win.
        let changes = flags.vivify.or(flags.expiry).or(flags.recache).is_some();
        let mut found = if changes { None } else { self.visit.find(key) };
        let may_win =
            found.is_some_and(|item| item.state() & (state::STALE | state::WON) == state::STALE);
        let mut locked = (changes || may_win).then(|| self.visit.lock(key));
        if let Some(locked) = &mut locked {
            found = locked.find(key);
        }
        let mut made = None;
        if let (None, Some(_), Some(locked)) = (found, flags.vivify, &mut locked) {
            made = self.made(key, &flags, 0, b"");
            if let Some(item) = &made {
                locked.link(item);
            }
        }
        let created = made.is_some();
        let Some(item) = made.as_ref().or(found) else {
            drop(locked);
            self.count(Counter::Gets);
            self.count(Counter::GetMisses);
            self.fetched(&bytes, None);
            let line = echo(b"EN", words, &bytes, &flags)?;
            if !flags.quiet {
                output.write(&line);
            }
            return Ok(());
        };

        self.fetched(&bytes, Some(item));
        // A client that has this value does not get it again.
        let sends = flags.value && flags.cas != Some(item.cas.get());
        let mut line = Line::new(b"HD");
        if sends {
            line = Line::new(b"VA ");
            line.push(&Decimal::new(item.len() as u64));
        }
        let mut won = false;
        for word in words {
            match word[0] {
                b'T' => item.expiry.set(flags.expiry.unwrap_or(0)),
                b'N' if created => {
                    item.expiry.set(flags.vivify.unwrap_or(0));
                    won = true;
                }
                b'R' => {
                    let expiry = item.expiry.get();
                    let near = flags.recache.is_some_and(|recache| expiry < recache);
                    won |= item.state() & state::WON == 0 && !created && expiry != 0 && near;
                }
                b's' => line.push_number(b" s", item.len() as u64),
                b't' => push_ttl(&mut line, item, now),
                b'c' => line.push_number(b" c", item.cas.get()),
                b'f' => line.push_number(b" f", item.flags.into()),
                b'l' => line.push_number(b" l", now.wrapping_sub(item.time()).into()),
                b'h' => {
                    line.push_number(b" h", (item.state() & state::FETCHED != 0).into());
                }
                _ => push_echo(&mut line, word, item.key(), item.state() & state::BINARY != 0)?,
            }
        }
        let marks = item.state();
        if marks & state::WON != 0 {
            line.push(b" Z");
        }
        if marks & state::STALE != 0 {
            line.push(b" X");
            won |= marks & state::WON == 0;
        }
        if won {
            line.push(b" W");
            item.mark(state::WON, 0);
        }
        line.push(b"\r\n");
        output.write(&line);
        if sends && let Some(mine) = item.get() {
            mine.send(item.data_start(), false, output);
        }
        if !flags.no_bump {
            item.hit(now);
        }
        if flags.expiry.is_some() {
            self.count(Counter::Touches);
            self.count(Counter::TouchHits);
        } else {
            self.count(Counter::Gets);
            self.count(Counter::GetHits);
        }
        Ok(())
    }

    pub(super) fn meta_set(&self, words: &Words<'_>, output: &mut Answer<C>) -> Then<C> {
        // No flag begins with a digit: a length there means that the key has spaces.
        let is_clear =
            words.are_all() && !words.iter().skip(3).any(|flag| flag[0].is_ascii_digit());
        let Some(len) = words.get(2).filter(|_| is_clear).and_then(|len| value_length(len)) else {
            output.write(BAD_LINE);
            // A key alone announces no value. A number alone is the length of a value whose key is empty.
            let announces = words.get(1).is_some_and(|key| value_length(key).is_some());
            return if words.len() < 3 && !announces { Then::Done } else { Then::Linger };
        };
        match Self::meta_key(words).and_then(|key| self.meta_set_inner(&words[3..], key, len)) {
            Ok(pending) => Then::Data(pending),
            Err(error) => {
                output.write(error);
                Then::Swallow(len + 2)
            }
        }
    }

    fn meta_set_inner(
        &self,
        words: &[&[u8]],
        mut bytes: KeyBytes,
        len: usize,
    ) -> Answered<Pending<C>> {
        let flags = self.flags(words, &mut bytes)?;
        let echo = Echo::new(words);
        let verb = match flags.mode {
            None | Some(b'S') => Verb::Set,
            Some(b'E') => Verb::Add,
            Some(b'A') => Verb::Append,
            Some(b'P') => Verb::Prepend,
            Some(b'R') => Verb::Replace,
            Some(_) => return Err(b"CLIENT_ERROR invalid mode for ms M token\r\n"),
        };
        let adds = matches!(verb, Verb::Append | Verb::Prepend);
        let makes = adds && flags.vivify.is_some();
        let expiry = if makes { flags.vivify } else { flags.expiry };
        let compares = flags.cas.is_some() && matches!(verb, Verb::Set | Verb::Replace);
        let verb = if compares { Verb::Cas } else { verb };
        let echo = echo?;
        self.note(&bytes, Use::Set);
        let key = self.visit.key(&bytes);
        let recipe = Recipe {
            key: &bytes,
            hash: key.hash,
            flags: flags.client,
            expiry: expiry.unwrap_or(0),
            len,
            state: if flags.binary { state::BINARY } else { 0 },
            number: flags.number.unwrap_or(0),
        };
        let draft = self.draft(&recipe).inspect_err(|_| self.forget(key))?;
        let stale = flags.invalidate && verb == Verb::Cas;
        let storing = Storing { verb, cas: flags.cas.unwrap_or(0), stale, makes };
        Ok(Pending { draft, storing, noreply: flags.quiet, echo: Some(echo) })
    }

    pub(super) fn meta_delete(&self, words: &Words<'_>, output: &mut Answer<C>) -> Answered {
        let mut bytes = Self::meta_key(words)?;
        let words = &words[2..];
        let flags = self.flags(words, &mut bytes)?;
        let echo = echo(b"", words, &bytes, &flags)?;
        self.note(&bytes, Use::Delete);
        let key = self.visit.key(&bytes);
        let deleted = if flags.empty {
            let no_memory = b"SERVER_ERROR out of memory\r\n";
            let empty = self.made(key, &flags, flags.client, b"").ok_or(&no_memory[..])?;
            self.visit.empty(key, flags.cas, &empty, flags.invalidate)
        } else if flags.invalidate {
            self.visit.invalidate(key, flags.cas, flags.expiry, flags.number)
        } else {
            self.visit.delete(key, flags.cas, "md")
        };
        let code = match deleted {
            Removal::Done if flags.quiet => return Ok(()),
            Removal::Done => b"HD",
            Removal::Exists => b"EX",
            Removal::NotFound => b"NF",
        };
        output.write(code);
        output.write(&echo);
        Ok(())
    }

    pub(super) fn meta_arithmetic(&self, words: &Words<'_>, output: &mut Answer<C>) -> Answered {
        if !is_meta(words) {
            return Err(BAD_LINE);
        }
        let mut bytes = Self::meta_key(words).map_err(|_| INVALID_FLAG)?;
        let words = &words[2..];
        let flags = self.flags(words, &mut bytes).map_err(|_| INVALID_FLAG)?;
        let up = match flags.mode {
            None | Some(b'I' | b'+') => true,
            Some(b'D' | b'-') => false,
            Some(_) => return Err(b"CLIENT_ERROR invalid mode for ma M token\r\n"),
        };
        let key = self.visit.key(&bytes);
        let mut locked = self.visit.lock(key);
        let mut created = false;
        let delta = locked.add(key, up, flags.delta.unwrap_or(1), flags.cas.unwrap_or(0));
        let (code, result) = match delta {
            Delta::Value(value, item) => {
                if let Some(number) = flags.number {
                    item.cas.set(number);
                }
                (b"HD", Some((value, item)))
            }
            Delta::NonNumeric => return Err(NON_NUMERIC),
            Delta::NoMemory => return Err(b"SERVER_ERROR out of memory\r\n"),
            Delta::Mismatch => (b"EX", None),
            Delta::NotFound if flags.vivify.is_some() => {
                let no_memory = b"SERVER_ERROR Out of memory allocating new item\r\n";
                let digits = Decimal::new(flags.initial);
                let item = self.made(key, &flags, 0, &digits).ok_or(&no_memory[..])?;
                locked.link(&item);
                created = true;
                (b"HD", Some((flags.initial, item)))
            }
            Delta::NotFound => {
                self.count(if up { Counter::IncrMisses } else { Counter::DecrMisses });
                (b"NF", None)
            }
        };
        let Some((value, item)) = result else {
            output.write(&echo(code, words, &bytes, &flags)?);
            return Ok(());
        };
        let mut line = Line::new(code);
        let digits = Decimal::new(value);
        if flags.value {
            line = Line::new(b"VA ");
            line.push(&Decimal::new(digits.len() as u64));
        }
        for word in words {
            match word[0] {
                b'c' => line.push_number(b" c", item.cas.get()),
                b't' => push_ttl(&mut line, &item, self.visit.now),
                b'T' => item.expiry.set(flags.expiry.unwrap_or(0)),
                b'N' if created => item.expiry.set(flags.vivify.unwrap_or(0)),
                _ => push_echo(&mut line, word, &bytes, flags.binary)?,
            }
        }
        if flags.value {
            line.push(b"\r\n");
            line.push(&digits);
        }
        line.push(b"\r\n");
        if !flags.quiet {
            output.write(&line);
        }
        Ok(())
    }

    pub(super) fn meta_debug(&self, words: &Words<'_>, output: &mut Answer<C>) -> Answered {
        let key = words.get(1).filter(|key| key.len() <= MOST_KEY).ok_or(BAD_LINE)?;
        let mut bytes = KeyBytes::new(key);
        if words.get(2).is_some_and(|word| *word == b"b") && !bytes.decode() {
            return Err(BAD_LINE);
        }
        self.count(Counter::Metas);
        let Some(item) = self.visit.find(self.visit.key(&bytes)) else {
            return Err(&b"EN\r\n"[..]);
        };
        let mut line = Line::new(b"ME ");
        if item.state() & state::BINARY != 0 {
            base64::encode(item.key(), |four| line.push(four));
        } else {
            line.push(item.key());
        }
        let now = self.visit.now;
        let expiry =
            if item.expiry.get() == 0 { -1 } else { i64::from(item.expiry.get()) - i64::from(now) };
        let idle = now.wrapping_sub(item.time());
        let rest = format!(" {}\r\n", item.facts(expiry, idle.into()));
        line.push(rest.as_bytes());
        output.write(&line);
        Ok(())
    }
}
