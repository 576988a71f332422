//! A process while it is watched: samplers, probes, and what is known of its threads.

use std::time::{Duration, Instant};

use nix::sys::resource::UsageWho;
use rustc_hash::{FxHashMap, FxHashSet};
use tenure_debuginfo::Error;
use tenure_model::recording::{self as record, Recording, Thread};
use tenure_model::{Coverage, Ended};

use crate::backend::{Backend, Trouble};
use crate::breakpoints::{self, Exposure, covered};
use crate::callers::{CallStack, Callers};
use crate::check;
use crate::code::InstructionCache;
use crate::cost::Allowance;
use crate::goroutines::Goroutines;
use crate::jit;
use crate::lanes::Life;
use crate::lines::{RecordedLines, WatchedLines};
use crate::sys::machine::ProcessorUsage;
use crate::sys::process::{self, LiveProcess, ProcessorTimes};
use crate::sys::{Registers, Sample, now};
use crate::waits::WaitSampler;
use crate::{Cost, WatchCounts, WatchOptions, WatchOutcome};

/// How often threads are listed.
const LIST_INTERVAL: Duration = Duration::from_millis(200);

/// How often the program is asked whether it has ended.
const ALIVE_INTERVAL: Duration = Duration::from_millis(50);

/// How long threads are asked for what they have run at a time. The others' turn comes later.
const LIST_TIME: Duration = Duration::from_millis(20);

/// The time between two steps, at least and at most.
const MIN_STEP: Duration = Duration::from_millis(5);
const MAX_STEP: Duration = Duration::from_millis(50);

/// How many times a thread is asked for its name: it may name itself once it runs.
const NAME_RETRIES: u8 = 3;

/// The time since a thread was sampled, or began, in which it counts as running.
const RUNS_WITHIN: Duration = Duration::from_secs(1);

/// Nanoseconds that a thread has to run between two lists to count as running.
const MIN_RUN_NS: u64 = 1_000_000;

/// Probes for each one that has breakpoints in a thread that sleeps: they wake it.
const PROBES_PER_SLEEPER: u64 = 4;

/// A process while it is watched: by [`watch`](crate::watch), or itself by [`start`](Self::start).
#[derive(Debug)]
pub struct Session {
    process: LiveProcess,
    backend: Box<dyn Backend>,
    code: InstructionCache,
    callers: Callers,
    goroutines: Goroutines,
    lines: WatchedLines,
    waits: WaitSampler,
    threads: FxHashMap<u32, KnownThread>,
    /// Those that were there when watching began, or when threads were listed last: others have begun since.
    there: FxHashSet<u32>,
    /// When each was known to run last.
    recent: FxHashMap<u32, Instant>,
    start: Instant,
    period: Duration,
    /// What probes cost, and what they may take.
    allowance: Allowance,
    /// Whose processor time watching takes, and how much it was at the start.
    own: (UsageWho, Duration),
    /// Whether the watched program has started a process, by process.
    started: FxHashMap<u32, bool>,
    next_probe: Instant,
    next_list: Instant,
    next_alive: Instant,
    /// Which threads are watched next.
    turn: usize,
    /// Which thread is listed next.
    listed: usize,
    /// Processor time of the process and of the machine since watching began.
    usage: ProcessorUsage,
    counts: WatchCounts,
    line_bytes: u32,
    rate: u64,
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct KnownThread {
    id: u32,
    name: String,
    /// How often it was asked for.
    names: u8,
    /// Nanoseconds that it had run when it was first asked, and that it has; `None` until then.
    ran_ns: Option<[u64; 2]>,
    /// When it was seen first and last, by the clock of samples.
    seen: [u64; 2],
    /// Where its stack was.
    stack: u64,
    /// Where it was sampled last.
    code: Option<u64>,
}

impl KnownThread {
    /// Nanoseconds that it ran since it was first asked.
    fn ran_ns(&self) -> u64 {
        self.ran_ns.map_or(0, |[start, now]| now.saturating_sub(start))
    }
}

impl Session {
    /// Begins to sample a process.
    pub(crate) fn attach(
        process: LiveProcess,
        backend: Box<dyn Backend>,
        options: WatchOptions,
        cost: Cost,
        whose: UsageWho,
    ) -> Result<Self, Error> {
        let now = Instant::now();
        let mut usage = ProcessorUsage::default();
        usage.ask(&process);
        let goroutines = Goroutines::of(&process);
        let callers = Callers::new(process.modules(), options.through);
        let mut session = Self {
            usage,
            process,
            backend,
            code: InstructionCache::default(),
            callers,
            goroutines,
            lines: WatchedLines::new(options.line_bytes.into(), process::cpus().len() == 1),
            waits: WaitSampler::new(now),
            threads: FxHashMap::default(),
            there: FxHashSet::default(),
            recent: FxHashMap::default(),
            start: now,
            period: Duration::from_secs_f64(1.0 / options.probes.max(0.01)),
            allowance: Allowance::new(cost, options.share),
            own: (whose, process::own_time(whose)),
            started: FxHashMap::default(),
            next_probe: now,
            next_list: now,
            next_alive: now,
            turn: 0,
            listed: 0,
            counts: WatchCounts::default(),
            line_bytes: options.line_bytes,
            rate: options.rate.max(1),
        };
        session.sample_all()?;
        session.start = Instant::now();
        Ok(session)
    }

