//! [`Worker`]: one thread's loop over events, and its connections.

use std::fmt;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slab::Slab;

use super::connection::{Connection, Fate, Hands, Phase};
use super::counters::Counters;
use super::poll::{Interest, Poll};
use super::shared::Shared;
use super::socket::{self, NotAccepted};
use crate::buffers::Buffer;
use crate::handler::{Handler, Output};
use crate::process::return_to_system;

/// Connections' tokens have a smaller upper half.
const LISTENER: u64 = u64::MAX;
const INBOX: u64 = u64::MAX - 1;

/// So many events mean more to do than CPUs.
const CROWD: usize = 4;

const ACCEPTS: usize = 64;

/// A longer part of a request keeps its buffer.
const MOST_REST: usize = 2048;

/// Idle buffers that stay in the pool, however few are in use.
const MOST_IDLE_BUFFERS: u64 = 512;

/// The longest wait for events, and so between calls of [`Handler::tick`].
const TICK: Duration = Duration::from_millis(500);

/// The longest wait of unrequested output.
const NEWS: Duration = Duration::from_millis(20);

const LINGER: Duration = Duration::from_secs(2);

pub(super) struct Worker<H: Handler> {
    at: usize,
    shared: Arc<Shared>,
    handler: H,
    poll: Poll,
    listener: Option<OwnedFd>,
    /// No more files: nothing is accepted until then.
    paused: Option<Instant>,
    connections: Slab<Connection<H>>,
    generation: u32,
    /// The buffers of a turn, unless a connection kept them.
    input: Option<Buffer>,
    output: Option<Output<H::Chunk>>,
    now: Instant,
    swept: Instant,
    /// When connections were last asked for news.
    pushed: Instant,
    /// The last look found too many idle buffers.
    idle_buffers: bool,
}

impl<H: Handler> Worker<H> {
    pub(super) fn new(
        at: usize,
        listener: OwnedFd,
        shared: Arc<Shared>,
        handler: H,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        poll.add(&listener, LISTENER, Interest::Accept)?;
        poll.add(&shared.inboxes[at], INBOX, Interest::Read)?;
        let now = Instant::now();
        Ok(Self {
            at,
            shared,
            handler,
            poll,
            listener: Some(listener),
            paused: None,
            connections: Slab::new(),
            generation: 0,
            input: None,
            output: None,
            now,
            swept: now,
            pushed: now,
            idle_buffers: false,
        })
    }

