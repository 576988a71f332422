//! What threads wait for: several times a second all of them are asked.
//!
//! `/proc` says for each thread whether it runs and, if it sleeps, in which system call with which arguments. A CPU that is
//! idle meanwhile is idle for a reason: threads sleep until a lock is given back, another thread goes on, input is there, or
//! some time is over; or no other thread exists. Nothing is stopped for that.

mod calls;
mod places;
mod sleep;
mod stack;

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tenure_model::TimeCause;
use tenure_model::recording::{WaitReason, Waits};

use crate::callers::{CallStack, Callers};
use crate::sys::Sample;
use crate::sys::machine::{self, ProcessorUsage};
use crate::sys::process::{self, LiveProcess, Scheduled};
use calls::KernelCalls;
use places::WorkPlaces;
use sleep::Sleep;

/// The time between two ticks.
const TICK: Duration = Duration::from_millis(50);

/// How long threads are asked at a time. The others' turn comes later.
const TICK_TIME: Duration = Duration::from_millis(5);

/// A thread that has run for less than this part of what the busiest has is none that would use an idle CPU: it keeps house, or
/// waits for the others.
const WORKER: f64 = 0.02;

/// One that is woken so often a second does. A pool's threads that have nothing to do sleep on, and probes wake them less often.
const WORKER_TURNS: f64 = 200.0;

/// Which threads work is known once one has run for so many nanoseconds: what it takes to start a program is no reason of its own.
const KNOWN_NS: f64 = 20e6;

/// The first ticks wait for that at most this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// A tick takes a CPU itself, so that a thread which ran a moment ago waits for one. The reasons of a tick at which no CPU seems
/// to be left count this little.
const LEAST_IDLE: f64 = 0.1;

/// Threads, and places at which they sleep, that are remembered at most.
const MAX_KNOWN: usize = 4096;

/// What was seen of waits so far.
#[derive(Debug)]
pub(crate) struct WaitSampler {
    start: Instant,
    next: Instant,
    ticks: u64,
    /// CPUs that the process may use.
    cpus: f64,
    reasons: FxHashMap<ReasonKey, ReasonSum>,
    threads: FxHashMap<u32, AskedThread>,
    /// What sleeping threads wait for, by what `/proc` said of each last.
    known: FxHashMap<u32, (String, Sleep)>,
    calls: KernelCalls,
    places: WorkPlaces,
    /// Which thread is asked first.
    turn: usize,
}

type ReasonKey = (TimeCause, String, Option<u64>, Option<u64>);

/// A thread's times when it was asked first and last.
#[derive(Debug, Clone, Copy)]
struct AskedThread {
    since: Instant,
    until: Instant,
    first: Scheduled,
    last: Scheduled,
    /// Ticks at which it slept, and those at which it did so in a lock.
    asleep: u64,
    in_lock: u64,
    /// The part of its turns that ended as it slept.
    slept_part: f64,
}

impl AskedThread {
    fn ran(&self) -> f64 {
        self.last.ran_ns.saturating_sub(self.first.ran_ns) as f64
    }

    fn queued_s(&self) -> f64 {
        self.last.queued_ns.saturating_sub(self.first.queued_ns) as f64 / 1e9
    }

    fn turns(&self) -> f64 {
        self.last.turns.saturating_sub(self.first.turns) as f64
    }

    fn lived_s(&self) -> f64 {
        (self.until - self.since).as_secs_f64()
    }

    /// Seconds that it would have run if it had never waited for a CPU, and had slept as long for each second that it ran. One that
    /// was woken for a lock waits for that while it has no CPU: others take the lock meanwhile.
    fn wanted_s(&self) -> f64 {
        let (ran_s, lived_s) = (self.ran() / 1e9, self.lived_s());
        let queued_s = self.queued_s() * (1.0 - self.woken_for_lock());
        lived_s * (ran_s / (lived_s - queued_s).max(ran_s).max(1e-9))
    }

    /// The part of the time in which it had no CPU that came after it was woken for a lock.
    fn woken_for_lock(&self) -> f64 {
        self.slept_part * self.in_lock as f64 / self.asleep.max(1) as f64
    }

    /// The part of the time in which it could run that it would have used, rather than sleep in a lock.
    fn runs(&self) -> f64 {
        let (ran_s, queued_s) = (self.ran() / 1e9, self.queued_s());
        1.0 - self.woken_for_lock() * queued_s / (ran_s + queued_s).max(1e-9)
    }

