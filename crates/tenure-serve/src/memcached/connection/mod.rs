//! A connection's state, and the handler.
//!
//! ```text
//!             ┌───────── line ─────────┐
//!             ▼                        │
//!  ┌─────── Command ──────┬────────────┴───────┐
//!  │ get k k k...         │ set, ms ...        │ refused set, bad key in a retrieval
//!  ▼                      ▼                    ▼
//! Keys ── key by key    Data ── into a draft  Swallow, Rest ── dropped
//!  │ end of line          │ complete: stored   │
//!  └──────────────────────┴────────────────────┴──▶ Command
//! ```
//!
//! `Dump` lists items, some at a time; `Watch` sends log lines until the connection ends. Where passwords are required,
//! a connection begins in `Login`, and only a password leads from there to `Command`.
//!
//! A line is parsed once its end has arrived; only a retrieval longer than the limit has its keys looked up before.
//! Data goes from the input into the new item as it arrives, so the input needs room for a line only.

mod login;
mod retrieval;

use std::net::IpAddr;
use std::time::Instant;

use memchr::memchr;
use tenure::count::RefCount;
use tenure::registry::RegistryCount;
use tenure::sync::Arc;

use super::Shared;
use super::answer::{Answer, BAD_LINE};
use super::classes::Classes;
use super::clock::Seconds;
use super::counters::{Counter, Worker};
use super::item::{Chunk, END};
use super::peer::{Known, Limits, PeerRef};
use super::request::{Keys, Pending, Request, Then};
use super::store::{Place, Visit};
use super::watch::Watcher;
use crate::handler::{Handler, Next, Output, Progress};
use retrieval::{Retrieval, retrieval};

/// Requests of a connection before they are added to its peer's.
const BATCH: u64 = 1024;

/// Leading spaces of a retrieval longer than a line.
const MOST_SPACES: usize = 100;

/// The first byte of memcached's binary protocol. No text command begins with it.
const BINARY: u8 = 0x80;

const NO_BINARY: &str = "the client speaks memcached's binary protocol, which this server does not; set it to the text protocol";

/// A connection.
pub struct Session<C: RefCount + 'static, P: RegistryCount> {
    peer: PeerRef<P>,
    known: Arc<Known>,
    state: State<C>,
    requests: u64,
    /// It ends for an error of the client.
    failed: bool,
}

enum State<C: RefCount + 'static> {
    Command,
    Keys(Keys),
    Data(Box<Pending<C>>),
    Swallow(usize),
    Rest,
    /// Lists items of these classes from there on.
    Dump(Place, Classes),
    Watch(Arc<Watcher>),
    Login,
    /// Bytes still to come.
    Password(usize),
}

/// The memcached protocol, on one thread.
pub struct Memcached<C: RefCount + 'static, P: RegistryCount> {
    shared: Arc<Shared<C, P>>,
    worker: Arc<Worker>,
    now: Seconds,
    /// When it last looked for expired items.
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
            // Again: that visit may have kept entries back until its end.
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
        self.shared.store.watchers.want(u32::MAX)
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
        let state =
            if self.shared.config.passwords.is_none() { State::Command } else { State::Login };
        let (peer, known) = (peer?, self.shared.connections.join(from, self.now));
        self.shared.store.watchers.log_connection(from, known.number, None);
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
        let last = session.requests.saturating_add(self.shared.config.requests_per_turn);
        let mut run =
            Run { shared: &self.shared, visit: &visit, session, input, at: 0, observed, last };
        let next = run.all(output);
        let consumed = run.at;
        if session.requests >= BATCH {
            session.count_requests();
        }
        Progress { consumed, next }
    }

    fn close(&mut self, mut session: Session<C, P>) {
        session.count_requests();
        session.peer.leave();
        let (watchers, known) = (&self.shared.store.watchers, &session.known);
        if let State::Watch(watcher) = &session.state {
            watchers.leave(watcher);
        }
        self.shared.connections.leave(known);
        let reason = if session.failed { "error" } else { "normal" };
        watchers.log_connection(known.from, known.number, Some(reason));
    }

    fn tick(&mut self, now: Instant) {
        let seconds = self.shared.clock.seconds(now);
        if self.now != seconds {
            self.now = seconds;
            self.visit().keep_house();
        }
        // An item takes 100 ns: a hundredth of the time, and no call delays a client noticeably.
        let items = now.saturating_duration_since(self.crawled).as_micros() / 10;
        if items >= 128 {
            self.crawled = now;
            self.visit().crawl(items.min(1 << 16) as usize);
        }
    }
}