    fn counters(&self) -> &Counters {
        &self.shared.counters[self.at]
    }

    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut deadline = None;
        loop {
            let events = self.poll.wait(self.patience())?;
            self.now = Instant::now();
            self.handler.tick(self.now);
            for at in 0..events {
                match self.poll.token(at) {
                    LISTENER => self.accept(),
                    INBOX => self.adopt_arrivals(),
                    token => self.event(token),
                }
            }
            if events >= CROWD {
                // Clients on this machine get the CPU now, not when the time slice ends. On two CPUs, with two threads
                // of each, the slowest 1 % of requests took 6 ms without this, 1 to 4 ms with it.
                std::thread::yield_now();
            }
            self.push_news();
            self.sweep();
            if self.shared.is_stopping() {
                let deadline =
                    *deadline.get_or_insert_with(|| self.now + self.shared.settings.grace);
                self.listener = None;
                self.adopt_arrivals();
                let past = self.now >= deadline;
                self.close_where("the server ends", |handler, connection| {
                    past || connection.is_idle() && handler.is_idle(&connection.session)
                });
                // Another worker may be handing over a connection that it accepted before it knew of the stop.
                if self.connections.is_empty() && self.shared.inboxes[self.at].close() {
                    return Ok(());
                }
            }
        }
    }

    /// Late connections and news have to be noticed in time.
    fn patience(&self) -> Duration {
        let settings = &self.shared.settings;
        let until = settings.idle.map_or(settings.grace, |idle| idle.min(settings.grace)) / 16;
        let most = if self.handler.pushes() { NEWS } else { TICK };
        until.clamp(Duration::from_millis(1), most)
    }

    /// Gives a turn to connections with unrequested output.
    fn push_news(&mut self) {
        if !self.handler.pushes() || self.now - self.pushed < NEWS {
            return;
        }
        self.pushed = self.now;
        let has_news = |one: &Connection<H>| self.handler.has_news(&one.session);
        let keys = self.connections.iter().filter(|(_, one)| has_news(one)).map(|(key, _)| key);
        keys.collect::<Vec<_>>().into_iter().for_each(|key| self.turn(key));
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS {
            let Some(listener) = &self.listener else { return };
            match socket::accept(listener) {
                Ok((socket, from)) => {
                    self.counters().accepted.count(1);
                    let open: u64 = self.shared.counters.iter().map(|of| of.open.get()).sum();
                    if open >= self.shared.settings.connections as u64 {
                        self.counters().refused.count(1);
                        self.log(format_args!("{from}: refused: {open} connections are open"));
                        continue;
                    }
                    self.place(socket, from);
                }
                Err(NotAccepted::Gone) => {}
                Err(NotAccepted::NoneWaits) => return,
                Err(NotAccepted::Exhausted) => return self.pause(),
            }
        }
    }

    /// Keeps a new connection, or hands it to the worker that has the fewest.
    fn place(&mut self, socket: OwnedFd, from: IpAddr) {
        let counters = &self.shared.counters;
        let open = |at: usize| counters[at].open.get();
        let fewest = (0..counters.len()).min_by_key(|&at| open(at)).unwrap_or(self.at);
        let keeps = !self.shared.settings.spread || open(self.at) <= open(fewest);
        let owner = if keeps { self.at } else { fewest };
        counters[owner].open.fetch_add(1);
        if owner == self.at {
            self.adopt(socket, from);
        } else {
            match self.shared.inboxes[owner].push((socket, from)) {
                Ok(()) => self.counters().handed_over.count(1),
                Err((socket, from)) => {
                    counters[owner].open.sub(1);
                    counters[self.at].open.fetch_add(1);
                    self.adopt(socket, from);
                }
            }
        }
    }

    /// Accepts nothing for a while, instead of failing again and again.
    fn pause(&mut self) {
        self.counters().exhausted.count(1);
        if let Some(listener) = &self.listener
            && self.poll.remove(listener).is_ok()
        {
            self.counters().paused.count(1);
            self.log(format_args!("no more files: accepts no connection for a while"));
            self.paused = Some(self.now + TICK);
        }
    }

    fn log(&self, line: fmt::Arguments<'_>) {
        if self.shared.settings.verbose {
            log(line);
        }
    }

    fn adopt_arrivals(&mut self) {
        for (socket, from) in self.shared.inboxes[self.at].take() {
            self.adopt(socket, from);
        }
    }

    /// Takes a connection, which counts as open already, and gives it its first turn.
    fn adopt(&mut self, socket: OwnedFd, from: IpAddr) {
        let Some(session) = self.handler.open(from) else {
            self.counters().refused.count(1);
            self.counters().open.sub(1);
            self.log(format_args!("{from}: refused: the address has too many connections"));
            return;
        };
        self.log(format_args!("{from}: connection {} begins", socket.as_raw_fd()));
        self.generation = self.generation.wrapping_add(1) % (u32::MAX - 1);
        let connection = Connection {
            socket,
            session,
            rest: Vec::new(),
            input: None,
            output: None,
            phase: Phase::Open,
            interest: None,
            stalls: false,
            refused: None,
            active: self.now,
            generation: self.generation,
        };
        let key = self.connections.insert(connection);
        // The first request is often there already: a short connection never meets epoll.
        self.turn(key);
    }

    fn event(&mut self, token: u64) {
        let (key, generation) = (token as u32 as usize, (token >> 32) as u32);
        // An earlier event of this round may have closed it.
        if self.connections.get(key).is_some_and(|one| one.generation == generation) {
            self.turn(key);
        }
    }

    fn turn(&mut self, key: usize) {
        let counters = &self.shared.counters[self.at];
        let connection = &mut self.connections[key];
        let hands = if H::KEEPS_BUFFERS {
            own_buffers(connection, self.at, &self.shared)
        } else {
            buffers(connection, &mut self.input, &mut self.output, &self.shared)
        };
        let Some((mut input, mut output)) = hands else {
            counters.without_buffer.count(1);
            return self.close(key, "no buffer");
        };
        let before = (counters.read.get(), counters.written.get());
        // What a lingering client sends is dropped, and gains it no time.
        let lingered = connection.phase == Phase::Lingering;
        let mut hands = Hands { input: &mut input, output: &mut output };
        let fate = connection.turn(&mut self.handler, &mut hands, counters);
        if !lingered && before != (counters.read.get(), counters.written.get()) {
            connection.active = self.now;
        }
        // The connection keeps buffers with bytes. Others serve the next turn, or go back to the pool.
        if H::KEEPS_BUFFERS {
            if !input.is_empty() || !output.is_empty() {
                (connection.input, connection.output) = (Some(input), Some(output));
            }
        } else {
            if input.is_empty() || connection.keep_rest(&input) {
                input.clear();
                self.input = Some(input);
            } else {
                connection.input = Some(input);
            }
            if output.is_empty() {
                self.output = Some(output);
            } else {
                connection.output = Some(output);
            }
        }
        match fate {
            Fate::Waits(interest) => self.wait(key, interest),
            Fate::Over => {
                let refused = connection.refused.inspect(|why| self.shared.log_refusal(why));
                self.close(key, refused.unwrap_or("all is said"));
            }
            Fate::Broken => {
                counters.broken.count(1);
                self.close(key, "it is broken");
            }
        }
    }

    fn wait(&mut self, key: usize, interest: Interest) {
        let connection = &mut self.connections[key];
        let token = u64::from(connection.generation) << 32 | key as u64;
        // A connection that gave way also waits for room, with nothing to write.
        let stalls = connection.output.as_ref().is_some_and(|output| !output.is_empty());
        if stalls && !connection.stalls {
            self.shared.counters[self.at].stalled.count(1);
        }
        connection.stalls = stalls;
        let registered = match connection.interest {
            Some(before) if before == interest => Ok(()),
            Some(_) => self.poll.change(&connection.socket, token, interest),
            None => self.poll.add(&connection.socket, token, interest),
        };
        connection.interest = Some(interest);
        if registered.is_err() {
            // There is no memory for it.
            self.counters().exhausted.count(1);
            self.close(key, "epoll has no memory");
        }
    }

    fn close(&mut self, key: usize, why: &str) {
        let Connection { session, socket, .. } = self.connections.remove(key);
        self.log(format_args!("connection {} ends: {why}", socket.as_raw_fd()));
        self.handler.close(session);
        self.counters().open.sub(1);
    }

    fn close_where(&mut self, why: &str, over: impl Fn(&H, &Connection<H>) -> bool) -> u64 {
        let handler = &self.handler;
        let over = self.connections.iter().filter(|(_, one)| over(handler, one));
        let keys: Vec<usize> = over.map(|(key, _)| key).collect();
        keys.iter().for_each(|&key| self.close(key, why));
        keys.len() as u64
    }

    /// Closes connections on which nothing moved, and accepts again after a pause.
    fn sweep(&mut self) {
        if self.paused.is_some_and(|until| self.now >= until) {
            self.paused = None;
            self.counters().paused.sub(1);
            if let Some(listener) = &self.listener {
                // If epoll still has no memory, pauses again.
                if self.poll.add(listener, LISTENER, Interest::Accept).is_err() {
                    self.counters().paused.count(1);
                    self.paused = Some(self.now + TICK);
                }
            }
        }
        let idle = self.shared.settings.idle;
        // Looks at all: 50 ns for each of ten thousand are a thousandth of the time.
        let often = idle.unwrap_or(LINGER) / 16;
        if self.now - self.swept < often.clamp(Duration::from_millis(1), TICK) {
            return;
        }
        self.swept = self.now;
        if self.at == 0 {
            self.give_back();
        }
        let now = self.now;
        let closed = self.close_where("nothing moves", |_, connection| {
            let allowed = if connection.phase == Phase::Lingering { Some(LINGER) } else { idle };
            allowed.is_some_and(|allowed| now - connection.active >= allowed)
        });
        self.counters().timed_out.count(closed);
    }

    /// Frees the memory of a burst that was idle for two looks.
    fn give_back(&mut self) {
        let counts = self.shared.buffers.statistics().total;
        let was_idle = std::mem::replace(
            &mut self.idle_buffers,
            counts.idle > counts.in_use.max(MOST_IDLE_BUFFERS),
        );
        if was_idle && self.idle_buffers {
            self.shared.buffers.trim();
            return_to_system();
            self.idle_buffers = false;
        }
    }
}

