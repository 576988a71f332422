//! A process while it is watched: samplers, looks, and what is known of its threads.

use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tenure_contend::record::{self, Ended, Recording, Thread};
use tenure_types::Error;

use crate::arm;
use crate::check;
use crate::code::Code;
use crate::lines::Lines;
use crate::sys::guard::{self, Guard};
use crate::sys::perf::{Event, Ring};
use crate::sys::process::{self, Process};
use crate::sys::{Registers, Sample};
use crate::{Counts, Request};

/// Pages of a ring: at 100 samples a second it fills in half a minute.
const PAGES: usize = 64;

/// How often threads are listed.
const LISTED: Duration = Duration::from_millis(200);

/// A thread that was sampled within this time is one that runs.
const RECENT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Session {
    process: Process,
    /// One for each CPU.
    rings: Vec<Ring>,
    /// The samplers that write to them.
    clocks: Vec<Event>,
    guard: Option<Guard>,
    code: Code,
    lines: Lines,
    threads: FxHashMap<u32, Known>,
    /// When each was sampled last.
    recent: FxHashMap<u32, Instant>,
    start: Instant,
    period: Duration,
    next_look: Instant,
    next_list: Instant,
    turn: usize,
    pub(crate) counts: Counts,
    line_bytes: u32,
    rate: u64,
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct Known {
    id: u32,
    name: String,
    /// Nanoseconds that it had run when it was first seen, and that it has.
    ran: [u64; 2],
    seen: [Duration; 2],
    /// Where its stack was.
    stack: u64,
}

impl Session {
    /// Begins to sample a process.
    pub(crate) fn start(process: Process, request: &Request) -> Result<Self, Error> {
        let guard = guard::is_needed().then(Guard::default);
        let now = Instant::now();
        let mut session = Self {
            process,
            rings: Vec::new(),
            clocks: Vec::new(),
            guard,
            code: Code::default(),
            lines: Lines::new(request.line_bytes.into()),
            threads: FxHashMap::default(),
            recent: FxHashMap::default(),
            start: now,
            period: Duration::from_secs_f64(1.0 / request.arms.max(0.01)),
            next_look: now,
            next_list: now,
            turn: 0,
            counts: Counts::default(),
            line_bytes: request.line_bytes,
            rate: request.rate.max(1),
        };
        session.sample(request.rate)?;
        Ok(session)
    }

    /// Opens a sampler for each thread and CPU. Threads that begin later inherit them.
    fn sample(&mut self, rate: u64) -> Result<(), Error> {
        let cpus = process::cpus();
        let mut known = FxHashSet::default();
        // A thread may begin another one before it has samplers.
        loop {
            let new: Vec<u32> =
                self.process.threads().into_iter().filter(|tid| known.insert(*tid)).collect();
            if new.is_empty() {
                break;
            }
            for tid in new {
                if let Err(error) = self.sample_thread(tid, &cpus, rate) {
                    match error.raw_os_error() {
                        // It has ended.
                        Some(nix::libc::ESRCH) => {}
                        Some(nix::libc::EMFILE | nix::libc::ENFILE) if !self.clocks.is_empty() => {
                            self.counts.left_out += 1;
                        }
                        _ => return Err(check::refused(self.process.pid, &error)),
                    }
                }
            }
        }
        if self.counts.left_out > 0 {
            // Breakpoints take descriptors too.
            self.clocks.truncate(self.clocks.len().saturating_sub(arm::DESCRIPTORS));
        }
        if self.rings.is_empty() {
            return Err(Error::new(format!("process {} has ended", self.process.pid)));
        }
        Ok(())
    }

    fn sample_thread(&mut self, tid: u32, cpus: &[u32], rate: u64) -> std::io::Result<()> {
        for (at, &cpu) in cpus.iter().enumerate() {
            let clock = Event::clock(tid, cpu, rate)?;
            match self.rings.get(at) {
                Some(ring) => {
                    clock.write_to(ring)?;
                    self.clocks.push(clock);
                }
                None => self.rings.push(Ring::new(clock, PAGES)?),
            }
        }
        Ok(())
    }

    /// Watches for a few milliseconds.
    pub(crate) fn step(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if now >= self.next_list {
            self.list(now);
            self.next_list = now + LISTED;
        }
        let timeout = Timespec::try_from(Duration::from_millis(10)).ok();
        // The rings are read in even steps; only a full one would wake this thread.
        let mut handles: Vec<_> =
            self.rings.iter().map(|ring| PollFd::new(&ring.event, PollFlags::empty())).collect();
        let _ = poll(&mut handles, timeout.as_ref());
        self.drain();
        if let Some(guard) = &mut self.guard {
            guard.tend();
        }
        if Instant::now() >= self.next_look {
            self.look()?;
            self.next_look = Instant::now() + self.period;
        }
        Ok(())
    }

    fn drain(&mut self) {
        let mut samples = Vec::new();
        for ring in &mut self.rings {
            ring.drain(|sample| samples.push(sample));
        }
        let pid = self.process.pid;
        // A child of the process inherits its samplers.
        let all = samples.len();
        samples.retain(|sample| sample.pid == pid);
        self.counts.foreign += (all - samples.len()) as u64;
        for sample in samples {
            self.counts.samples += 1;
            let touch = self.code.touched(&sample, &self.process);
            self.counts.attributed += u64::from(touch.is_some());
            self.lines.sampled(sample.tid, sample.cpu, touch.as_ref());
            self.recent.insert(sample.tid, Instant::now());
            self.note(&sample);
        }
    }

    fn note(&mut self, sample: &Sample) {
        let id = self.threads.len() as u32 + 1;
        let elapsed = self.start.elapsed();
        let known = self.threads.entry(sample.tid).or_insert_with(|| Known {
            id,
            seen: [elapsed; 2],
            ..Known::default()
        });
        if let Some(registers) = sample.registers {
            known.stack = registers.0[Registers::SP];
        }
    }

    /// Asks for the threads' names and times.
    fn list(&mut self, now: Instant) {
        if self.process.read_maps() {
            self.code.clear();
        }
        self.recent.retain(|_, last| last.elapsed() < RECENT);
        self.lines.prune();
        let elapsed = now - self.start;
        for tid in self.process.threads() {
            let Some((name, ran)) = self.process.thread(tid) else { continue };
            let id = self.threads.len() as u32 + 1;
            let known = self.threads.entry(tid).or_insert_with(|| Known {
                id,
                ran: [ran; 2],
                seen: [elapsed; 2],
                ..Known::default()
            });
            known.name = name;
            known.ran[1] = ran;
            known.seen[1] = elapsed;
        }
    }

    /// Looks at the line that promises most.
    fn look(&mut self) -> Result<(), Error> {
        let Some(start) = self.lines.next() else { return Ok(()) };
        let words = self.lines.words(start, arm::WORDS);
        let Some(line) = self.lines.get_mut(start) else { return Ok(()) };
        let (sampled, cpu) = line.last;
        line.arms += 1;
        let threads = self.threads_to_watch(sampled);
        let seen = arm::look(&words, &threads, self.guard.as_mut())
            .map_err(|error| check::untraced(self.process.pid, &error))?;
        self.counts.looks += 1;
        self.counts.unarmed += u64::from(seen.exposed.is_empty());
        self.counts.traps += seen.hits.len() as u64;
        let (mut met, mut apart) = (false, false);
        for hit in &seen.hits {
            let Some(touch) = self.code.hit(hit, &self.process) else { continue };
            self.lines.hit(hit.tid, &touch);
            met |= hit.tid != sampled;
            apart |= hit.tid != sampled && hit.cpu != cpu;
            self.note(hit);
        }
        for (word, tid, nanoseconds) in seen.exposed {
            self.lines.exposed(word, tid, nanoseconds);
        }
        if let Some(line) = self.lines.get_mut(start) {
            line.met += u64::from(met);
            line.met_apart += u64::from(apart);
        }
        Ok(())
    }

    /// The thread that was sampled, and others: those that run, in turn, and if there are few all.
    fn threads_to_watch(&mut self, sampled: u32) -> Vec<u32> {
        let mut runs: Vec<u32> = self
            .recent
            .iter()
            .filter(|(_, last)| last.elapsed() < RECENT)
            .map(|(tid, _)| *tid)
            .collect();
        runs.sort_unstable();
        let sleeps = self.process.threads().into_iter().filter(|tid| !runs.contains(tid));
        let mut others: Vec<u32> = runs.iter().copied().chain(sleeps).collect();
        others.retain(|tid| *tid != sampled);
        let among = runs.len().clamp(arm::THREADS.min(others.len()), others.len());
        let wanted = (arm::THREADS - 1).min(among);
        let first = self.turn;
        self.turn = self.turn.wrapping_add(wanted);
        let others = (0..wanted).map(|at| others[(first + at) % among]);
        std::iter::once(sampled).chain(others).collect()
    }

    pub(crate) fn is_over(&self) -> bool {
        !self.process.is_alive()
    }

    /// A child's first thread that was waited for as one that is traced.
    pub(crate) fn taken_status(&self) -> Option<Ended> {
        use nix::sys::wait::WaitStatus;
        let guard = self.guard.as_ref()?;
        match guard.ended.get(&self.process.pid)? {
            WaitStatus::Exited(_, status) => Some(Ended::Exited(*status)),
            WaitStatus::Signaled(_, signal, _) => Some(Ended::Killed(*signal as i32)),
            _ => None,
        }
    }

    /// The program, as a reader calls it.
    pub(crate) fn name(&self) -> String {
        let pid = self.process.pid;
        let program = self.process.program().or_else(|| Some(self.process.thread(pid)?.0));
        let program = program.unwrap_or_default();
        format!("{} (process {pid})", program.rsplit('/').next().unwrap_or_default())
    }

    /// Lets all threads go.
    pub(crate) fn release(&mut self) {
        self.clocks.clear();
        if let Some(guard) = &mut self.guard {
            guard.finish();
        }
    }

    /// What was recorded.
    pub(crate) fn finish(mut self, ended: Ended) -> (Recording, Counts) {
        self.drain();
        if self.process.is_alive() {
            self.list(Instant::now());
        }
        self.counts.lost = self.rings.iter().map(|ring| ring.lost).sum();
        self.counts.kept = self.guard.as_ref().map_or(0, |guard| guard.kept);
        let seconds = self.start.elapsed();
        let mut threads: Vec<Thread> =
            self.threads.iter().map(|(tid, it)| self.thread(*tid, it)).collect();
        threads.sort_by_key(|thread| thread.id);
        let ran: FxHashMap<u32, (u32, u64)> =
            self.threads.iter().map(|(tid, it)| (*tid, (it.id, self.ran(*tid, it)))).collect();
        let nanoseconds = u64::try_from(seconds.as_nanos()).unwrap_or(u64::MAX);
        let lines = self.lines.recorded(&ran, nanoseconds);
        for entry in lines.iter().flat_map(|line| &line.entries) {
            let at = usize::try_from(entry.thread).unwrap_or(0).saturating_sub(1);
            if let Some(thread) = threads.get_mut(at) {
                thread.accesses += entry.count;
            }
        }
        let modules = self.process.modules();
        let process = record::Process {
            pid: self.process.pid,
            program: self.process.program(),
            modules,
            threads,
            lines,
            line_bytes: self.line_bytes,
            seconds: seconds.as_secs_f64(),
            ..record::Process::default()
        };
        let cpu_seconds = ran.values().map(|(_, ran)| *ran as f64 / 1e9).sum();
        let recording = Recording {
            ended,
            seconds: seconds.as_secs_f64(),
            cpu_seconds,
            processes: vec![process],
        };
        (recording, self.counts)
    }

    /// Nanoseconds that a thread ran while it was watched. One that ended soon was never asked.
    fn ran(&self, tid: u32, known: &Known) -> u64 {
        let sampled = self.lines.samples(tid) * 1_000_000_000 / self.rate;
        known.ran[1].saturating_sub(known.ran[0]).max(sampled)
    }

    fn thread(&self, tid: u32, known: &Known) -> Thread {
        let cpu = self.ran(tid, known);
        let lived = known.seen[1].saturating_sub(known.seen[0]).max(Duration::from_millis(1));
        let stack = self.process.map(known.stack).map_or(0..0, |map| map.start..map.end);
        Thread {
            id: known.id,
            name: known.name.clone(),
            lived: u64::try_from(lived.as_nanos()).unwrap_or(u64::MAX),
            cpu,
            stack,
            waited: (cpu as f64 * self.lines.waited(tid)) as u64,
            ..Thread::default()
        }
    }
}
