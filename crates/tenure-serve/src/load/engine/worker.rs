//! One thread of the generator.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::Job;
use super::client::{After, Client, Flight, count, lost, open, said};
use super::protocol::Protocol;
use super::schedule::{arm, cpu_ns, timer, timespec};
use super::tally::Tally;
use crate::load::Error;
use crate::load::outcome::ErrorKind;

const BUFFER: usize = 256 << 10;

/// Bytes that end a burst.
const MOST_BURST: usize = 128 << 10;

const EVENTS: usize = 512;

/// How often a thread checks for timeouts.
const TICK_NS: u64 = 100_000_000;

/// The same while a client waits to reconnect.
const RETRY_NS: u64 = 10_000_000;

/// The timer's events; clients have lower numbers.
const TIMER: u64 = u64::MAX;

pub(crate) struct Worker<P: Protocol> {
    protocol: P,
    job: Job,
    epoll: OwnedFd,
    timer: Option<OwnedFd>,
    armed_ns: u64,
    clients: Vec<Client<P>>,
    /// Clients with room for a request, the longest waiting first: open loops only.
    listed: VecDeque<usize>,
    /// Clients without a connection.
    waiting: Vec<usize>,
    tally: Tally,
    burst: Vec<u8>,
    /// Requests asked while measuring.
    asked: u64,
    is_done: bool,
    /// When any connection last received something.
    heard_ns: u64,
    /// Whether connections were lost since then.
    is_failing: bool,
}

