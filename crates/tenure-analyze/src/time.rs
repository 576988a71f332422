//! Where the time of a program's threads went: the processor's, and that of CPUs that were idle.

use std::collections::BTreeMap;

use tenure_model::recording::{KernelWork, WaitReason, Waits, WorkPlace};
use tenure_model::{Code, Coverage, TimeCause, TimeDetail, TimePart, TimeSplit};

use crate::proportion::interval;

/// The kernel counts processor time so often a second.
const CLOCK_HZ: f64 = 100.0;

/// Threads that sleep and wake make work for the kernel. From this part of the CPUs on, what they sleep for is the reason for
/// that work, too.
const SLEEPS_OFTEN: f64 = 0.1;

/// What the names of system calls begin with by which threads wait for files and sockets, and wake those that do.
const IO_CALLS: [&str; 12] = [
    "read",
    "write",
    "recv",
    "send",
    "accept",
    "connect",
    "poll",
    "ppoll",
    "epoll_",
    "select",
    "fsync",
    "fdatasync",
];

/// What takes less of its CPUs than this holds no program back, if that works for the rest of the time: without it the
/// program would do a quarter more.
const MATTERS: f64 = 0.2;

/// So many threads wait for each CPU, on average, if it is CPUs that a program lacks: it would use half as many again.
const QUEUE: f64 = 0.5;

/// A smaller part of what the kernel does is left out.
const WORTH_NAMING: f64 = 0.01;

/// Where so much of the time that could be seen goes to lines, places of work may be those of lines.
const MAX_LINES: f64 = 0.1;

/// What is known of the processor time of a watched program.
pub(crate) struct Running<'a> {
    pub(crate) seconds: f64,
    pub(crate) coverage: &'a Coverage,
    pub(crate) samples: u64,
    /// The share of the time that could be seen that all findings cost together, and the ends of its interval.
    pub(crate) lines: [f64; 3],
    /// The place in the source of an address.
    pub(crate) code: &'a dyn Fn(u64) -> Option<Code>,
}

/// The parts of the time. `detail` names what threads slept for.
pub(crate) fn split(
    waits: &Waits,
    running: &Running<'_>,
    detail: impl Fn(&WaitReason) -> TimeDetail,
) -> TimeSplit {
    let of_running = of_running(waits, running);
    let idle = idle(waits, detail);
    TimeSplit {
        seconds: running.seconds,
        cpus: waits.cpus,
        used: waits.used,
        taken_by_others: waits.taken_by_others,
        dominant: dominant(waits, &of_running, &idle),
        running: of_running,
        idle,
        without_cpu: waits.without_cpu,
    }
}

fn of_running(waits: &Waits, running: &Running<'_>) -> Vec<TimePart> {
    let Coverage { cpu_seconds, unaddressed, .. } = *running.coverage;
    let kernel = waits.kernel.clamp(0.0, 1.0);
    let user = 1.0 - kernel;
    let seen = user * (1.0 - unaddressed);
    let [lines, least, most] = running.lines.map(|share| share.clamp(0.0, 1.0) * seen);
    let samples = running.samples as f64;
    let part = |cause, share: f64, interval: [f64; 2]| TimePart {
        cause,
        share,
        interval: interval.map(|end| end.clamp(0.0, 1.0)),
        details: match cause {
            TimeCause::Kernel => calls(waits, share, running.code),
            TimeCause::OwnWork if running.lines[0] < MAX_LINES => {
                functions(waits, share, running.code)
            }
            _ => Vec::new(),
        },
    };
    let unseen = user * unaddressed;
    let own = (1.0 - kernel - unseen - lines).max(0.0);
    let mut parts = vec![
        part(TimeCause::SharedLines, lines, [least, most]),
        part(TimeCause::Kernel, kernel, interval_of(kernel, cpu_seconds * CLOCK_HZ)),
        part(TimeCause::OwnWork, own, [own - (most - lines), own + (lines - least)]),
        part(TimeCause::Unseen, unseen, interval_of(unseen, samples)),
    ];
    parts.retain(|part| part.share > 0.0);
    parts.sort_by(|one, other| other.share.total_cmp(&one.share));
    parts
}

