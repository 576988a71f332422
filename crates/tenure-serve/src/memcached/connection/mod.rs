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
//! A list of items goes on by itself (`Dump`), some items at a time, until all are told, and so does what a watcher is told
//! (`Watch`), until it ends. Where passwords are asked for,
//! a connection begins in `Login`, and nothing but a password leads from there to `Command`.
//!
//! A line is looked at once its end has come. The keys of a retrieval are looked up one by one then, and
//! before that if the line is longer than the limit: retrievals may be of any length. Data goes from the input into
//! the new item as it comes, so that the input needs no more room than a line.

mod login;
mod retrieval;

use std::net::IpAddr;
use std::time::Instant;

use memchr::memchr;
use tenure::count::RefCount;
use tenure::registry::RegistryCount;
use tenure::sync::Arc;

use super::Shared;
use super::classes::Classes;
use super::clock::Seconds;
use super::connections::Known;
use super::counters::{Counter, Worker};
use super::item::{Chunk, END};
use super::peer::{Limits, PeerRef};
use super::reply::{Answer, BAD_LINE};
use super::request::{Keys, Pending, Request, Then};
use super::store::{Place, Visit};
use super::watch::Watcher;
use crate::handler::{Handler, Next, Output, Progress};
use retrieval::{Retrieval, retrieval};

/// Requests of a connection after which its peer hears of them.
const BATCH: u64 = 1024;

/// Spaces before a retrieval that is longer than a line.
const MOST_SPACES: usize = 100;

/// The first byte of a request in memcached's binary protocol. No command of the text protocol begins with it.
const BINARY: u8 = 0x80;

const NO_BINARY: &str = "the client speaks memcached's binary protocol, which is not there; tell it to use the text protocol";

/// A connection.
pub struct Session<C: RefCount + 'static, P: RegistryCount> {
    peer: PeerRef<P>,
    known: Arc<Known>,
    state: State<C>,
    /// Requests that the peer has not heard of.
    requests: u64,
    /// Whether it ends for something that it did.
    failed: bool,
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
    /// Items of some classes are to be listed, from there on.
    Dump(Place, Classes),
    /// What others do is to be told, and nothing else.
    Watch(Arc<Watcher>),
    /// The line of a password is to come.
    Login,
    /// So many bytes of a password are to come.
    Password(usize),
}

/// The memcached protocol, on one thread.
pub struct Memcached<C: RefCount + 'static, P: RegistryCount> {
    shared: Arc<Shared<C, P>>,
    worker: Arc<Worker>,
    now: Seconds,
    /// Since when it did not look for items that are over.
    crawled: Instant,
}

impl<C: RefCount + 'static, P: RegistryCount> Memcached<C, P> {
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

impl<C: RefCount + 'static, P: RegistryCount> Drop for Memcached<C, P> {
    fn drop(&mut self) {
        self.shared.workers.leave(&self.worker, |workers| {
            self.visit().leave(workers);
            // What the map freed at the end of that visit may have been the last to keep entries back.
            self.visit().leave(workers);
        });
    }
}

impl<C: RefCount + 'static, P: RegistryCount> Handler for Memcached<C, P> {
    type Session = Session<C, P>;
    type Chunk = Chunk<C>;

    const KEEPS_BUFFERS: bool = false;

    fn is_idle(&self, session: &Session<C, P>) -> bool {
        matches!(session.state, State::Command | State::Login | State::Watch(_))
    }

    fn pushes(&self) -> bool {
        self.shared.store.watchers().want(u32::MAX)
    }

    fn has_news(&self, session: &Session<C, P>) -> bool {
        matches!(&session.state, State::Watch(watcher) if watcher.has_news())
    }

    fn open(&mut self, from: IpAddr) -> Option<Session<C, P>> {
        self.worker.count(Counter::TotalConnections);
        let peer = self.shared.peers.join(from);
        if peer.is_none() {
            self.worker.count(Counter::RejectedConnections);
        }
        let state = if self.shared.passwords.is_none() { State::Command } else { State::Login };
        let (peer, known) = (peer?, self.shared.connections.join(from, self.now));
        self.shared.store.watchers().tell_connection(from, known.number, None);
        Some(Session { peer, known, state, requests: 0, failed: false })
    }

    fn handle(
        &mut self,
        session: &mut Session<C, P>,
        input: &[u8],
        output: &mut Output<Chunk<C>>,
    ) -> Progress {
        let visit = self.visit();
        session.known.hear(self.now);
        let observed = self.shared.observes_gets();
        let last = session.requests.saturating_add(self.shared.requests_per_turn);
        let mut run =
            Run { shared: &self.shared, visit: &visit, session, input, at: 0, observed, last };
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
        let (watchers, known) = (self.shared.store.watchers(), &session.known);
        if let State::Watch(watcher) = &session.state {
            watchers.leave(watcher);
        }
        self.shared.connections.leave(known);
        let reason = if session.failed { "error" } else { "normal" };
        watchers.tell_connection(known.from, known.number, Some(reason));
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

impl<C: RefCount + 'static, P: RegistryCount> Session<C, P> {
    fn tell_requests(&mut self) {
        self.peer.add_requests(std::mem::take(&mut self.requests));
    }
}