    fn sample_all(&mut self) -> Result<(), Error> {
        let mut known = FxHashSet::default();
        // A thread may begin another one before it is sampled.
        loop {
            let mut new = self.process.threads();
            new.retain(|tid| known.insert(*tid));
            if new.is_empty() {
                break;
            }
            let attached = self.backend.attach(&new);
            attached.map_err(|error| check::refused(self.process.pid, &error))?;
        }
        self.there = known;
        if !self.process.is_alive() {
            return Err(Error::new(format!("process {} has ended", self.process.pid)));
        }
        Ok(())
    }

    /// Probes a line if it is time, waits for up to 50 ms, and takes the samples.
    pub(crate) fn step(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if now >= self.next_list {
            self.list();
            // Of a thousand threads it takes milliseconds.
            self.next_list = now + LIST_INTERVAL.max(now.elapsed() * 50);
        }
        if Instant::now() >= self.waits.next() {
            let threads = &self.threads;
            let last_code = |tid| threads.get(&tid)?.code;
            self.waits.tick(&self.process, &mut self.callers, last_code);
        }
        if Instant::now() >= self.next_probe {
            let patience = self.probe()?;
            self.next_probe = Instant::now() + self.period * patience;
        }
        let next = self.next_probe.min(self.next_list).min(self.waits.next());
        let next = next.saturating_duration_since(Instant::now());
        // Last: it releases threads that stopped late, before the caller takes its time.
        self.drain(next.clamp(MIN_STEP, MAX_STEP))
    }

    fn drain(&mut self, wait: Duration) -> Result<(), Error> {
        let mut samples = Vec::new();
        let collected = self.backend.collect(wait, &mut samples);
        collected.map_err(|error| check::untraced(self.process.pid, &error))?;
        let pid = self.process.pid;
        for sample in samples {
            if sample.pid != pid {
                self.counts.foreign += u64::from(self.has_started(sample.pid));
                continue;
            }
            if Some(sample.tid) == self.process.except {
                continue;
            }
            if sample.is_kernel {
                self.waits.in_kernel(&sample, &self.process, &mut self.callers);
                continue;
            }
            self.counts.samples += 1;
            let mut calls = CallStack::new(sample.ip, &sample);
            self.waits.at_work(&sample, &mut calls, &mut self.callers);
            let callers = &mut self.callers;
            let touch = self.code.touched(&sample, &mut calls, &self.process, callers);
            self.counts.attributed += u64::from(matches!(touch, Ok(Some(_))));
            self.counts.unaddressed += u64::from(touch.is_err());
            let touch = touch.as_ref().map(Option::as_ref).map_err(|lost| *lost);
            if let Some(line) = self.lines.sampled(sample.tid, sample.cpu, touch) {
                let word = |address| self.process.word(address);
                line.goroutine = self.goroutines.running(&sample, &word);
            }
            self.recent.insert(sample.tid, Instant::now());
            self.note(&sample);
        }
        Ok(())
    }

    /// Whether the program has started another process. With clocks of threads only such processes have samples.
    fn has_started(&mut self, other: u32) -> bool {
        let pid = self.process.pid;
        let has_all = self.backend.has_all_processes();
        *self.started.entry(other).or_insert_with(|| !has_all || process::descends(other, pid))
    }

    /// What is known of a thread, which is seen at this time.
    fn known(&mut self, tid: u32, time: u64) -> &mut KnownThread {
        let id = self.threads.len() as u32 + 1;
        let new = || KnownThread { id, seen: [time; 2], ..KnownThread::default() };
        self.threads.entry(tid).or_insert_with(new)
    }