impl<P: Protocol> Worker<P> {
    pub(crate) fn new(protocol: P, job: Job) -> Result<Self, Error> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(Error::system)?;
        let timer = match job.schedule {
            None => None,
            Some(_) => Some(timer(&epoll, TIMER).map_err(Error::system)?),
        };
        Ok(Self {
            protocol,
            epoll,
            timer,
            armed_ns: u64::MAX,
            clients: (0..job.clients).map(|_| Client::new(job.depth)).collect(),
            listed: VecDeque::with_capacity(job.clients),
            waiting: Vec::new(),
            tally: Tally::new(P::KINDS.len()),
            burst: Vec::with_capacity(MOST_BURST),
            asked: 0,
            is_done: false,
            heard_ns: 0,
            is_failing: false,
            job,
        })
    }

    /// Reports new answers now and then. Ends early once the receiver is gone.
    pub(crate) fn run(mut self, progress: &Sender<u64>) -> Result<Tally, Error> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut buffer = vec![0; BUFFER];
        let mut next_tick_ns = TICK_NS;
        let mut reported = 0;
        let mut cpu_from_ns = cpu_ns();
        let mut is_measuring = false;
        for index in 0..self.clients.len() {
            let now_ns = self.now_ns();
            self.begin(index, now_ns)?;
        }
        loop {
            let now_ns = self.now_ns();
            if !is_measuring && now_ns >= self.job.from_ns {
                is_measuring = true;
                cpu_from_ns = cpu_ns();
            }
            if now_ns >= self.job.until_ns || self.is_finished(now_ns) {
                break;
            }
            if now_ns >= next_tick_ns {
                self.tick(now_ns)?;
                let answered = self.tally.kinds.iter().map(|kind| kind.latency.len()).sum::<u64>();
                if progress.send(answered - reported).is_err() {
                    break;
                }
                reported = answered;
                next_tick_ns = now_ns + TICK_NS;
            }
            if !self.waiting.is_empty() {
                next_tick_ns = next_tick_ns.min(now_ns + RETRY_NS);
            }
            if self.job.schedule.is_some() {
                self.dispatch(now_ns)?;
            }
            self.wait(&mut events, next_tick_ns)?;
            for event in events.drain(..) {
                let (flags, data) = (event.flags, event.data.u64());
                if data != TIMER {
                    self.on_event(data as usize, flags, &mut buffer)?;
                }
            }
        }
        self.tally.cpu_ns = cpu_ns() - cpu_from_ns;
        self.tally.unanswered += self.unanswered();
        Ok(self.tally)
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.job.base.elapsed().as_nanos() as u64
    }

    fn is_finished(&self, now_ns: u64) -> bool {
        if self.job.is_strict && self.tally.failures() > 0 {
            return true;
        }
        // Without a server, a run of a number of requests has no other end.
        let is_lost = self.is_failing
            && now_ns.saturating_sub(self.heard_ns) > self.job.timeout.as_nanos() as u64;
        if is_lost && self.job.quota.is_some() {
            return true;
        }
        self.is_asked_out()
            && now_ns >= self.job.from_ns
            && self.clients.iter().all(|client| client.flights.is_empty())
    }

    /// Requests sent, or due in an open loop.
    fn unanswered(&self) -> u64 {
        let end_ns = self.now_ns().min(self.job.until_ns);
        let quota = self.job.quota.map_or(u64::MAX, |quota| quota - self.asked.min(quota));
        let due = self.job.schedule.as_ref().map_or(0, |schedule| schedule.due(end_ns).min(quota));
        due + self.clients.iter().map(|client| client.flights.len() as u64).sum::<u64>()
    }

    /// Waits until the next tick, end or due request.
    fn wait(&mut self, events: &mut Vec<Event>, next_tick_ns: u64) -> Result<(), Error> {
        let now_ns = self.now_ns();
        let until_ns = next_tick_ns.min(self.job.until_ns);
        if let (Some(timer), Some(schedule)) = (&self.timer, &self.job.schedule) {
            // With every client busy, nothing can be sent before an answer.
            if !self.listed.is_empty() {
                let due_ns = schedule.next_ns();
                if due_ns != self.armed_ns {
                    // The timer reads 0 as "off".
                    arm(timer, due_ns.saturating_sub(now_ns).max(1)).map_err(Error::system)?;
                    self.armed_ns = due_ns;
                }
            }
        }
        // Up to a millisecond late: fine for ticks and ends.
        let left = timespec(until_ns.saturating_sub(now_ns));
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&left)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system(error)),
        }
    }

    /// Checks clients without events: late ones, and those without a connection.
    fn tick(&mut self, now_ns: u64) -> Result<(), Error> {
        for index in std::mem::take(&mut self.waiting) {
            self.begin(index, now_ns)?;
        }
        let timeout_ns = self.job.timeout.as_nanos() as u64;
        for index in 0..self.clients.len() {
            let client = &self.clients[index];
            let is_late = now_ns.saturating_sub(client.active_ns) > timeout_ns;
            if is_late && !client.flights.is_empty() {
                let said = format!("no answer within {} s", self.job.timeout.as_secs_f64());
                self.go_on(index, After::Lost(ErrorKind::Timeout, said), now_ns)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, index: usize, now_ns: u64) -> Result<(), Error> {
        if self.job.schedule.is_none() {
            return self.fill(index, usize::MAX, now_ns);
        }
        if self.job.close || self.connect(index)? {
            self.list(index);
        }
        Ok(())
    }

    fn list(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if !client.is_listed && client.flights.len() < self.job.depth {
            client.is_listed = true;
            self.listed.push_back(index);
        }
    }

    /// Whether there is a connection, or one under way.
    fn connect(&mut self, index: usize) -> Result<bool, Error> {
        if self.clients[index].socket.is_some() {
            return Ok(true);
        }
        let target = self.job.target;
        let error = match open(&target) {
            Ok(socket) => {
                let connected = self.clients[index].connected(&self.epoll, index, socket);
                connected.map_err(Error::system)?;
                return Ok(true);
            }
            // None will be given back soon.
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                return Err(Error::system(error));
            }
            Err(Errno::ADDRNOTAVAIL) => {
                let said = "no local port is left, as each closed connection keeps one for a while";
                (ErrorKind::Ports, said.to_owned())
            }
            Err(error) => (ErrorKind::Connect, said(error)),
        };
        self.tally.fail(error.0, error.1);
        self.is_failing = true;
        self.waiting.push(index);
        Ok(false)
    }

    fn dispatch(&mut self, now_ns: u64) -> Result<(), Error> {
        loop {
            let Some(schedule) = &self.job.schedule else { return Ok(()) };
            let due = schedule.due(now_ns);
            if due == 0 || self.is_asked_out() {
                return Ok(());
            }
            let Some(index) = self.listed.pop_front() else { return Ok(()) };
            self.clients[index].is_listed = false;
            let share = due.div_ceil(self.listed.len() as u64 + 1);
            self.fill(index, share as usize, now_ns)?;
            if self.clients[index].socket.is_some() && !self.clients[index].is_stuck() {
                self.list(index);
            }
        }
    }

    fn is_asked_out(&self) -> bool {
        self.is_done || self.job.quota.is_some_and(|quota| self.asked >= quota)
    }

    /// Sends as many requests as the client has room for, at most `most`, in one write.
    #[inline]
    fn fill(&mut self, index: usize, most: usize, now_ns: u64) -> Result<(), Error> {
        if self.is_asked_out() || !self.connect(index)? {
            return Ok(());
        }
        let client = &mut self.clients[index];
        let depth = if self.job.close { 1 } else { self.job.depth };
        let room = (depth - client.flights.len().min(depth)).min(most);
        if client.is_stuck() {
            return Ok(());
        }
        if client.flights.is_empty() {
            client.active_ns = now_ns;
        }
        self.burst.clear();
        for _ in 0..room {
            if self.burst.len() >= MOST_BURST
                || self.job.quota.is_some_and(|quota| self.asked >= quota)
            {
                break;
            }
            let Some(ask) = self.protocol.ask(&mut self.burst) else {
                self.is_done = true;
                break;
            };
            let start_ns = match &mut self.job.schedule {
                None => now_ns,
                Some(schedule) => {
                    let due_ns = schedule.next_ns();
                    schedule.advance();
                    due_ns
                }
            };
            self.asked += u64::from(start_ns >= self.job.from_ns);
            client.flights.push_back(Flight { start_ns, ask });
        }
        if self.burst.is_empty() {
            return Ok(());
        }
        if now_ns >= self.job.from_ns {
            self.tally.sent += self.burst.len() as u64;
        }
        match client.send(&self.epoll, index, &self.burst) {
            Ok(()) => Ok(()),
            Err(error) => {
                let lost = lost(client.answered, error);
                self.go_on(index, lost, now_ns)
            }
        }
    }

    fn on_event(
        &mut self,
        index: usize,
        flags: EventFlags,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        if flags.contains(EventFlags::OUT) && !flags.intersects(EventFlags::ERR) {
            let client = &mut self.clients[index];
            if let Err(error) = client.flush(&self.epoll, index) {
                let lost = lost(client.answered, error);
                let now_ns = self.now_ns();
                return self.go_on(index, lost, now_ns);
            }
            if !client.is_stuck() && !flags.contains(EventFlags::IN) {
                let now_ns = self.now_ns();
                return self.go_on(index, After::Go, now_ns);
            }
        }
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return Ok(());
        }
        let Some(socket) = &self.clients[index].socket else { return Ok(()) };
        let received = recv(socket, &mut *buffer, RecvFlags::empty());
        let now_ns = self.now_ns();
        let after = match received {
            Ok((_, 0)) => self.ended(index, now_ns),
            Ok((_, count)) => self.answers(index, &buffer[..count], now_ns),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(error) => lost(self.clients[index].answered, error),
        };
        self.go_on(index, after, now_ns)
    }

    fn go_on(&mut self, index: usize, after: After, now_ns: u64) -> Result<(), Error> {
        match after {
            After::Go => {}
            After::Closed => self.disconnect(index, 0),
            After::Lost(kind, said) => {
                self.disconnect(index, 1);
                self.is_failing = true;
                self.tally.fail(kind, said);
                // Later: a server that refuses must not get a million requests.
                self.waiting.push(index);
                return Ok(());
            }
        }
        self.begin(index, now_ns)
    }

    /// Its requests stay unanswered; the first `failed` of them already count as errors.
    fn disconnect(&mut self, index: usize, failed: usize) {
        let from_ns = self.job.from_ns;
        let flights = self.clients[index].flights.iter().skip(failed);
        let counting = flights.filter(|flight| flight.start_ns >= from_ns);
        self.tally.unanswered += counting.count() as u64;
        self.clients[index].disconnect();
    }

    #[inline]
    fn answers(&mut self, index: usize, mut input: &[u8], now_ns: u64) -> After {
        let client = &mut self.clients[index];
        let tally = &mut self.tally;
        let job = &self.job;
        client.active_ns = now_ns;
        client.answered = true;
        self.heard_ns = now_ns;
        self.is_failing = false;
        if now_ns >= job.from_ns {
            tally.received += input.len() as u64;
        }
        while !input.is_empty() {
            let Some(&Flight { start_ns, ask }) = client.flights.front() else {
                let said = "bytes that no request asked for".to_owned();
                return After::Lost(ErrorKind::Wrong, said);
            };
            let step = self.protocol.scan(&mut client.scan, ask, input);
            input = &input[step.consumed..];
            let Some(answer) = step.answer else { break };
            client.flights.pop_front();
            if let Err(lost) = count(job, tally, P::kind(ask), answer.verdict, start_ns, now_ns) {
                return lost;
            }
            if answer.closes || job.close {
                return After::Closed;
            }
        }
        After::Go
    }

    fn ended(&mut self, index: usize, now_ns: u64) -> After {
        let client = &mut self.clients[index];
        let Some(&Flight { start_ns, ask }) = client.flights.front() else {
            return After::Closed;
        };
        match self.protocol.end(&mut client.scan, ask) {
            Some(answer) => {
                client.flights.pop_front();
                let counted = count(
                    &self.job,
                    &mut self.tally,
                    P::kind(ask),
                    answer.verdict,
                    start_ns,
                    now_ns,
                );
                counted.err().unwrap_or(After::Closed)
            }
            None => {
                let said = "the server ended the connection before its answer did";
                After::Lost(ErrorKind::Closed, said.to_owned())
            }
        }
    }
}