/// A call of the handler.
struct Run<'a, C: RefCount + 'static, P: RegistryCount> {
    shared: &'a Shared<C, P>,
    visit: &'a Visit<'a, C>,
    session: &'a mut Session<C, P>,
    input: &'a [u8],
    /// Bytes of the input that are done with.
    at: usize,
    /// Whether somebody wants to know of each lookup.
    observed: bool,
    /// The last request before others have their turn, as the session counts them.
    last: u64,
}

impl<'a, C: RefCount + 'static, P: RegistryCount> Run<'a, C, P> {
    fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    /// A request's reference to the peer, and what it is made to.
    #[inline]
    fn begin(&mut self) -> (PeerRef<P>, Request<'a, C, P>) {
        let peer = self.session.peer.clone();
        let limits = peer.limits();
        self.session.requests += 1;
        (peer, self.request(limits))
    }

    #[inline]
    fn request(&self, limits: Limits) -> Request<'a, C, P> {
        let connection = self.session.known.number;
        Request { shared: self.shared, visit: self.visit, limits, connection }
    }

    /// Goes on until something is missing. Says what.
    fn all(&mut self, output: &mut Answer<C>) -> Next {
        loop {
            let goes_on = matches!(self.session.state, State::Dump(..) | State::Watch(_));
            if self.rest().is_empty() && !goes_on {
                return Next::Input;
            }
            if output.is_full() {
                return Next::Room;
            }
            let step = match self.session.state {
                State::Command if self.session.requests >= self.last => return Next::Turn,
                State::Command => self.command(output),
                State::Keys(keys) => self.keys(keys, output),
                State::Data(_) => self.data(output),
                State::Swallow(count) => self.swallow(count),
                State::Rest => self.throw_rest(),
                State::Dump(from, classes) => self.dump(from, classes, output),
                State::Watch(_) => return self.news(output),
                State::Login => self.login(output),
                State::Password(len) => self.password(len, output),
            };
            if let Some(next) = step {
                return next;
            }
        }
    }

    /// Tells what others did. What the client says meanwhile is thrown away.
    #[cold]
    fn news(&mut self, output: &mut Answer<C>) -> Next {
        self.at = self.input.len();
        if let State::Watch(watcher) = &self.session.state {
            output.write(&watcher.take());
        }
        Next::Input
    }

    /// A call that the client is to blame for the end of.
    fn fail(&mut self, next: Next) -> Option<Next> {
        self.session.failed = true;
        Some(next)
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
    fn dump(&mut self, from: Place, classes: Classes, output: &mut Answer<C>) -> Option<Next> {
        let request = self.request(self.session.peer.limits());
        let next = self.visit.walk(from, |item| {
            if classes.has(item.class()) {
                request.dump_item(item, output);
            }
        });
        self.session.state = next.map_or(State::Command, |next| State::Dump(next, classes));
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
        let request = self.request(self.session.peer.limits());
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
                if self.observed {
                    self.observe(key);
                }
                self.get(key, Keys { cas: false, touch: None }, true, output);
            } else {
                output.write(BAD_LINE);
            }
            drop(peer);
            return None;
        }
        if rest[0] == BINARY {
            return self.fail(Next::Refuse(NO_BINARY));
        }
        let (peer, request) = self.begin();
        let then = match retrieval(line) {
            Some(kind) => self.begin_keys(&request, kind, line, output),
            None => {
                let then = request.line(line, output);
                self.observed = self.shared.observes_gets();
                then
            }
        };
        if !matches!(then, Then::Keys(_)) {
            self.at += end + 1;
        }
        drop(peer);
        match then {
            Then::Done => {}
            Then::Keys(keys) => self.session.state = State::Keys(keys),
            Then::Dump(classes) => self.session.state = State::Dump(Place::default(), classes),
            Then::Watch(watcher) => self.session.state = State::Watch(watcher),
            Then::Swallow(count) => self.session.state = State::Swallow(count),
            Then::End => return Some(Next::End),
            Then::Misled => return self.fail(Next::End),
            Then::Linger => return self.fail(Next::Linger),
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
            return self.fail(Next::Refuse(NO_BINARY));
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
            return self.fail(Next::End);
        };
        self.session.requests += 1;
        self.at += spaces + kind.name.len() + 1;
        self.session.state = State::Keys(Keys { cas: kind.cas, touch: None });
        None
    }
}