    /// Whether it would use an idle CPU, beside a thread that has run for so many nanoseconds.
    fn works(&self, most: f64) -> bool {
        self.ran() >= WORKER * most || self.turns() >= WORKER_TURNS * self.lived_s().max(1.0)
    }
}

#[derive(Debug, Default)]
struct ReasonSum {
    /// CPUs that were idle for it.
    cpus: f64,
    holders: FxHashMap<u32, HeldLock>,
}

/// How often a thread held the lock, and where it was when it did so last.
#[derive(Debug, Default)]
struct HeldLock {
    times: u64,
    code: Option<u64>,
}

/// What one tick showed of the threads.
#[derive(Debug, Default)]
struct Tick {
    /// Threads that have a CPU or wait for one, and those of them that would use one.
    running: f64,
    busy: f64,
    asleep: Vec<Sleep>,
}

impl WaitSampler {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            start: now,
            next: now,
            ticks: 0,
            cpus: 1.0,
            reasons: FxHashMap::default(),
            threads: FxHashMap::default(),
            known: FxHashMap::default(),
            calls: KernelCalls::default(),
            places: WorkPlaces::default(),
            turn: 0,
        }
    }

    /// When threads are asked next.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Forgets what the program's code was.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.calls.clear();
    }

    /// Asks how many CPUs the process may use, and how often some of the threads that sleep in locks were preempted.
    pub(crate) fn list(&mut self, process: &LiveProcess) {
        const THREADS: usize = 64;
        let in_locks = self.threads.iter_mut().filter(|(_, thread)| thread.in_lock > 0);
        for (tid, thread) in in_locks.take(THREADS) {
            thread.slept_part = process::slept_part(process.pid, *tid).unwrap_or(thread.slept_part);
        }
        self.cpus = machine::cpus_of(process.pid).unwrap_or(self.cpus);
    }

    /// The CPUs that the process may use, as far as it is known.
    pub(crate) fn cpus(&self) -> f64 {
        self.cpus
    }

    /// Notes the times of a thread. What an old one did before it was watched does not count.
    pub(crate) fn scheduled(&mut self, tid: u32, last: Scheduled, is_old: bool) {
        let (since, until) = (Instant::now(), Instant::now());
        let first = if is_old { last } else { Scheduled::default() };
        let (asleep, in_lock, slept_part) = (0, 0, 0.0);
        let new = AskedThread { since, until, first, last, asleep, in_lock, slept_part };
        let thread = self.threads.entry(tid).or_insert(new);
        (thread.until, thread.last) = (until, last);
    }

    /// Notes what a thread has the kernel do.
    pub(crate) fn in_kernel(
        &mut self,
        sample: &Sample,
        process: &LiveProcess,
        callers: &mut Callers,
    ) {
        self.calls.sampled(sample, process, callers);
    }

    /// Notes where a thread runs the program's code.
    pub(crate) fn at_work(
        &mut self,
        sample: &Sample,
        calls: &mut CallStack<'_>,
        callers: &mut Callers,
    ) {
        self.places.sampled(sample.ip, calls, callers);
    }

    /// Asks the threads. `last_code` says where a thread was sampled last.
    pub(crate) fn tick(
        &mut self,
        process: &LiveProcess,
        callers: &mut Callers,
        last_code: impl Fn(u32) -> Option<u64>,
    ) {
        let now = Instant::now();
        self.next = now + TICK;
        let threads = process.threads();
        let most = self.threads.values().map(AskedThread::ran).fold(0.0, f64::max);
        if threads.is_empty() || most < KNOWN_NS && self.start.elapsed() < PATIENCE {
            return;
        }
        let mut tick = Tick::default();
        let mut asked = 0;
        let mut holders = FxHashMap::default();
        for at in 0..threads.len() {
            if now.elapsed() >= TICK_TIME {
                break;
            }
            let tid = threads[(self.turn + at) % threads.len()];
            asked += 1;
            let call = process::system_call(process.pid, tid);
            let is_running = match &call {
                Some(call) => call.starts_with("running"),
                None if process::is_ending(tid) => continue,
                None => process::is_running(process.pid, tid),
            };
            if is_running {
                tick.running += 1.0;
                tick.busy += self.threads.get(&tid).map_or(1.0, AskedThread::runs);
            } else if self.threads.get(&tid).is_some_and(|thread| thread.works(most)) {
                let sleep = self.sleep(process, callers, tid, call.unwrap_or_default());
                let is_in_lock = matches!(sleep.cause, TimeCause::Lock | TimeCause::Kernel);
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.asleep += 1;
                    thread.in_lock += u64::from(is_in_lock);
                }
                if let Some(holder) = sleep.holder {
                    holders.insert(holder, None);
                }
                tick.asleep.push(sleep);
            }
        }
        self.turn = (self.turn + asked) % threads.len();
        // The threads that were not asked are taken to run as often as the others.
        let of_asked = threads.len() as f64 / asked.max(1) as f64;
        (tick.running, tick.busy) = (tick.running * of_asked, tick.busy * of_asked);
        for (holder, code) in &mut holders {
            let asleep = self.known.get(holder).and_then(|(_, sleep)| sleep.code);
            let runs = process::is_running(process.pid, *holder);
            *code = if runs { last_code(*holder) } else { asleep };
        }
        self.ticks += 1;
        let idle = (self.cpus - tick.busy).max(LEAST_IDLE);
        for (cpus, mut key, holder) in shared_out(idle, self.cpus, &tick) {
            // Tasks of a runtime may each sleep on a word of their own.
            if self.reasons.len() > MAX_KNOWN && !self.reasons.contains_key(&key) {
                key = (key.0, key.1, None, None);
            }
            let sum = self.reasons.entry(key).or_default();
            sum.cpus += cpus;
            if let Some(holder) = holder {
                let held = sum.holders.entry(holder).or_default();
                held.times += 1;
                held.code = holders[&holder].or(held.code);
            }
        }
        // A tick over a thousand threads takes milliseconds.
        self.next = now + TICK.max(now.elapsed() * 50);
    }

    fn sleep(
        &mut self,
        process: &LiveProcess,
        callers: &mut Callers,
        tid: u32,
        call: String,
    ) -> Sleep {
        if let Some((before, sleep)) = self.known.get(&tid)
            && *before == call
        {
            return sleep.later(process);
        }
        // Threads that have ended are forgotten with the others.
        if self.known.len() > MAX_KNOWN {
            self.known.clear();
        }
        let sleep = Sleep::of(&call, tid, process, callers);
        self.known.insert(tid, (call, sleep.clone()));
        sleep
    }

    /// What was seen so far; `None` before anything was. `lived_s` is how long all threads together existed, and `id` the number of
    /// a thread in the recording.
    pub(crate) fn waits(
        &self,
        usage: &ProcessorUsage,
        lived_s: f64,
        id: impl Fn(u32) -> Option<u32>,
    ) -> Option<Waits> {
        let seconds = usage.seconds();
        if self.ticks == 0 || seconds <= 0.0 {
            return None;
        }
        let own = usage.own();
        let used_s = own.user + own.kernel;
        let used = used_s / seconds;
        let queued_s: f64 = self.threads.values().map(AskedThread::queued_s).sum();
        let let_wait_s = usage.others().min(queued_s);
        let wanted_s: f64 = self.threads.values().map(AskedThread::wanted_s).sum();
        let wanted = (wanted_s / seconds).clamp(used, used + let_wait_s / seconds).min(self.cpus);
        let taken_by_others = (wanted - used).max(0.0);
        // How long CPUs were left is known better than by ticks, which say why.
        let idle = (self.cpus - used - taken_by_others).max(0.0);
        let all: f64 = self.reasons.values().map(|sum| sum.cpus).sum();
        let reason = |(key, sum): (&ReasonKey, &ReasonSum)| {
            let (cause, call, word, code) = key.clone();
            let holder = sum.holders.iter().max_by_key(|(_, held)| held.times);
            WaitReason {
                cause,
                call,
                word,
                code,
                cpus: idle * sum.cpus / all,
                holder: holder.and_then(|(tid, _)| id(*tid)),
                holder_code: holder.and_then(|(_, held)| held.code),
            }
        };
        let mut reasons: Vec<_> = self.reasons.iter().map(reason).collect();
        reasons.sort_by(|one, other| other.cpus.total_cmp(&one.cpus));
        Some(Waits {
            ticks: self.ticks,
            cpus: self.cpus,
            used,
            taken_by_others,
            kernel: if used_s > 0.0 { own.kernel / used_s } else { 0.0 },
            kernel_work: self.calls.work(),
            own_work: self.places.places(),
            queued: (queued_s - let_wait_s) / seconds,
            without_cpu: ((queued_s - let_wait_s) / lived_s.max(1e-3)).min(1.0),
            reasons,
        })
    }
}

