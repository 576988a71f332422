//! What threads wait for: several times a second all of them are asked.
//!
//! `/proc` says for each thread whether it runs and, if it sleeps, in which system call with which arguments. A CPU that is
//! idle meanwhile is idle for a reason: threads sleep until a lock is given back, another thread goes on, input is there, or
//! some time is over; or no other thread exists. Nothing is stopped for that.

mod sleep;
mod stack;

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tenure_model::TimeCause;
use tenure_model::recording::{WaitReason, Waits};

use crate::callers::Callers;
use crate::sys::machine::{self, BusyTime};
use crate::sys::process::{self, LiveProcess};
use sleep::Sleep;

/// The time between two ticks.
const TICK: Duration = Duration::from_millis(50);

/// How long threads are asked at a time. The others' turn comes later.
const TICK_TIME: Duration = Duration::from_millis(5);

/// A thread that has run for less than this part of what the busiest has is none that would use an idle CPU: it keeps house, or
/// waits for the others.
const WORKER: f64 = 0.02;

/// So long it may take until it is known which threads run.
const PATIENCE: Duration = Duration::from_secs(1);

/// A tick takes a CPU itself, so that a thread which ran a moment ago waits for one. The reasons of a tick at which no CPU seems
/// idle count this little.
const LEAST_IDLE: f64 = 0.1;

/// From this part of the CPUs on, other programs decide which CPUs are idle.
const BUSY_MACHINE: f64 = 0.15;

/// The time over which it is measured what other programs use: the kernel counts hundredths of a second.
const OTHERS_WINDOW: Duration = Duration::from_millis(500);

/// What was seen of waits so far.
#[derive(Debug)]
pub(crate) struct WaitSampler {
    start: Instant,
    next: Instant,
    ticks: u64,
    /// Sums over the ticks of CPUs that the process may use, and of those that others used.
    cpus: f64,
    others: f64,
    reasons: FxHashMap<ReasonKey, ReasonSum>,
    /// Nanoseconds that each thread had waited for a CPU when it was asked first, and has.
    queued: FxHashMap<u32, [u64; 2]>,
    busy: BusyTime,
    /// What sleeping threads wait for, by what `/proc` said of each last.
    known: FxHashMap<u32, (String, Sleep)>,
    callers: Callers,
    /// Which thread is asked first.
    turn: usize,
}

type ReasonKey = (TimeCause, String, Option<u64>, Option<u64>);

#[derive(Debug, Default)]
struct ReasonSum {
    /// CPUs that were idle for it, by [`shared_out`].
    idle: f64,
    /// CPUs that were lost to it if each thread has the same part of all, by [`by_thread`].
    slept: f64,
    /// How often each thread held the lock.
    holders: FxHashMap<u32, u64>,
}

/// What one tick showed of the threads.
#[derive(Debug, Default)]
struct Tick {
    running: usize,
    asleep: Vec<Sleep>,
}

impl WaitSampler {
    pub(crate) fn new(now: Instant, through: Vec<String>) -> Self {
        Self {
            start: now,
            next: now,
            ticks: 0,
            cpus: 0.0,
            others: 0.0,
            reasons: FxHashMap::default(),
            queued: FxHashMap::default(),
            busy: BusyTime::new(OTHERS_WINDOW),
            known: FxHashMap::default(),
            callers: Callers::new(through),
            turn: 0,
        }
    }

    /// When threads are asked next.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Forgets what the program's code was.
    pub(crate) fn clear(&mut self) {
        self.callers.clear();
        self.known.clear();
    }