    fn note(&mut self, sample: &Sample) {
        let known = self.known(sample.tid, sample.time);
        known.seen[0] = known.seen[0].min(sample.time);
        known.seen[1] = known.seen[1].max(sample.time);
        known.code = Some(sample.ip);
        if let Some(registers) = sample.registers {
            known.stack = registers.0[Registers::SP];
        }
    }

    /// Asks for the threads' names and times.
    pub(crate) fn list(&mut self) {
        if self.process.read_maps() {
            self.code.clear();
            self.waits.clear();
            self.callers.set(self.process.modules());
        }
        self.usage.ask(&self.process);
        self.waits.list(&self.process);
        self.recent.retain(|_, last| last.elapsed() < RUNS_WITHIN);
        self.lines.prune();
        // Another process may have such a number by now.
        self.started.retain(|_, is_started| *is_started);
        let threads = self.process.threads();
        let first = now();
        for &tid in &threads {
            self.known(tid, first);
        }
        // Those that run first, since they may have names and times that a report needs; then the others in turn.
        let mut asked: Vec<u32> =
            threads.iter().copied().filter(|tid| self.recent.contains_key(tid)).collect();
        let wrapped = |at: usize| threads[(self.listed + at) % threads.len()];
        let runs = asked.len();
        asked.extend((0..threads.len()).map(wrapped).filter(|tid| !self.recent.contains_key(tid)));
        let mut all = Vec::new();
        let end = Instant::now() + LIST_TIME;
        for (at, tid) in asked.into_iter().enumerate() {
            if Instant::now() >= end {
                self.listed = (self.listed + at.saturating_sub(runs)) % threads.len();
                break;
            }
            // It was there before, and is behind this: later it may have ended, and have a successor.
            let time = now();
            let Some(times) = process::scheduled(self.process.pid, tid) else { continue };
            let ran = times.ran_ns;
            all.push((tid, ran));
            let is_old = self.there.contains(&tid);
            self.waits.scheduled(tid, times, is_old);
            let known = self.known(tid, time);
            let has_run = match known.ran_ns {
                Some([_, before]) => ran.saturating_sub(before) > MIN_RUN_NS,
                None => !is_old,
            };
            let start = known.ran_ns.map_or(if is_old { ran } else { 0 }, |[start, _]| start);
            known.ran_ns = Some([start, ran]);
            known.seen[1] = known.seen[1].max(time);
            let has_name = known.names >= NAME_RETRIES;
            known.names += u8::from(!has_name);
            if has_run {
                self.recent.insert(tid, Instant::now());
            }
            // A thread may name itself once it runs; a program's have the name of their parent until then.
            if !has_name {
                let name = process::name(self.process.pid, tid).unwrap_or_default();
                self.known(tid, time).name = name;
            }
        }
        self.there = threads.iter().copied().collect();
        self.backend.list(&threads, &all);
    }

    /// Probes the line that promises most. The next probe may wait so many times as long as at a line that is hardly known.
    fn probe(&mut self) -> Result<u32, Error> {
        let Some(start) = self.lines.next() else { return Ok(1) };
        let ran_ns = self.threads.values().map(KnownThread::ran_ns).sum();
        let cpu_s = self.waits.cpus() * self.start.elapsed().as_secs_f64();
        if self.allowance.is_spent(ran_ns, cpu_s) {
            self.counts.held += 1;
            return Ok(1);
        }
        let before = process::thread_time() + self.backend.own();
        let words = self.lines.words(start, breakpoints::WORDS);
        self.lines.allocated(start, &self.process);
        let Some(line) = self.lines.get_mut(start) else { return Ok(1) };
        let ((sampled, cpu), goroutine) = (line.last, line.goroutine);
        line.arms += 1;
        let (threads, others) = self.threads_to_watch(sampled);
        let seen = self
            .backend
            .probe(&words, &threads)
            .map_err(|error| check::untraced(self.process.pid, &error))?;
        self.counts.probes += 1;
        self.counts.armed += seen.armed as u64;
        self.counts.unarmed += u64::from(seen.exposed.is_empty());
        self.counts.traps += seen.hits.len() as u64;
        let own = (process::thread_time() + self.backend.own()).saturating_sub(before);
        self.allowance.take(seen.armed, seen.hits.len(), own);
        let covered = covered(&seen.exposed, sampled, others, self.line_bytes);
        let (mut met, mut apart) = (false, false);
        // One that has ended left its words to others.
        let is_there = process::ran_ns(self.process.pid, sampled).is_some();
        let running = |hit| self.goroutines.running(hit, &|address| self.process.word(address));
        let ran: Vec<Option<u64>> = seen.hits.iter().map(running).collect();
        let meets = |at: usize, is_else: &dyn Fn(u32) -> bool| {
            let (hit, ran_here) = (&seen.hits[at], ran[at]);
            let is_one = |other: Option<u64>| other.is_some() && other == ran_here;
            let other = |(it, ran): (&Sample, &Option<u64>)| {
                it.tid != hit.tid && is_else(it.cpu) && !is_one(*ran)
            };
            hit.tid != sampled && is_there && is_else(cpu) && !is_one(goroutine)
                || seen.hits.iter().zip(&ran).any(other)
        };
        for (at, hit) in seen.hits.iter().enumerate() {
            let touch = self.code.hit(hit, &self.process, &mut self.callers);
            let Some(touch) = touch else { continue };
            self.lines.hit(hit.tid, &touch);
            met |= meets(at, &|_| true);
            apart |= meets(at, &|cpu| cpu != hit.cpu);
            self.note(hit);
        }
        for Exposure { word, tid, ran_ns } in seen.exposed {
            self.lines.exposed(word, tid, ran_ns);
        }
        if let Some(line) = self.lines.get_mut(start) {
            line.met += u64::from(met);
            line.met_apart += u64::from(apart);
            line.covered += covered;
        }
        Ok(self.lines.patience(start))
    }

