//! Watches without perf events: a process of our own samples threads by ptrace, and sets breakpoints in their debug registers.
//!
//! Breakpoints that ptrace has set stay when the tracer is killed, and the next hit ends the program. So the tracer is a
//! child that ends by itself, with nothing left behind, once the descriptor to its parent is closed. It is in a session
//! of its own: what is sent to the parent's terminal does not reach it.
//!
//! It has a copy of the parent's memory, where other threads may have held locks. So it allocates nothing.

use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::wait::waitpid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};

use super::Sample;
use super::child::{self, SharedMemory, now};
use super::tracee::{self, WaitStatus, has_trap_pending, is_lost_trap, of};
use crate::arch::{HITS, WORDS, traced};

/// Threads of a request.
pub(crate) const THREADS: usize = 64;

/// How long a thread may take to stop before others are not kept waiting: it may have no CPU.
const STOP_PATIENCE_NS: u64 = 50_000_000;

/// How often one that took longer is checked.
const STOP_POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// What the tracer is asked for, and what it answers. Both processes have it; whose turn it is says the stream.
#[repr(C)]
struct Exchange {
    threads: [u32; THREADS],
    count: usize,
    words: [u64; WORDS],
    /// 0: no words but a sample of each thread.
    nanoseconds: u64,
    samples: [Sample; WORDS * THREADS],
    taken: usize,
    /// For each thread and word, how long it was watched while the thread ran.
    exposed: [[u64; WORDS]; THREADS],
    /// An error number by thread; 0 of those that were traced.
    errors: [i32; THREADS],
    /// Signals that were kept from threads, in all.
    kept: u64,
}

/// The parent's side.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub(crate) pid: u32,
    stream: UnixStream,
    exchange: SharedMemory<Exchange>,
}

/// What came of a request.
pub(crate) struct TracerReply<'a> {
    pub(crate) samples: &'a [Sample],
    pub(crate) exposed: &'a [[u64; WORDS]],
    pub(crate) errors: &'a [i32],
    pub(crate) kept: u64,
}

impl Tracer {
    pub(crate) fn start() -> io::Result<Self> {
        // SAFETY: it is made of numbers, and of `Option`s of numbers, which are `None` if zero or hold any numbers.
        let exchange = unsafe { SharedMemory::<Exchange>::zeroed() }?;
        let (stream, other) = UnixStream::pair()?;
        let (at, fd) = (exchange.as_ptr(), other.as_fd());
        // SAFETY: `serve` allocates nothing, takes no lock and does not return. The child has the mapping as well, and
        // each process uses it only in its turn.
        let pid = unsafe { child::start(Some(fd.as_raw_fd()), || serve(&mut *at, fd)) }?;
        Ok(Self { pid: pid.as_raw().cast_unsigned(), stream, exchange })
    }

    /// A sample of each of these threads; they should be running.
    pub(crate) fn sample(&mut self, threads: &[u32]) -> io::Result<TracerReply<'_>> {
        self.ask(threads, &[], 0)
    }

    /// Sets breakpoints on these words in these threads for a time.
    pub(crate) fn probe(
        &mut self,
        words: &[u64],
        threads: &[u32],
        nanoseconds: u64,
    ) -> io::Result<TracerReply<'_>> {
        self.ask(threads, words, nanoseconds)
    }

    fn ask(
        &mut self,
        threads: &[u32],
        words: &[u64],
        nanoseconds: u64,
    ) -> io::Result<TracerReply<'_>> {
        let at = self.exchange.as_ptr();
        // SAFETY: it is mapped as long as `self` lives, and the child waits for its turn.
        let exchange = unsafe { &mut *at };
        exchange.count = threads.len().min(THREADS);
        exchange.threads[..exchange.count].copy_from_slice(&threads[..exchange.count]);
        exchange.words = [0; WORDS];
        exchange.words[..words.len()].copy_from_slice(words);
        exchange.nanoseconds = nanoseconds;
        self.stream.write_all(&[0])?;
        self.stream.read_exact(&mut [0])?;
        // SAFETY: as above; the child has given the turn back.
        let exchange = unsafe { &*at };
        Ok(TracerReply {
            samples: &exchange.samples[..exchange.taken],
            exposed: &exchange.exposed[..exchange.count],
            errors: &exchange.errors[..exchange.count],
            kept: exchange.kept,
        })
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // It fails if the child was killed.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = waitpid(of(self.pid), None);
    }
}