    /// Asks the threads. `ran_ns` says how long a thread has run.
    pub(crate) fn tick(&mut self, process: &LiveProcess, ran_ns: impl Fn(u32) -> u64) {
        let now = Instant::now();
        let threads = process.threads();
        if threads.is_empty() {
            return;
        }
        let most = threads.iter().map(|tid| ran_ns(*tid)).max().unwrap_or(0);
        self.next = now + TICK;
        if most == 0 && self.start.elapsed() < PATIENCE {
            return;
        }
        let works = |tid: &u32| ran_ns(*tid) as f64 >= WORKER * most as f64;
        let mut tick = Tick::default();
        let mut asked = 0;
        for at in 0..threads.len() {
            if now.elapsed() >= TICK_TIME {
                break;
            }
            let tid = threads[(self.turn + at) % threads.len()];
            asked += 1;
            match process::system_call(process.pid, tid) {
                Some(call) if call.starts_with("running") => tick.running += 1,
                Some(call) if works(&tid) => tick.asleep.push(self.sleep(process, tid, call)),
                _ => {}
            }
        }
        self.turn = (self.turn + asked) % threads.len();
        let cpus = machine::cpus_of(process.pid);
        let others = self.busy.others(process).clamp(0.0, cpus);
        let idle = (cpus - tick.running as f64).max(LEAST_IDLE);
        self.ticks += 1;
        self.cpus += cpus;
        self.others += others;
        for (cpus, key, holder) in shared_out(idle, &tick) {
            let sum = self.reasons.entry(key).or_default();
            sum.idle += cpus;
            if let Some(holder) = holder {
                *sum.holders.entry(holder).or_default() += 1;
            }
        }
        for (cpus, key) in by_thread(cpus, &tick) {
            self.reasons.entry(key).or_default().slept += cpus;
        }
        // Of a thousand threads it takes milliseconds.
        self.next = now + TICK.max(now.elapsed() * 50);
    }

    /// Notes how many nanoseconds a thread has waited for a CPU. What an old one did before it was watched does not count.
    pub(crate) fn queued(&mut self, tid: u32, nanoseconds: u64, is_old: bool) {
        let first = if is_old { nanoseconds } else { 0 };
        self.queued.entry(tid).or_insert([first, nanoseconds])[1] = nanoseconds;
    }

    fn sleep(&mut self, process: &LiveProcess, tid: u32, call: String) -> Sleep {
        if let Some((before, sleep)) = self.known.get(&tid)
            && *before == call
        {
            return sleep.clone();
        }
        if self.callers.is_empty() {
            self.callers.set(process.modules());
        }
        let sleep = Sleep::of(&call, process, &mut self.callers);
        self.known.insert(tid, (call, sleep.clone()));
        sleep
    }

    /// What was seen so far; `None` before anything was. `id` is the number of a thread in the recording.
    pub(crate) fn waits(
        &self,
        used: f64,
        kernel: f64,
        lived_s: f64,
        id: impl Fn(u32) -> Option<u32>,
    ) -> Option<Waits> {
        if self.ticks == 0 {
            return None;
        }
        let ticks = self.ticks as f64;
        let (cpus, used_by_others) = (self.cpus / ticks, self.others / ticks);
        // How long CPUs were idle is known better than by ticks, which say why. Beside other programs no CPU is idle; then what
        // threads slept for counts by their time.
        let is_alone = used_by_others < BUSY_MACHINE * cpus;
        let all: f64 = self.reasons.values().map(|sum| sum.idle).sum();
        let idle = (cpus - used_by_others - used).max(0.0) / all;
        let reason = |(key, sum): (&ReasonKey, &ReasonSum)| {
            let (cause, call, word, code) = key.clone();
            let holder = sum.holders.iter().max_by_key(|(_, count)| **count);
            let holder = holder.and_then(|(tid, _)| id(*tid));
            WaitReason {
                cause,
                call,
                word,
                code,
                cpus: if is_alone { idle * sum.idle } else { sum.slept / ticks },
                holder,
            }
        };
        let mut reasons: Vec<_> = self.reasons.iter().map(reason).collect();
        reasons.sort_by(|one, other| other.cpus.total_cmp(&one.cpus));
        let queued: f64 =
            self.queued.values().map(|[first, now]| now.saturating_sub(*first) as f64 / 1e9).sum();
        let own = if used > 0.0 { used / (used + used_by_others) } else { 0.0 };
        Some(Waits {
            ticks: self.ticks,
            cpus,
            used,
            used_by_others,
            kernel,
            without_cpu: (own * queued / lived_s.max(1e-3)).min(1.0),
            reasons,
        })
    }
}