impl<H: Handler> Drop for Worker<H> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.adopt_arrivals();
            self.close_where("the worker ends", |_, _| true);
        }
    }
}

/// Standard error may be closed.
fn log(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl Shared {
    /// A verbose server logs each end anyway.
    fn log_refusal(&self, why: &str) {
        if !self.settings.verbose && self.refused.fetch_add(1) == 0 {
            log(format_args!("warning: a connection was closed: {why} (-v logs each)"));
        }
    }
}

impl<H: Handler> Connection<H> {
    /// Whether no half request and no answer waits.
    fn is_idle(&self) -> bool {
        let waits = !self.rest.is_empty()
            || self.input.as_ref().is_some_and(|input| !input.is_empty())
            || self.output.as_ref().is_some_and(|output| !output.is_empty());
        !waits && matches!(self.phase, Phase::Open | Phase::Lingering)
    }

    /// Keeps a copy if `input` is short and there is memory.
    fn keep_rest(&mut self, input: &[u8]) -> bool {
        let keeps = input.len() <= MOST_REST && self.rest.try_reserve_exact(input.len()).is_ok();
        if keeps {
            self.rest.extend_from_slice(input);
        }
        keeps
    }
}

/// The connection's own buffers, or a new pair. `None` if the pool has none.
fn own_buffers<H: Handler>(
    connection: &mut Connection<H>,
    worker: usize,
    shared: &Shared,
) -> Option<(Buffer, Output<H::Chunk>)> {
    if let (Some(receive), Some(send)) = (connection.input.take(), connection.output.take()) {
        return Some((receive, send));
    }
    let began = shared.settings.time_acquires.then(Instant::now);
    let pair = shared.buffers.acquire_pair();
    if let Some(began) = began {
        let nanoseconds = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        shared.acquires[worker].lock().saturating_record(nanoseconds);
    }
    let (send, receive) = pair.ok()?;
    Some((receive, Output::new(send)))
}

/// The connection's own buffers, the worker's, or new ones. `None` if the pool has none.
fn buffers<H: Handler>(
    connection: &mut Connection<H>,
    input: &mut Option<Buffer>,
    output: &mut Option<Output<H::Chunk>>,
    shared: &Shared,
) -> Option<(Buffer, Output<H::Chunk>)> {
    let receive = connection.input.take().or_else(|| input.take());
    let send = connection.output.take().or_else(|| output.take());
    let mut receive = receive.or_else(|| shared.buffers.acquire().ok())?;
    let send = send.or_else(|| shared.buffers.acquire().ok().map(Output::new))?;
    if !connection.rest.is_empty() {
        // The buffer is empty, and longer than any rest.
        receive.append(&std::mem::take(&mut connection.rest));
    }
    Some((receive, send))
}
