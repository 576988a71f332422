//! A connection's state, and the handler that takes requests from its input.
//!
//! ```text
//!             ┌───────── line ─────────┐
//!             ▼                        │
//!  ┌─────── Command ──────┬────────────┴───────┐
//!  │ get k k k...         │ set, ms ...        │ refused set, line too long in a retrieval
//!  ▼                      ▼                    ▼
//! Keys ── key by key    Data ── into a draft  Swallow, Rest ── thrown away
//!  │ end of line          │ complete: stored   │
//!  └──────────────────────┴────────────────────┴──▶ Command
//! ```
//!
//! A list of all items goes on by itself (`Dump`), some items at a time, until all are told.
//!
//! A line is looked at once its end has come. The keys of a retrieval are looked up one by one then, and
//! before that if the line is longer than the limit: retrievals may be of any length. Data goes from the input into
//! the new item as it comes, so that the input needs no more room than a line.

use std::net::IpAddr;
use std::time::Instant;

use memchr::memchr;
use tenure::count::RefCount;
use tenure::sync::Arc;

use super::Shared;
use super::clock::Seconds;
use super::counters::{Counter, Worker};
use super::item::{Chunk, END, MOST_KEY};
use super::number;
use super::peer::PeerRef;
use super::store::{Place, Visit};
use super::text::{Answer, BAD_LINE, Keys, Pending, Request, Then};
use crate::handler::{Handler, Next, Output, Progress};

/// Requests of a connection after which its peer hears of them.
const BATCH: u64 = 1024;

/// Spaces before a retrieval that is longer than a line.
const MOST_SPACES: usize = 100;

/// The first byte of a request in memcached's binary protocol. No command of the text protocol begins with it.
const BINARY: u8 = 0x80;

const NO_BINARY: &str = "the client speaks memcached's binary protocol, which is not there; tell it to use the text protocol";

/// A connection.
pub struct Session<C: RefCount + 'static, P: RefCount + 'static> {
    peer: PeerRef<P>,
    state: State<C>,
    /// Requests that the peer has not heard of.
    requests: u64,
}

enum State<C: RefCount + 'static> {
    /// A line is to come.
    Command,
    /// Keys are to come.
    Keys(Keys),
    /// Data is to come.
    Data(Box<Pending<C>>),
    /// So many bytes are to be thrown away.
    Swallow(usize),
    /// What is left of the line is to be thrown away.
    Rest,
    /// Items are to be listed, from there on.
    Dump(Place),
}

/// The memcached protocol, on one thread.
pub struct Memcached<C: RefCount + 'static, P: RefCount + 'static> {
    shared: Arc<Shared<C, P>>,
    worker: Arc<Worker>,
    now: Seconds,
    /// Since when it did not look for items that are over.
    crawled: Instant,
}

impl<C: RefCount + 'static, P: RefCount + 'static> Memcached<C, P> {
    pub(super) fn new(shared: Arc<Shared<C, P>>) -> Self {
        let worker = shared.workers.join();
        let crawled = Instant::now();
        let now = shared.clock.seconds(crawled);
        Self { shared, worker, now, crawled }
    }

    fn visit(&self) -> Visit<'_, C> {
        self.shared.store.visit(&self.worker, self.now)
    }
}

impl<C: RefCount + 'static, P: RefCount + 'static> Drop for Memcached<C, P> {
    fn drop(&mut self) {
        self.shared.workers.leave(&self.worker, |workers| {
            self.visit().leave(workers);
            // What the map freed at the end of that visit may have been the last to keep entries back.
            self.visit().leave(workers);
        });
    }
}

impl<C: RefCount + 'static, P: RefCount + 'static> Handler for Memcached<C, P> {
    type Session = Session<C, P>;
    type Chunk = Chunk<C>;

    const KEEPS_BUFFERS: bool = false;

    fn is_idle(&self, session: &Session<C, P>) -> bool {
        matches!(session.state, State::Command)
    }

    fn open(&mut self, from: IpAddr) -> Option<Session<C, P>> {
        self.worker.count(Counter::TotalConnections);
        let peer = self.shared.peers.join(from);
        if peer.is_none() {
            self.worker.count(Counter::RejectedConnections);
        }
        Some(Session { peer: peer?, state: State::Command, requests: 0 })
    }