/// Why so many CPUs are idle: a thread that sleeps could use one. Locks come first: what holds one may itself sleep. If a
/// thread runs, those that wait for another wait for it. If none does, what they wait for comes from outside.
fn shared_out(idle: f64, tick: &Tick) -> Vec<(f64, ReasonKey, Option<u32>)> {
    use TimeCause::{Io, Kernel, Lock, NoThreads, OtherThreads, Timer};
    let order = match tick.running {
        0 => [Lock, Kernel, Io, Timer, OtherThreads],
        _ => [Lock, Kernel, OtherThreads, Io, Timer],
    };
    let mut left = idle;
    let mut shared = Vec::new();
    for cause in order {
        let all: Vec<_> = tick.asleep.iter().filter(|sleep| sleep.cause == cause).collect();
        let taken = left.min(all.len() as f64);
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
    if left > 0.0 {
        shared.push((left, (NoThreads, String::new(), None, None), None));
    }
    shared
}

/// The CPUs that are lost to each reason if every thread has the same part of them. Threads that do not exist have one each.
fn by_thread(cpus: f64, tick: &Tick) -> Vec<(f64, ReasonKey)> {
    let threads = (tick.running + tick.asleep.len()) as f64;
    let missing = (cpus - threads).max(0.0);
    let each = (cpus - missing) / threads.max(1.0);
    let asleep = tick
        .asleep
        .iter()
        .map(|sleep| (each, (sleep.cause, sleep.call.clone(), sleep.word, sleep.code)));
    let none = (TimeCause::NoThreads, String::new(), None, None);
    asleep.chain((missing > 0.0).then_some((missing, none))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asleep(cause: TimeCause) -> Sleep {
        Sleep { cause, call: String::new(), word: None, code: None, holder: None }
    }

    #[test]
    fn beside_other_programs_each_thread_has_its_part_of_the_cpus() {
        use TimeCause::{Lock, NoThreads};
        let reasons = |running, causes: &[TimeCause]| -> Vec<(TimeCause, f64)> {
            let asleep = causes.iter().map(|cause| asleep(*cause)).collect();
            let all = by_thread(2.0, &Tick { running, asleep });
            all.into_iter().map(|(cpus, (cause, ..))| (cause, cpus)).collect()
        };
        assert_eq!(reasons(2, &[Lock, Lock]), [(Lock, 0.5), (Lock, 0.5)]);
        assert_eq!(reasons(1, &[]), [(NoThreads, 1.0)]);
        assert_eq!(reasons(0, &[Lock]), [(Lock, 1.0), (NoThreads, 1.0)]);
        assert!(reasons(8, &[]).is_empty());
    }

    #[test]
    fn an_idle_cpu_waits_for_a_lock_first_and_for_outside_only_if_no_thread_runs() {
        use TimeCause::{Io, Lock, NoThreads, OtherThreads};
        let reasons = |idle, running, causes: &[TimeCause]| -> Vec<(TimeCause, f64)> {
            let asleep = causes.iter().map(|cause| asleep(*cause)).collect();
            let shared = shared_out(idle, &Tick { running, asleep });
            shared.into_iter().map(|(cpus, (cause, ..), _)| (cause, cpus)).collect()
        };
        assert_eq!(reasons(1.0, 1, &[Io, Lock]), [(Lock, 1.0)]);
        assert_eq!(reasons(1.0, 1, &[Io, OtherThreads]), [(OtherThreads, 1.0)]);
        assert_eq!(reasons(2.0, 0, &[Io, OtherThreads]), [(Io, 1.0), (OtherThreads, 1.0)]);
        assert_eq!(reasons(3.0, 1, &[Lock]), [(Lock, 1.0), (NoThreads, 2.0)]);
        assert_eq!(reasons(1.0, 1, &[Lock, Lock]), [(Lock, 0.5), (Lock, 0.5)]);
        assert!(reasons(0.0, 2, &[Lock]).is_empty());
    }
}