/// What the kernel did with a share of the time.
fn calls(waits: &Waits, kernel: f64, code: &dyn Fn(u64) -> Option<Code>) -> Vec<TimeDetail> {
    let place = |work: &KernelWork| {
        let name = match work.cause {
            Some(TimeCause::Lock) => format!("{} for locks", work.call),
            Some(TimeCause::OtherThreads) => format!("{} for other threads", work.call),
            _ => work.call.clone(),
        };
        SampledPlace { name, code: work.code.and_then(code), caller: None, samples: work.samples }
    };
    by_name(waits.kernel_work.iter().map(place), kernel)
}

/// What the program did with a share of the time.
fn functions(waits: &Waits, own: f64, code: &dyn Fn(u64) -> Option<Code>) -> Vec<TimeDetail> {
    let place = |work: &WorkPlace| {
        let at = code(work.code);
        let name = at
            .as_ref()
            .map_or_else(|| "code without a name".to_owned(), |at| format!("{}()", at.function));
        SampledPlace { name, code: at, caller: work.caller.and_then(code), samples: work.samples }
    };
    by_name(waits.own_work.iter().map(place), own)
}

/// A place at which threads were met so often.
struct SampledPlace {
    name: String,
    code: Option<Code>,
    caller: Option<Code>,
    samples: u64,
}

/// The parts of a share of the time by name, each with its busiest place.
fn by_name(places: impl Iterator<Item = SampledPlace>, share: f64) -> Vec<TimeDetail> {
    let mut names: BTreeMap<String, Vec<SampledPlace>> = BTreeMap::new();
    for place in places {
        names.entry(place.name.clone()).or_default().push(place);
    }
    let samples = |places: &[SampledPlace]| places.iter().map(|place| place.samples).sum::<u64>();
    let all: u64 = names.values().map(|places| samples(places)).sum();
    let detail = |(name, places): (String, Vec<SampledPlace>)| {
        let share = share * samples(&places) as f64 / all as f64;
        let busiest = places.into_iter().max_by_key(|place| place.samples);
        let (code, caller) = busiest.map(|it| (it.code, it.caller)).unwrap_or_default();
        TimeDetail { name, share, code, caller, ..TimeDetail::default() }
    };
    let mut details: Vec<_> = names.into_iter().map(detail).collect();
    details.retain(|detail| detail.share >= WORTH_NAMING);
    details.sort_by(|one, other| {
        other.share.total_cmp(&one.share).then_with(|| one.name.cmp(&other.name))
    });
    details
}

/// The interval of a share of so many.
fn interval_of(share: f64, of: f64) -> [f64; 2] {
    interval(share * of, of)
}

fn idle(waits: &Waits, detail: impl Fn(&WaitReason) -> TimeDetail) -> Vec<TimePart> {
    let mut parts: Vec<TimePart> = Vec::new();
    for reason in waits.reasons.iter().filter(|reason| reason.cpus > 0.0) {
        let at = parts.iter().position(|part| part.cause == reason.cause);
        let at = at.unwrap_or_else(|| {
            let (interval, details) = Default::default();
            parts.push(TimePart { cause: reason.cause, share: 0.0, interval, details });
            parts.len() - 1
        });
        parts[at].share += reason.cpus / waits.cpus;
        if reason.cause != TimeCause::NoThreads {
            merge(&mut parts[at].details, detail(reason));
        }
    }
    for part in &mut parts {
        // What threads do in one tick is not independent: of a share only the ticks count.
        part.interval = interval_of(part.share.min(1.0), waits.ticks as f64);
        part.details.sort_by(|one, other| other.share.total_cmp(&one.share));
    }
    parts.sort_by(|one, other| other.share.total_cmp(&one.share));
    parts
}