/// What the child does, to its end.
fn serve(exchange: &mut Exchange, fd: BorrowedFd<'_>) {
    // SAFETY: these take no addresses but that of a set of signals, which is filled first.
    unsafe {
        libc::setsid();
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
    let mut slots = TracedThreads([TracedThread::default(); THREADS]);
    let mut turn = [0_u8];
    loop {
        while slots.are_used() && !is_readable(fd) {
            slots.finish(exchange, now());
        }
        match rustix::io::read(fd, &mut turn) {
            Ok(1) => {}
            Err(rustix::io::Errno::INTR) => continue,
            _ => break,
        }
        exchange.taken = 0;
        exchange.errors = [0; THREADS];
        exchange.exposed = [[0; WORDS]; THREADS];
        slots.serve(exchange);
        // It fails if the parent has ended, which the next read shows.
        let _ = rustix::io::write(fd, &turn);
    }
    // A thread that sleeps in the kernel stops before it could meet a breakpoint. One that has met one may stop late, and its
    // trap would end it once it is not traced.
    while slots.0.iter().any(|slot| slot.tid != 0 && slot.was_armed) {
        slots.finish(exchange, now() + STOP_PATIENCE_NS);
    }
}

/// A thread that is traced.
#[derive(Debug, Clone, Copy, Default)]
struct TracedThread {
    /// 0 if there is none.
    tid: u32,
    /// Its place in the request; `None` once that is answered. The exchange is the parent's then.
    at: Option<usize>,
    /// Whether it has been asked to stop, to be released.
    is_stopping: bool,
    /// Which breakpoints are on: a bit for each word.
    armed: u8,
    /// Whether there have been any: a trap may be under way.
    was_armed: bool,
    words: [u64; WORDS],
    hits: [u8; WORDS],
    /// Where it met each word last, if that was before the access.
    met_at: [u64; WORDS],
    /// Nanoseconds that it had run when its breakpoints were set.
    ran_ns: u64,
}

struct TracedThreads([TracedThread; THREADS]);

impl TracedThreads {
    fn are_used(&self) -> bool {
        self.0.iter().any(|slot| slot.tid != 0)
    }

    fn serve(&mut self, exchange: &mut Exchange) {
        let is_look = exchange.nanoseconds > 0;
        for at in 0..exchange.count {
            let tid = exchange.threads[at];
            exchange.errors[at] = match self.seize(tid, at) {
                Ok(()) => 0,
                Err(error) => error as i32,
            };
        }
        if is_look {
            self.tend(exchange, now() + exchange.nanoseconds);
            for slot in self.0.iter_mut().filter(|slot| slot.tid != 0) {
                slot.is_stopping = true;
                tracee::interrupt(slot.tid);
            }
        }
        self.finish(exchange, now() + STOP_PATIENCE_NS);
        for slot in &mut self.0 {
            slot.at = None;
        }
    }

    /// Begins to trace a thread, and asks it to stop.
    fn seize(&mut self, tid: u32, at: usize) -> Result<(), Errno> {
        // It has not stopped since it was asked to.
        if self.0.iter().any(|slot| slot.tid == tid) {
            return Err(Errno::EAGAIN);
        }
        let slot = self.0.iter_mut().find(|slot| slot.tid == 0).ok_or(Errno::EAGAIN)?;
        ptrace::seize(of(tid), ptrace::Options::empty())?;
        *slot = TracedThread { tid, at: Some(at), ..TracedThread::default() };
        tracee::interrupt(tid);
        Ok(())
    }

    /// Handles what happens until a time.
    fn tend(&mut self, exchange: &mut Exchange, end: u64) {
        loop {
            for slot in self.0.iter_mut().filter(|slot| slot.tid != 0) {
                slot.tend(exchange);
            }
            if !wait(end) {
                return;
            }
        }
    }

    /// Waits until all threads that were asked to stop have done so, up to a time.
    fn finish(&mut self, exchange: &mut Exchange, end: u64) {
        loop {
            let mut is_idle = true;
            for slot in self.0.iter_mut().filter(|slot| slot.tid != 0) {
                slot.is_stopping = true;
                slot.tend(exchange);
                is_idle &= slot.tid == 0;
            }
            if is_idle || !wait(end) {
                return;
            }
        }
    }
}

impl TracedThread {
    fn tend(&mut self, exchange: &mut Exchange) {
        while self.tid != 0 {
            let signal = match tracee::changed(self.tid) {
                WaitStatus::None => return,
                WaitStatus::Ended(_) | WaitStatus::Gone => {
                    self.tid = 0;
                    return;
                }
                WaitStatus::Signal(libc::SIGTRAP) if is_lost_trap(self.tid) => {
                    self.hit(exchange);
                    0
                }
                WaitStatus::Signal(signal) => signal,
                // The program stays stopped.
                WaitStatus::Stopped if !self.is_stopping => {
                    tracee::listen(self.tid);
                    continue;
                }
                WaitStatus::Stopped | WaitStatus::Asked => 0,
            };
            if self.is_stopping {
                self.stop(exchange, signal);
            } else if self.armed == 0 && self.hits == [0; WORDS] && !self.arm(exchange) {
                tracee::detach(self.tid, signal);
                self.tid = 0;
            } else {
                tracee::go_on(self.tid, signal);
            }
        }
    }

    /// It has stopped, and is released.
    fn stop(&mut self, exchange: &mut Exchange, signal: i32) {
        let is_sample = self.at.is_some() && exchange.nanoseconds == 0;
        if is_sample {
            self.sample(exchange, 0);
        }
        if self.armed != 0 {
            self.watched(exchange);
            self.keep(0);
        }
        // A trap that has come, and has not been handed out, would end the thread.
        if !is_sample && has_trap_pending(self.tid) {
            tracee::go_on(self.tid, signal);
            tracee::interrupt(self.tid);
            return;
        }
        tracee::detach(self.tid, signal);
        self.tid = 0;
    }

    /// Sets its breakpoints. Whether it could.
    fn arm(&mut self, exchange: &mut Exchange) -> bool {
        let Some(at) = self.at else { return false };
        self.ran_ns = ran_ns(self.tid);
        self.words = exchange.words;
        match traced::arm(of(self.tid), &self.words) {
            Ok(armed) => (self.armed, self.was_armed) = (armed, armed != 0),
            Err(error) => exchange.errors[at] = error as i32,
        }
        self.armed != 0
    }

    /// Takes away all its breakpoints but these.
    fn keep(&mut self, armed: u8) {
        let met = (0..WORDS).filter(|which| self.hits[*which] > 0).map(|which| 1 << which).sum();
        // Those that could not be taken away are on, and `stop` tries once more.
        if traced::keep(of(self.tid), &self.words, armed, met).is_ok() {
            self.armed = armed;
        }
    }

    /// It has met breakpoints, unless the reason of its trap was lost.
    fn hit(&mut self, exchange: &mut Exchange) {
        let met = traced::met(of(self.tid), &self.words, self.armed);
        let mut armed = self.armed;
        let stopped = || traced::stopped(of(self.tid)).map_or(0, |stopped| stopped.ip);
        let ip = if traced::TRAPS_BEFORE { stopped() } else { 0 };
        for which in (0..WORDS).filter(|which| met & (1 << which) != 0) {
            self.hits[which] = self.hits[which].saturating_add(1);
            // A store that traps before it is done does so once more. A load exclusive and its store are two places.
            let is_same = traced::TRAPS_BEFORE && self.met_at[which] == ip;
            self.met_at[which] = ip;
            if !is_same {
                self.sample(exchange, self.words[which]);
            }
            if self.hits[which] >= HITS {
                armed &= !(1 << which);
            }
        }
        // Where it comes before the access, a trap that was under way when its breakpoint went has none.
        if met == 0 && self.at.is_some() && !traced::TRAPS_BEFORE {
            exchange.kept += 1;
        }
        if armed != self.armed {
            self.watched(exchange);
        }
        if armed != self.armed || traced::TRAPS_BEFORE {
            self.keep(armed);
        }
    }

    /// Takes down for how long the words have been watched whose breakpoints are on.
    fn watched(&self, exchange: &mut Exchange) {
        let Some(at) = self.at else { return };
        let ran = ran_ns(self.tid).saturating_sub(self.ran_ns);
        for which in (0..WORDS).filter(|which| self.armed & (1 << which) != 0) {
            exchange.exposed[at][which] = ran;
        }
    }

    fn sample(&self, exchange: &mut Exchange, address: u64) {
        let Some(stopped) = traced::stopped(of(self.tid)) else { return };
        if self.at.is_none() {
            return;
        }
        let Some(sample) = exchange.samples.get_mut(exchange.taken) else { return };
        *sample = Sample {
            pid: 0,
            tid: self.tid,
            cpu: cpu(self.tid),
            time: now(),
            is_kernel: address == 0 && stopped.is_call,
            ip: stopped.ip,
            address,
            registers: stopped.registers,
            stack: stack(self.tid, stopped.stack),
        };
        exchange.taken += 1;
    }
}

/// The words from an address on, as far as they can be read.
fn stack(tid: u32, address: u64) -> [u64; Sample::STACK] {
    let mut words = [0_u64; Sample::STACK];
    let length = size_of_val(&words);
    let local = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: length };
    let start =
        usize::try_from(address).map_or(std::ptr::null_mut(), std::ptr::without_provenance_mut);
    let remote = libc::iovec { iov_base: start, iov_len: length };
    // SAFETY: the kernel writes at most `length` bytes to `words`, and checks the other address.
    unsafe {
        libc::process_vm_readv(tid.cast_signed(), &raw const local, 1, &raw const remote, 1, 0)
    };
    words
}