/// Why `idle` of so many CPUs are left: a thread that sleeps could use one. Locks come first: what holds one may itself sleep. If a
/// thread runs, those that wait for another wait for it. If none does, what they wait for comes from outside.
fn shared_out(idle: f64, cpus: f64, tick: &Tick) -> Vec<(f64, ReasonKey, Option<u32>)> {
    use TimeCause::{Io, Kernel, Lock, NoThreads, OtherThreads, Timer, Unseen};
    let order = match tick.running > 0.0 {
        false => [Lock, Kernel, Io, Timer, OtherThreads, Unseen],
        true => [Lock, Kernel, OtherThreads, Io, Timer, Unseen],
    };
    let asleep = tick.asleep.len() as f64;
    // Where none sleeps there is no better reason.
    let least = if asleep > 0.0 { 0.0 } else { LEAST_IDLE };
    let missing = idle.min((cpus - tick.running - asleep).max(least));
    let mut left = idle - missing;
    // Of threads that run some wait for a CPU: each that sleeps could use more than one then.
    let each = (left / asleep).max(1.0);
    let mut shared = Vec::new();
    for cause in order {
        let all: Vec<_> = tick.asleep.iter().filter(|sleep| sleep.cause == cause).collect();
        let taken = left.min(all.len() as f64 * each);
        if taken <= 0.0 {
            continue;
        }
        left -= taken;
        let each = taken / all.len() as f64;
        shared.extend(all.into_iter().map(|sleep| {
            let key = (cause, sleep.call.clone(), sleep.word, sleep.code);
            (each, key, sleep.holder)
        }));
    }
    if missing > 0.0 {
        shared.push((missing, (NoThreads, String::new(), None, None), None));
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asleep(cause: TimeCause) -> Sleep {
        Sleep { cause, call: String::new(), word: None, code: None, holder: None }
    }

    #[test]
    fn what_a_thread_would_have_used_leaves_out_the_time_in_which_it_had_no_cpu() {
        let since = Instant::now();
        // The thread lived for ten seconds.
        let wanted = |ran_s: u64, queued_s: u64, in_lock, slept_part| {
            let second = 1_000_000_000;
            let last = Scheduled { ran_ns: ran_s * second, queued_ns: queued_s * second, turns: 0 };
            let (until, first) = (since + Duration::from_secs(10), Scheduled::default());
            let thread = AskedThread { since, until, first, last, asleep: 10, in_lock, slept_part };
            thread.wanted_s().round()
        };
        assert_eq!(wanted(5, 5, 0, 0.0), 10.0, "it works whenever it may");
        assert_eq!(wanted(2, 6, 0, 1.0), 5.0, "it sleeps as long as it works");
        assert_eq!(wanted(2, 6, 10, 1.0), 2.0, "woken for a lock, and has none yet");
        assert_eq!(wanted(2, 6, 10, 0.0), 5.0, "preempted, whatever it slept for before");
        assert_eq!(wanted(0, 0, 0, 0.0), 0.0);
    }

    #[test]
    fn an_idle_cpu_waits_for_a_lock_first_and_for_outside_only_if_no_thread_runs() {
        use TimeCause::{Io, Lock, NoThreads, OtherThreads};
        let reasons = |idle, running, causes: &[TimeCause]| -> Vec<(TimeCause, f64)> {
            let cpus = running + idle;
            let asleep = causes.iter().map(|cause| asleep(*cause)).collect();
            let shared = shared_out(idle, cpus, &Tick { running, busy: running, asleep });
            shared.into_iter().map(|(cpus, (cause, ..), _)| (cause, cpus)).collect()
        };
        assert_eq!(reasons(1.0, 1.0, &[Io, Lock]), [(Lock, 1.0)]);
        assert_eq!(reasons(1.0, 1.0, &[Io, OtherThreads]), [(OtherThreads, 1.0)]);
        assert_eq!(reasons(2.0, 0.0, &[Io, OtherThreads]), [(Io, 1.0), (OtherThreads, 1.0)]);
        assert_eq!(reasons(3.0, 1.0, &[Lock]), [(Lock, 1.0), (NoThreads, 2.0)]);
        assert_eq!(reasons(1.0, 1.0, &[Lock, Lock]), [(Lock, 0.5), (Lock, 0.5)]);
        assert!(reasons(0.0, 2.0, &[Lock]).is_empty());
        // Of the thread that runs only half has a CPU: the other half is left for the same reason.
        let queued = |running, asleep| {
            let shared = shared_out(1.5, 2.0, &Tick { running, busy: 0.5, asleep });
            shared.iter().map(|(cpus, ..)| *cpus).collect::<Vec<_>>()
        };
        assert_eq!(queued(1.0, vec![asleep(Lock)]), [1.5]);
        assert_eq!(queued(4.0, Vec::new()), [LEAST_IDLE]);
    }
}