/// Adds a detail to others: places that have the same name are one.
fn merge(details: &mut Vec<TimeDetail>, detail: TimeDetail) {
    let same = |known: &&mut TimeDetail| known.name == detail.name && known.code == detail.code;
    match details.iter_mut().find(same) {
        Some(known) => known.share += detail.share,
        None => details.push(detail),
    }
}

/// What holds the program back: of all but its own work that on which most CPUs are spent, if that matters. What threads sleep
/// for has the kernel's work with it that puts them to sleep and wakes them. Where its own work fills all CPUs and threads wait for
/// more, CPUs are what it lacks.
fn dominant(waits: &Waits, running: &[TimePart], idle: &[TimePart]) -> TimeCause {
    use TimeCause::{Io, Kernel, Lock, NoCpu, OtherThreads, OwnWork, SharedLines};
    let mut cpus: BTreeMap<TimeCause, f64> = BTreeMap::new();
    // Beside other programs: what it would have used. Threads that seldom run at the same time seldom wait for each other's
    // lines: alone they would in proportion to how many run.
    let wanted = waits.used + waits.taken_by_others;
    let met = (waits.used / wanted.max(1e-9)).max(1e-9);
    let share =
        |cause| running.iter().find(|part| part.cause == cause).map_or(0.0, |part| part.share);
    let lines = share(SharedLines);
    let hidden = (lines / met - lines).min(share(OwnWork));
    let parts = running.iter().map(|part| match part.cause {
        SharedLines => (part.cause, (part.share + hidden) * wanted),
        OwnWork => (part.cause, (part.share - hidden) * wanted),
        cause => (cause, part.share * wanted),
    });
    let all = parts.chain(idle.iter().map(|part| (part.cause, part.share * waits.cpus)));
    // The kernel's own locks are its work.
    all.for_each(|(cause, part)| *cpus.entry(cause).or_default() += part);
    let own = cpus.remove(&OwnWork).unwrap_or(0.0);
    let mut kernel = cpus.remove(&Kernel).unwrap_or(0.0);
    let samples: u64 = waits.kernel_work.iter().map(|work| work.samples).sum();
    let of_kernel = kernel / samples.max(1) as f64;
    for work in &waits.kernel_work {
        if let Some(cause) = work.cause {
            *cpus.entry(cause).or_default() += of_kernel * work.samples as f64;
            kernel -= of_kernel * work.samples as f64;
        }
    }
    // What the rest did for threads that sleep is known by the system call, or not at all.
    let is_io = |work: &&KernelWork| IO_CALLS.iter().any(|start| work.call.starts_with(start));
    let io: u64 = waits.kernel_work.iter().filter(is_io).map(|work| work.samples).sum();
    let (sleeps, part): (&[_], _) = match samples {
        0 => (&[Lock, OtherThreads, Io], kernel),
        _ => (&[Io], of_kernel * io as f64),
    };
    let slept = cpus.iter_mut().filter(|(cause, _)| sleeps.contains(cause));
    if let Some((_, most)) = slept.max_by(|one, other| one.1.total_cmp(other.1))
        && *most >= SLEEPS_OFTEN * waits.cpus
    {
        *most += part;
        kernel -= part;
    }
    cpus.insert(Kernel, kernel);
    // What other programs have left to it.
    let left = waits.cpus - waits.taken_by_others;
    match cpus.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)) {
        Some((cause, cpus)) if cpus >= MATTERS * left || cpus > own => cause,
        _ if waits.queued >= QUEUE * waits.cpus => NoCpu,
        _ => OwnWork,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(cause: TimeCause, cpus: f64) -> WaitReason {
        let (call, word, code, holder, holder_code) = Default::default();
        WaitReason { cause, call, word, code, cpus, holder, holder_code }
    }

    fn waits() -> Waits {
        Waits { ticks: 100, cpus: 4.0, used: 4.0, ..Waits::default() }
    }

    fn split_of(waits: &Waits, lines: f64) -> TimeSplit {
        let coverage = Coverage {
            cpu_seconds: 10.0,
            kernel: waits.kernel,
            unaddressed: 0.1,
            excludes: 0.01,
            shared: Vec::new(),
        };
        let lines = [lines, lines * 0.8, lines * 1.2];
        let code = &|address: u64| {
            let line = Some(format!("a.rs:{address}"));
            Some(Code { function: format!("f{}", address / 10), line, ..Code::default() })
        };
        let running = Running { seconds: 10.0, coverage: &coverage, samples: 1000, lines, code };
        split(waits, &running, |reason| TimeDetail {
            name: "x".to_owned(),
            share: reason.cpus / 4.0,
            ..TimeDetail::default()
        })
    }

    #[test]
    fn the_parts_of_the_processor_time_add_up_and_lie_in_their_intervals() {
        let split = split_of(&Waits { kernel: 0.2, ..waits() }, 0.5);
        let sum: f64 = split.running.iter().map(|part| part.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{split:?}");
        for part in &split.running {
            let [least, most] = part.interval;
            assert!(least <= part.share && part.share <= most, "{part:?}");
        }
        assert!(split.running.is_sorted_by(|one, other| one.share >= other.share));
    }

    #[test]
    fn what_dominates_is_no_work_that_holds_most_cpus_back() {
        use TimeCause::{Io, Kernel, Lock, NoThreads, OwnWork, SharedLines};
        let dominant = |used, kernel, lines, reasons| {
            split_of(&Waits { used, kernel, reasons, ..waits() }, lines).dominant
        };
        assert_eq!(dominant(4.0, 0.1, 0.1, Vec::new()), OwnWork);
        assert_eq!(dominant(4.0, 0.1, 0.9, Vec::new()), SharedLines);
        assert_eq!(dominant(4.0, 0.8, 0.1, Vec::new()), Kernel);
        assert_eq!(dominant(1.0, 0.1, 0.1, vec![reason(NoThreads, 3.0)]), NoThreads);
        // A mutex that sleeps: more of the kernel's work than sleep.
        let lock = || vec![reason(Lock, 0.9), reason(Io, 0.1)];
        assert_eq!(dominant(3.0, 0.5, 0.0, lock()), Lock);
        // One that hardly ever sleeps is not why the kernel works, as far as that is known.
        assert_eq!(dominant(3.8, 0.8, 0.0, vec![reason(Lock, 0.2)]), Kernel);
        assert_eq!(dominant(3.0, 0.1, 0.1, vec![reason(Lock, 1.0)]), Lock, "a third of its work");
    }

    #[test]
    fn beside_other_programs_what_they_took_counts_as_what_the_program_would_have_done() {
        let waits = Waits {
            cpus: 4.0,
            used: 1.5,
            taken_by_others: 1.5,
            reasons: vec![reason(TimeCause::Lock, 1.0)],
            ..waits()
        };
        assert_eq!(split_of(&waits, 0.1).dominant, TimeCause::Lock);
        assert_eq!(split_of(&waits, 0.9).dominant, TimeCause::SharedLines);
        // Half of its threads run at a time: the line would cost twice as much alone.
        let waits = Waits { reasons: Vec::new(), ..waits };
        assert_eq!(split_of(&waits, 0.2).dominant, TimeCause::SharedLines);
        let alone = Waits { used: 3.0, taken_by_others: 0.0, ..waits.clone() };
        assert_eq!(split_of(&alone, 0.2).dominant, TimeCause::OwnWork);
        // Of two and a half CPUs that are left to it, a lock takes more than a fifth.
        let waits = Waits { used: 1.9, reasons: vec![reason(TimeCause::Lock, 0.6)], ..waits };
        assert_eq!(split_of(&waits, 0.0).dominant, TimeCause::Lock);
        let alone = Waits { used: 3.4, taken_by_others: 0.0, ..waits };
        assert_eq!(split_of(&alone, 0.0).dominant, TimeCause::OwnWork);
    }

    #[test]
    fn a_program_whose_work_fills_all_cpus_lacks_some_if_threads_wait_for_more() {
        let of = |queued, lines| split_of(&Waits { queued, ..waits() }, lines).dominant;
        assert_eq!(of(4.0, 0.0), TimeCause::NoCpu);
        assert_eq!(of(1.0, 0.0), TimeCause::OwnWork);
        assert_eq!(of(4.0, 0.5), TimeCause::SharedLines);
    }

    #[test]
    fn the_kernels_work_counts_for_what_it_lets_threads_wait_for() {
        let work = |call: &str, cause, samples| KernelWork {
            call: call.to_owned(),
            cause,
            code: Some(77),
            samples,
        };
        let of = |futex| {
            let kernel_work = vec![
                work("futex", Some(TimeCause::Lock), futex),
                work("read", None, 99 - futex),
                work("rare", None, 1),
            ];
            let reasons = vec![reason(TimeCause::Lock, 0.2)];
            split_of(&Waits { used: 3.8, kernel: 0.5, kernel_work, reasons, ..waits() }, 0.0)
        };
        assert_eq!(of(60).dominant, TimeCause::Lock);
        let io = |call: &str| {
            let kernel_work = vec![work(call, None, 1)];
            let reasons = vec![reason(TimeCause::Io, 1.0)];
            let of = Waits { used: 3.0, kernel: 0.5, kernel_work, reasons, ..waits() };
            split_of(&of, 0.0).dominant
        };
        assert_eq!((io("write"), io("getppid")), (TimeCause::Io, TimeCause::Kernel));
        assert_eq!(of(2).dominant, TimeCause::Kernel);
        let split = of(60);
        let kernel = split.running.iter().find(|part| part.cause == TimeCause::Kernel).unwrap();
        let details: Vec<_> = kernel.details.iter().map(|it| (&*it.name, it.share)).collect();
        assert_eq!(details, [("futex for locks", 0.3), ("read", 0.195)]);
    }

    #[test]
    fn work_is_named_by_function_unless_lines_take_much_of_it() {
        let place = |code, caller, samples| WorkPlace { code, caller, samples };
        let own_work = vec![place(11, Some(20), 5), place(12, Some(30), 3), place(40, None, 2)];
        let waits = Waits { own_work, ..waits() };
        let own = |lines| {
            let split = split_of(&waits, lines);
            let own = split.running.into_iter().find(|part| part.cause == TimeCause::OwnWork);
            own.unwrap().details
        };
        let details = own(0.0);
        let [first, second] = &details[..] else { panic!("{details:?}") };
        assert_eq!((&*first.name, &*second.name), ("f1()", "f4()"));
        assert!(
            (first.share - 0.72).abs() < 1e-9,
            "eight of ten samples of nine tenths: {first:?}"
        );
        let line = |code: &Option<Code>| code.as_ref().unwrap().line.clone().unwrap();
        assert_eq!((&*line(&first.code), &*line(&first.caller)), ("a.rs:11", "a.rs:20"));
        assert_eq!(own(0.5), [], "it may be what waits for the lines");
    }

    #[test]
    fn idle_cpus_have_their_reasons_by_place() {
        let reasons = vec![reason(TimeCause::Lock, 1.0), reason(TimeCause::Lock, 0.5)];
        let split = split_of(&Waits { used: 2.0, kernel: 0.1, reasons, ..waits() }, 0.0);
        let [part] = &split.idle[..] else { panic!("{split:?}") };
        assert!((part.share - 0.375).abs() < 1e-9 && part.details.len() == 1, "{part:?}");
        assert!((part.details[0].share - 0.375).abs() < 1e-9, "{part:?}");
    }
}
