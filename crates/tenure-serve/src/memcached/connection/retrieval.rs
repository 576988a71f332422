//! Retrievals: their keys are looked up one by one, and the items are sent from where they are.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::{Run, State};
use crate::handler::Next;
use crate::memcached::answer::{Answer, BAD_LINE};
use crate::memcached::counters::Counter;
use crate::memcached::item::{END, MOST_KEY};
use crate::memcached::number;
use crate::memcached::request::{Keys, Request, Then};

pub(super) struct Retrieval {
    pub(super) name: &'static [u8],
    pub(super) cas: bool,
    pub(super) touches: bool,
}

const RETRIEVALS: [Retrieval; 4] = [
    Retrieval { name: b"get", cas: false, touches: false },
    Retrieval { name: b"gets", cas: true, touches: false },
    Retrieval { name: b"gat", cas: false, touches: true },
    Retrieval { name: b"gats", cas: true, touches: true },
];

pub(super) fn retrieval(line: &[u8]) -> Option<&'static Retrieval> {
    let spaces = line.iter().take_while(|byte| **byte == b' ').count();
    let line = &line[spaces..];
    RETRIEVALS.iter().find(|kind| {
        line.strip_prefix(kind.name).is_some_and(|rest| matches!(rest, [] | [b' ', ..]))
    })
}

impl<C: RefCount + 'static, P: RegistryCount> Run<'_, C, P> {
    pub(super) fn begin_keys(
        &mut self,
        request: &Request<'_, C, P>,
        kind: &Retrieval,
        line: &[u8],
        output: &mut Answer<C>,
    ) -> Then<C> {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).skip(1);
        let has_keys = words.clone().nth(kind.touches.into()).is_some();
        let Some(first) = words.next().filter(|_| has_keys) else {
            output.write(BAD_LINE);
            return Then::Done;
        };
        let mut keys = Keys { cas: kind.cas, touch: None };
        let mut start = first;
        if kind.touches {
            let Some(expiry) = number::signed(first) else {
                output.write(b"CLIENT_ERROR invalid exptime argument\r\n");
                return Then::Done;
            };
            keys.touch = Some(request.expiry(expiry));
            start = &first[first.len()..];
        }
        // Short lines have no long keys.
        let mut every = words.chain((!kind.touches).then_some(first));
        if line.len() > MOST_KEY && every.any(|key| key.len() > MOST_KEY) {
            output.write(BAD_LINE);
            return Then::Done;
        }
        self.at += start.as_ptr().addr() - line.as_ptr().addr();
        Then::Keys(keys)
    }

    pub(super) fn keys(&mut self, keys: Keys, output: &mut Answer<C>) -> Option<Next> {
        while !output.is_full() {
            self.at += self.rest().iter().take_while(|byte| **byte == b' ').count();
            let rest = self.rest();
            let Some(len) = rest.iter().position(|byte| matches!(byte, b' ' | b'\n')) else {
                // One more: a return may end the line.
                if rest.len() > MOST_KEY + 1 {
                    output.write(BAD_LINE);
                    self.session.state = State::Rest;
                    return None;
                }
                return Some(Next::Input);
            };
            let key = match &rest[..len] {
                [key @ .., b'\r'] if rest[len] == b'\n' => key,
                key => key,
            };
            if key.len() > MOST_KEY {
                output.write(BAD_LINE);
                self.session.state = State::Rest;
                return None;
            }
            let ends = rest[len] != b' ';
            if !key.is_empty() {
                if self.observed {
                    self.observe(key);
                }
                self.get(key, keys, ends, output);
            } else if ends {
                output.write(END);
            }
            self.at += len;
            if ends {
                self.session.state = State::Rest;
                return None;
            }
        }
        None
    }

    /// Reports a lookup in advance, so that unobserved lookups pay nothing.
    #[cold]
    pub(super) fn observe(&self, key: &[u8]) {
        let item = self.visit.find(self.visit.key(key));
        self.request(self.session.peer.limits).fetched(key, item);
    }

    /// `ends` is whether the key is the last.
    #[inline]
    pub(super) fn get(&self, key: &[u8], keys: Keys, ends: bool, output: &mut Answer<C>) {
        let visit = self.visit;
        let key = visit.key(key);
        let (commands, hits, misses) = match keys.touch {
            None => (Counter::Gets, Counter::GetHits, Counter::GetMisses),
            Some(_) => (Counter::Touches, Counter::TouchHits, Counter::TouchMisses),
        };
        visit.worker.count(commands);
        let item = match keys.touch {
            None => visit.find(key),
            Some(expiry) => visit.lock(key).find(key).inspect(|item| item.expiry.set(expiry)),
        };
        let found = item.and_then(|item| {
            item.hit(visit.now);
            Some((item.get()?, item))
        });
        let Some((mine, item)) = found else {
            visit.worker.count(misses);
            if ends {
                output.write(END);
            }
            return;
        };
        visit.worker.count(hits);
        let mut start = 0;
        if keys.cas {
            start = item.data_start();
            output.write(item.before_data());
            output.write(b" ");
            output.write(&number::Decimal::new(item.cas.get()));
            output.write(b"\r\n");
        }
        mine.send(start, ends, output);
    }
}