impl<C: RefCount + 'static, P: RegistryCount> Session<C, P> {
    fn count_requests(&mut self) {
        self.peer.add_requests(std::mem::take(&mut self.requests));
    }
}

struct Run<'a, C: RefCount + 'static, P: RegistryCount> {
    shared: &'a Shared<C, P>,
    visit: &'a Visit<'a, C>,
    session: &'a mut Session<C, P>,
    input: &'a [u8],
    at: usize,
    observed: bool,
    /// The session's last request before others have their turn.
    last: u64,
}

impl<'a, C: RefCount + 'static, P: RegistryCount> Run<'a, C, P> {
    fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    /// Begins a request, which holds a reference to the peer.
    #[inline]
    fn begin(&mut self) -> (PeerRef<P>, Request<'a, C, P>) {
        let peer = self.session.peer.clone();
        let limits = peer.limits;
        self.session.requests += 1;
        (peer, self.request(limits))
    }

    #[inline]
    fn request(&self, limits: Limits) -> Request<'a, C, P> {
        let connection = self.session.known.number;
        Request { shared: self.shared, visit: self.visit, limits, connection }
    }

    /// Goes on until something is missing.
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
                State::Rest => self.drop_rest(),
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

    #[cold]
    fn news(&mut self, output: &mut Answer<C>) -> Next {
        self.at = self.input.len();
        if let State::Watch(watcher) = &self.session.state {
            output.write(&watcher.take());
        }
        Next::Input
    }

    fn fail(&mut self, next: Next) -> Option<Next> {
        self.session.failed = true;
        Some(next)
    }

    fn swallow(&mut self, count: usize) -> Option<Next> {
        let thrown = count.min(self.rest().len());
        self.at += thrown;
        self.session.state =
            if thrown == count { State::Command } else { State::Swallow(count - thrown) };
        None
    }

    fn dump(&mut self, from: Place, classes: Classes, output: &mut Answer<C>) -> Option<Next> {
        let request = self.request(self.session.peer.limits);
        let next = self.visit.walk(from, |item| {
            if classes.has(item.class) {
                request.dump_item(item, output);
            }
        });
        self.session.state = next.map_or(State::Command, |next| State::Dump(next, classes));
        if next.is_none() {
            output.write(END);
        }
        None
    }

    fn drop_rest(&mut self) -> Option<Next> {
        match memchr(b'\n', self.rest()) {
            Some(end) => {
                self.at += end + 1;
                self.session.state = State::Command;
            }
            None => self.at = self.input.len(),
        }
        None
    }

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
        let request = self.request(self.session.peer.limits);
        request.complete(pending, output);
    }

    #[inline]
    fn command(&mut self, output: &mut Answer<C>) -> Option<Next> {
        let rest = self.rest();
        let Some(end) = memchr(b'\n', rest) else {
            return self.long_line();
        };
        let line = match &rest[..end] {
            // As in memcached, a lone return is a line of one character.
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

    #[cold]
    fn long_line(&mut self) -> Option<Next> {
        let rest = self.rest();
        if rest[0] == BINARY {
            return self.fail(Next::Refuse(NO_BINARY));
        }
        if rest.len() <= self.session.peer.limits.line {
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