/// Waits a little for a request, or for the end of the stream.
fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut waiting = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll(&mut waiting, Some(&STOP_POLL)).is_ok_and(|ready| ready > 0)
}

/// Waits until a thread stops or ends. Whether it did before a time.
fn wait(end: u64) -> bool {
    let left = end.saturating_sub(now());
    // SAFETY: the set is filled before it is read, and the time is a whole struct.
    let result = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        let time = libc::timespec { tv_sec: 0, tv_nsec: left.min(999_999_999).cast_signed() };
        libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const time)
    };
    left > 0 && (result > 0 || Errno::last() == Errno::EINTR)
}

/// Nanoseconds that a thread has run.
fn ran_ns(tid: u32) -> u64 {
    let mut text = [0; 64];
    let text = read(tid, "schedstat", &mut text);
    text.split(' ').next().and_then(|ran| ran.parse().ok()).unwrap_or(0)
}

/// The CPU that a thread ran on last.
fn cpu(tid: u32) -> u32 {
    /// Its place among the fields after the name.
    const FIELD: usize = 36;
    let mut text = [0; 512];
    let text = read(tid, "stat", &mut text);
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split(' ').nth(FIELD).and_then(|cpu| cpu.parse().ok()).unwrap_or(0)
}

/// The beginning of a thread's file in `/proc`, as far as there is room.
fn read<'a>(tid: u32, file: &str, into: &'a mut [u8]) -> &'a str {
    let mut path = [0; 64];
    // The last byte stays zero.
    let room = path.len() - 1;
    if write!(&mut path[..room], "/proc/{tid}/{file}").is_err() {
        return "";
    }
    let length = CStr::from_bytes_until_nul(&path).ok().and_then(|path| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        rustix::io::read(&file, &mut *into).ok()
    });
    std::str::from_utf8(&into[..length.unwrap_or(0)]).unwrap_or_default()
}