    /// The thread that was sampled, and others: those that run, in turn, and now and then one that sleeps. And how many others run.
    fn threads_to_watch(&mut self, sampled: u32) -> (Vec<u32>, usize) {
        let mut runs: Vec<u32> = self
            .recent
            .iter()
            .filter(|(_, last)| last.elapsed() < RUNS_WITHIN)
            .map(|(tid, _)| *tid)
            .collect();
        runs.sort_unstable();
        let mut all = self.process.threads();
        let are_there: FxHashSet<u32> = all.iter().copied().collect();
        runs.retain(|tid| are_there.contains(tid));
        runs.extend(all.iter().filter(|tid| !self.there.contains(tid)));
        runs.retain(|tid| *tid != sampled);
        let do_run: FxHashSet<u32> = runs.iter().copied().collect();
        all.retain(|tid| *tid != sampled && !do_run.contains(tid));
        let wanted = (breakpoints::THREADS - 1).min(runs.len());
        let mut threads = vec![sampled];
        threads.extend((0..wanted).map(|at| runs[(self.turn + at) % runs.len()]));
        self.turn = self.turn.wrapping_add(wanted);
        let sleeps = !all.is_empty() && threads.len() < breakpoints::THREADS;
        if sleeps && self.counts.probes.is_multiple_of(PROBES_PER_SLEEPER) {
            let turn = usize::try_from(self.counts.probes / PROBES_PER_SLEEPER).unwrap_or(0);
            threads.push(all[turn % all.len()]);
        }
        (threads, runs.len())
    }

    /// Whether the program has ended, as it was a moment ago.
    pub(crate) fn is_over(&mut self) -> bool {
        if self.next_alive > Instant::now() {
            return false;
        }
        self.next_alive = Instant::now() + ALIVE_INTERVAL;
        self.is_over_now()
    }

    pub(crate) fn is_over_now(&self) -> bool {
        !self.process.is_alive()
    }

    /// A child's first thread that was waited for as one that is traced.
    pub(crate) fn taken_status(&self) -> Option<Ended> {
        self.backend.taken_status(self.process.pid)
    }

    /// The time since watching began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// What watching did so far.
    #[must_use]
    pub fn counts(&self) -> WatchCounts {
        let Trouble { lost, left_out, kept } = self.backend.trouble();
        WatchCounts { lost, left_out, kept, ..self.counts }
    }

    /// What was watched so far, with what was known of threads a moment ago.
    #[must_use]
    pub fn outcome(&self) -> WatchOutcome {
        self.ended_as(Ended::Running)
    }

    /// Lets all threads go, and asks for the last time what they did.
    pub(crate) fn finish(&mut self) {
        self.usage.ask(&self.process);
        self.backend.release();
        if self.process.is_alive() {
            self.list();
        }
    }