    fn handle(
        &mut self,
        session: &mut Session<C, P>,
        input: &[u8],
        output: &mut Output<Chunk<C>>,
    ) -> Progress {
        let visit = self.visit();
        let mut run = Run { shared: &self.shared, visit: &visit, session, input, at: 0 };
        let next = run.all(output);
        let consumed = run.at;
        if session.requests >= BATCH {
            session.tell_requests();
        }
        Progress { consumed, next }
    }

    fn close(&mut self, mut session: Session<C, P>) {
        session.tell_requests();
        session.peer.leave();
    }

    fn tick(&mut self, now: Instant) {
        let seconds = self.shared.clock.seconds(now);
        if self.now != seconds {
            self.now = seconds;
            self.visit().keep_house();
        }
        // A hundredth of the time, as an item takes 100 ns; and no more at once than a client waits for without noticing.
        let items = now.saturating_duration_since(self.crawled).as_micros() / 10;
        if items >= 128 {
            self.crawled = now;
            self.visit().crawl(items.min(1 << 16) as usize);
        }
    }
}

impl<C: RefCount + 'static, P: RefCount + 'static> Session<C, P> {
    fn tell_requests(&mut self) {
        self.peer.add_requests(std::mem::take(&mut self.requests));
    }
}

/// A call of the handler.
struct Run<'a, C: RefCount + 'static, P: RefCount + 'static> {
    shared: &'a Shared<C, P>,
    visit: &'a Visit<'a, C>,
    session: &'a mut Session<C, P>,
    input: &'a [u8],
    /// Bytes of the input that are done with.
    at: usize,
}

impl<'a, C: RefCount + 'static, P: RefCount + 'static> Run<'a, C, P> {
    fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    /// A request's reference to the peer, and what it is made to.
    #[inline]
    fn begin(&mut self) -> (PeerRef<P>, Request<'a, C, P>) {
        let peer = self.session.peer.clone();
        let limits = peer.limits();
        self.session.requests += 1;
        (peer, Request { shared: self.shared, visit: self.visit, limits })
    }

    /// Goes on until something is missing. Says what.
    fn all(&mut self, output: &mut Answer<C>) -> Next {
        loop {
            if self.rest().is_empty() && !matches!(self.session.state, State::Dump(_)) {
                return Next::Input;
            }
            if output.is_full() {
                return Next::Room;
            }
            let step = match self.session.state {
                State::Command => self.command(output),
                State::Keys(keys) => self.keys(keys, output),
                State::Data(_) => self.data(output),
                State::Swallow(count) => self.swallow(count),
                State::Rest => self.throw_rest(),
                State::Dump(from) => self.dump(from, output),
            };
            if let Some(next) = step {
                return next;
            }
        }
    }

    /// Throws bytes away.
    fn swallow(&mut self, count: usize) -> Option<Next> {
        let thrown = count.min(self.rest().len());
        self.at += thrown;
        self.session.state =
            if thrown == count { State::Command } else { State::Swallow(count - thrown) };
        None
    }

    /// Lists some items.
    fn dump(&mut self, from: Place, output: &mut Answer<C>) -> Option<Next> {
        let limits = self.session.peer.limits();
        let request = Request { shared: self.shared, visit: self.visit, limits };
        let next = self.visit.walk(from, |item| request.dump_item(item, output));
        self.session.state = next.map_or(State::Command, State::Dump);
        if next.is_none() {
            output.write(END);
        }
        None
    }

    fn throw_rest(&mut self) -> Option<Next> {
        match memchr(b'\n', self.rest()) {
            Some(end) => {
                self.at += end + 1;
                self.session.state = State::Command;
            }
            None => self.at = self.input.len(),
        }
        None
    }

    /// Takes data.
    fn data(&mut self, output: &mut Answer<C>) -> Option<Next> {
        let rest = self.rest();
        let State::Data(pending) = &mut self.session.state else {
            return None;
        };
        self.at += pending.draft.fill(rest);
        if pending.draft.missing() > 0 {
            return Some(Next::Input);
        }
        if let State::Data(pending) = std::mem::replace(&mut self.session.state, State::Command) {
            self.complete(*pending, output);
        }
        None
    }

    fn complete(&self, pending: Pending<C>, output: &mut Answer<C>) {
        let limits = self.session.peer.limits();
        let request = Request { shared: self.shared, visit: self.visit, limits };
        request.complete(pending, output);
    }