    /// The outcome of a program that has ended so.
    pub(crate) fn ended_as(&self, ended: Ended) -> WatchOutcome {
        let counts = self.counts();
        let seconds = self.start.elapsed();
        let mut threads: Vec<Thread> =
            self.threads.iter().map(|(tid, it)| self.thread(*tid, it)).collect();
        threads.sort_by_key(|thread| thread.id);
        let lives: FxHashMap<u32, (u32, Life)> =
            self.threads.iter().map(|(tid, it)| (*tid, (it.id, self.life(*tid, it)))).collect();
        let nanoseconds = u64::try_from(seconds.as_nanos()).unwrap_or(u64::MAX);
        let is_shared = |line| self.process.is_shared(line);
        let RecordedLines { lines, lanes, excludes } =
            self.lines.recorded(&lives, nanoseconds, &is_shared);
        for lane in lanes {
            let at = usize::try_from(lane.thread).unwrap_or(0).saturating_sub(1);
            if let Some(thread) = threads.get_mut(at) {
                thread.cpu = thread.cpu.max(lane.ran_ns);
                thread.lived = thread.lived.max(lane.last - lane.first);
            }
        }
        for entry in lines.iter().flat_map(|line| &line.entries) {
            let at = usize::try_from(entry.thread).unwrap_or(0).saturating_sub(1);
            if let Some(thread) = threads.get_mut(at) {
                thread.accesses += entry.count;
            }
        }
        let codes = lines.iter().flat_map(|line| &line.entries).map(|entry| entry.code);
        let modules = self.process.modules();
        let is_own = |code: &u64| modules.iter().any(|it| (it.start..it.end).contains(code));
        let compiled: Vec<u64> = codes.filter(|code| !is_own(code)).collect();
        let functions = match compiled.is_empty() {
            true => Vec::new(),
            false => jit::functions(self.process.pid, &compiled),
        };
        let mut process = record::Process {
            pid: self.process.pid,
            program: self.process.program(),
            modules,
            functions,
            threads,
            lines,
            line_bytes: self.line_bytes,
            seconds: seconds.as_secs_f64(),
            ..record::Process::default()
        };
        let ProcessorTimes { user, kernel } = self.usage.own();
        let part = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
        let cpu_seconds = lives.values().map(|(_, life)| life.ran_ns as f64 / 1e9).sum();
        let lived = process.threads.iter().map(|thread| thread.lived as f64 / 1e9).sum();
        let id = |tid| self.threads.get(&tid).map(|known| known.id);
        process.waits = self.waits.waits(&self.usage, lived, id);
        let recording = Recording {
            ended,
            seconds: seconds.as_secs_f64(),
            cpu_seconds,
            processes: vec![process],
        };
        let coverage = Coverage {
            cpu_seconds: user + kernel,
            kernel: part(kernel, user + kernel),
            unaddressed: part(counts.unaddressed as f64, counts.samples as f64),
            excludes,
            shared: self.process.shared(),
        };
        let (whose, own_before) = self.own;
        WatchOutcome {
            recording,
            name: self.name(),
            counts,
            coverage,
            cost: self.allowance.cost,
            own: process::own_time(whose).saturating_sub(own_before) + self.backend.own(),
            is_traced: self.backend.is_traced(),
            started: None,
        }
    }

    /// The program, as a reader calls it. It may have become another one since it was started.
    fn name(&self) -> String {
        let pid = self.process.pid;
        let program = self.process.program().or_else(|| process::name(pid, pid));
        let program = program.unwrap_or_default();
        format!("{} (process {pid})", program.rsplit('/').next().unwrap_or_default())
    }

    /// Nanoseconds that a thread ran while it was watched. One that ended soon was never asked.
    fn ran_ns(&self, tid: u32, known: &KnownThread) -> u64 {
        let sampled = self.lines.samples(tid) * 1_000_000_000 / self.rate;
        known.ran_ns().max(sampled)
    }

    fn life(&self, tid: u32, known: &KnownThread) -> Life {
        let [first, last] = known.seen;
        Life { first, last, ran_ns: self.ran_ns(tid, known) }
    }

    fn thread(&self, tid: u32, known: &KnownThread) -> Thread {
        let cpu = self.ran_ns(tid, known);
        let lived = (known.seen[1] - known.seen[0]).max(1_000_000);
        let stack = self.process.map(known.stack).map_or(0..0, |map| map.start..map.end);
        // Where several have theirs, as Go's, it is memory like any other.
        let is_shared = || {
            let others = self.threads.iter().filter(|(other, it)| {
                // A later thread may have the same stack.
                **other != tid && it.seen[0] <= known.seen[1] && known.seen[0] <= it.seen[1]
            });
            others.into_iter().any(|(_, other)| stack.contains(&other.stack))
        };
        let stack = if is_shared() { 0..0 } else { stack };
        Thread {
            id: known.id,
            name: known.name.clone(),
            lived,
            cpu,
            stack,
            waited: (cpu as f64 * self.lines.waited(tid)) as u64,
            ..Thread::default()
        }
    }
}