    /// Takes a line.
    #[inline]
    fn command(&mut self, output: &mut Answer<C>) -> Option<Next> {
        let rest = self.rest();
        let Some(end) = memchr(b'\n', rest) else {
            return self.long_line();
        };
        let line = match &rest[..end] {
            // A return alone is a line of one character: memcached has it so.
            [line @ .., b'\r'] if !line.is_empty() => line,
            line => line,
        };
        if let Some(key) = line.strip_prefix(b"get ")
            && !key.is_empty()
            && memchr(b' ', key).is_none()
        {
            let (peer, request) = self.begin();
            self.at += end + 1;
            if key.len() <= request.limits.key {
                self.get(key, Keys { cas: false, touch: None }, true, output);
            } else {
                output.write(BAD_LINE);
            }
            drop(peer);
            return None;
        }
        if rest[0] == BINARY {
            return Some(Next::Refuse(NO_BINARY));
        }
        let (peer, request) = self.begin();
        let then = match retrieval(line) {
            Some(kind) => self.begin_keys(&request, kind, line, output),
            None => request.line(line, output),
        };
        if !matches!(then, Then::Keys(_)) {
            self.at += end + 1;
        }
        drop(peer);
        match then {
            Then::Done => {}
            Then::Keys(keys) => self.session.state = State::Keys(keys),
            Then::Dump => self.session.state = State::Dump(Place::default()),
            Then::Swallow(count) => self.session.state = State::Swallow(count),
            Then::End => return Some(Next::End),
            Then::Linger => return Some(Next::Linger),
            Then::Data(mut pending) => {
                self.at += pending.draft.fill(self.rest());
                if pending.draft.missing() == 0 {
                    self.complete(pending, output);
                } else {
                    self.session.state = State::Data(Box::new(pending));
                }
            }
        }
        None
    }

    /// A line whose end has not come.
    #[cold]
    fn long_line(&mut self) -> Option<Next> {
        let rest = self.rest();
        if rest[0] == BINARY {
            return Some(Next::Refuse(NO_BINARY));
        }
        if rest.len() <= self.session.peer.limits().line {
            return Some(Next::Input);
        }
        let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
        let may_be_long = |kind: &&Retrieval| {
            spaces <= MOST_SPACES
                && !kind.touches
                && rest.get(spaces + kind.name.len()) == Some(&b' ')
        };
        let Some(kind) = retrieval(rest).filter(may_be_long) else {
            return Some(Next::End);
        };
        self.session.requests += 1;
        self.at += spaces + kind.name.len() + 1;
        self.session.state = State::Keys(Keys { cas: kind.cas, touch: None });
        None
    }

    /// Begins a retrieval whose line is complete.
    fn begin_keys(
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

    /// Looks keys up, until the end of the line or of the input.
    fn keys(&mut self, keys: Keys, output: &mut Answer<C>) -> Option<Next> {
        while !output.is_full() {
            self.at += self.rest().iter().take_while(|byte| **byte == b' ').count();
            let rest = self.rest();
            let Some(len) = rest.iter().position(|byte| matches!(byte, b' ' | b'\n')) else {
                // One more for the return that may be the end of the line.
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

    /// Answers one key. `ends` is whether it is the last.
    #[inline]
    fn get(&self, key: &[u8], keys: Keys, ends: bool, output: &mut Answer<C>) {
        let visit = self.visit;
        let key = visit.key(key);
        let (commands, hits, misses) = match keys.touch {
            None => (Counter::Gets, Counter::GetHits, Counter::GetMisses),
            Some(_) => (Counter::Touches, Counter::TouchHits, Counter::TouchMisses),
        };
        visit.worker.count(commands);
        let item = match keys.touch {
            None => visit.find(key),
            Some(expiry) => visit.lock(key).find(key).inspect(|item| item.set_expiry(expiry)),
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
            output.write(&number::Decimal::new(item.cas()));
            output.write(b"\r\n");
        }
        mine.send(start, ends, output);
    }
}

/// A command that looks keys up.
struct Retrieval {
    name: &'static [u8],
    cas: bool,
    touches: bool,
}

const RETRIEVALS: [Retrieval; 4] = [
    Retrieval { name: b"get", cas: false, touches: false },
    Retrieval { name: b"gets", cas: true, touches: false },
    Retrieval { name: b"gat", cas: false, touches: true },
    Retrieval { name: b"gats", cas: true, touches: true },
];

/// The retrieval that a line begins with.
fn retrieval(line: &[u8]) -> Option<&'static Retrieval> {
    let spaces = line.iter().take_while(|byte| **byte == b' ').count();
    let line = &line[spaces..];
    RETRIEVALS.iter().find(|kind| {
        line.strip_prefix(kind.name).is_some_and(|rest| matches!(rest, [] | [b' ', ..]))
    })
}
