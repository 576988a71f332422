//! What holds a program back besides cache lines, and what to do about that: sentences.

use tenure_model::recording::MEMORY_CALLS;
use tenure_model::{Advice, TimeCause, TimeDetail, TimePart, TimeSplit, short_place};
use tenure_report::numbers::{its_cpus, scaled, share};

/// Those by which it waits until one of several files or sockets is ready, or a client comes.
const WAITING_CALLS: [&str; 6] = ["accept", "epoll_", "poll", "ppoll", "select", "pselect"];

/// A program whose own work takes so much of its CPUs is not held back.
const FREE: f64 = 0.8;

/// The part of the time of all CPUs that a part of the processor time is.
fn of_cpus(time: &TimeSplit, of_used: f64) -> f64 {
    of_used * time.used / time.cpus
}

/// That the run says less than one alone would: a sentence.
pub(crate) fn unfair(time: &TimeSplit) -> Option<String> {
    /// Any machine does a little beside.
    const MATTERS: f64 = 0.1;
    (time.taken_by_others >= MATTERS * time.cpus).then(|| {
        format!(
            "Not a fair run: other programs took {} of {}, and its threads met less often than they would alone. Repeat it \
             alone.",
            scaled(time.taken_by_others),
            its_cpus(time.cpus)
        )
    })
}

/// The largest part of the time that what dominates takes, and what that is most.
fn most(time: &TimeSplit) -> Option<(&TimePart, Option<&TimeDetail>)> {
    let all = time.running.iter().chain(&time.idle);
    let parts = all.filter(|part| part.cause == time.dominant);
    let part = parts.max_by(|one, other| one.share.total_cmp(&other.share))?;
    Some((part, part.details.first()))
}

/// What holds the program back most: a sentence.
pub(crate) fn held_back(time: &TimeSplit) -> Option<String> {
    let of = its_cpus(time.cpus);
    // No part of the time is this.
    if time.dominant == TimeCause::NoCpu {
        let waited = share(time.without_cpu);
        return Some(format!(
            "It has more threads than CPUs: they wait for one of {of} for {waited} of their time."
        ));
    }
    let (part, detail) = most(time)?;
    let named = |before: &str| {
        detail.map(|it| format!(", most {before} {}", named(it))).unwrap_or_default()
    };
    let taken = share(of_cpus(time, part.share));
    let left = share(part.share);
    Some(match part.cause {
        TimeCause::Unseen | TimeCause::NoCpu => return None,
        TimeCause::SharedLines => format!("Waiting for shared cache lines takes {taken} of {of}."),
        TimeCause::OwnWork => {
            let what = format!("own work takes {taken} of {of}{}", named("in"));
            match of_cpus(time, part.share) >= FREE {
                true => format!("Nothing that was seen holds its threads back: its {what}."),
                false => format!("Its {what}."),
            }
        }
        TimeCause::Kernel => format!("The kernel takes {taken} of {of}{}.", named("for")),
        TimeCause::Lock => {
            format!("Threads that sleep in locks leave {left} of {of} unused{}.", named("at"))
        }
        TimeCause::OtherThreads => {
            format!("Threads that wait for each other leave {left} of {of} unused{}.", named("at"))
        }
        TimeCause::Io => format!(
            "Threads that wait for input or output leave {left} of {of} unused{}.",
            named("at")
        ),
        TimeCause::Timer => {
            format!("Threads that sleep for a set time leave {left} of {of} unused{}.", named("at"))
        }
        TimeCause::NoThreads => format!("It has too few threads with work to use {left} of {of}."),
    })
}

/// `mutex (pool.rs:77)`.
fn named(detail: &TimeDetail) -> String {
    let place = place(detail);
    let place = if place.is_empty() { place } else { format!(" ({place})") };
    format!("{}{place}", detail.name)
}

fn place(detail: &TimeDetail) -> String {
    let line = detail.code.as_ref().and_then(|code| code.line.as_deref());
    line.map(short_place).unwrap_or_default()
}

/// What to do about what holds the program back most, if that is no cache line.
pub(crate) fn advice(time: &TimeSplit) -> Option<Advice> {
    if time.dominant == TimeCause::NoCpu {
        let what = format!("start no more threads than it has CPUs ({})", scaled(time.cpus));
        let place = String::new();
        return Some(Advice { place, what, cpus: time.cpus.ceil() as u64, at_least: None });
    }
    let (part, detail) = most(time)?;
    let name = detail.map_or("", |detail| &*detail.name);
    let what = match part.cause {
        TimeCause::SharedLines | TimeCause::Unseen | TimeCause::NoCpu => return None,
        TimeCause::OwnWork if unfair(time).is_some() => {
            "run it again on an idle machine".to_owned()
        }
        TimeCause::OwnWork => "do less work here, or use more CPUs".to_owned(),
        TimeCause::Kernel => of_kernel(name),
        TimeCause::Lock => {
            let lock = if name == "a lock" { "this lock".to_owned() } else { format!("`{name}`") };
            format!("hold {lock} for less, or split what it guards")
        }
        TimeCause::OtherThreads => {
            "wait for other threads less often: more work in between, in equal parts".to_owned()
        }
        TimeCause::Io => of_io(name),
        TimeCause::Timer => "wait for the event, not for a set time".to_owned(),
        TimeCause::NoThreads => "give work to more threads".to_owned(),
    };
    let place = detail.map(place).unwrap_or_default();
    let at_least = at_least(time, part);
    Some(Advice { place, what, cpus: time.cpus.ceil() as u64, at_least })
}

fn of_kernel(call: &str) -> String {
    let call = call.split(' ').next().unwrap_or_default();
    match call {
        "futex" => "let threads sleep and wake each other less often".to_owned(),
        "sched_yield" => "let threads sleep until there is work, in place of yielding".to_owned(),
        "page" => "touch fewer new pages: keep memory in place of giving it back".to_owned(),
        call if MEMORY_CALLS.contains(&call) => {
            format!("keep memory in place of giving it back: fewer calls of `{call}`")
        }
        "" => "make fewer system calls".to_owned(),
        call => format!("call `{call}` less often: keep what it gave, or do more with each call"),
    }
}

fn of_io(call: &str) -> String {
    let name = call.split(' ').next().unwrap_or_default();
    match name {
        "fsync" | "fdatasync" => format!("write more between two calls of `{name}`"),
        _ if WAITING_CALLS.iter().any(|start| name.starts_with(start)) => {
            "send it more requests: it waits for them".to_owned()
        }
        _ if call.ends_with("a pipe") || call.ends_with("a socket") => {
            "send more at a time".to_owned()
        }
        _ => "ask for data before it is needed, or keep more in memory".to_owned(),
    }
}

/// How many times as much the program does once all that a cause takes of its CPUs is work, at least. What the kernel does and what
/// lines cost may go with it.
fn at_least(time: &TimeSplit, part: &TimePart) -> Option<f64> {
    /// Some of that time may be spent on another wait. It is seldom less than this: threads that wait also lose what the caches held,
    /// which counts as work. Of planted programs nine of ten gain as much (`ci/causes.py --truth`).
    const FACTOR: f64 = 1.5;
    /// Where hardly any work is left, a larger figure would rest on nothing.
    const MAX: f64 = 50.0;
    let shares = |causes: &[TimeCause]| -> f64 {
        let of = time.running.iter().filter(|part| causes.contains(&part.cause));
        of.map(|part| part.share).sum()
    };
    let goes = match part.cause {
        TimeCause::OwnWork => return None,
        // Threads that do not exist cause no work for the kernel.
        TimeCause::NoThreads => 0.0,
        TimeCause::Kernel | TimeCause::Io | TimeCause::Timer => shares(&[TimeCause::Kernel]),
        _ => shares(&[TimeCause::Kernel, TimeCause::SharedLines]),
    };
    let works = (1.0 - goes) * time.used;
    let left = if part.cause == TimeCause::Kernel { 0.0 } else { part.share * time.cpus };
    (works > 0.0).then(|| ((time.used + left) / works / FACTOR).clamp(1.0, MAX))
}

#[cfg(test)]
mod tests {
    use tenure_model::Code;

    use super::*;

    fn part(cause: TimeCause, share: f64, name: &str) -> TimePart {
        let line = Some("/home/me/src/pool.rs:77".to_owned());
        let code = Some(Code { line, ..Code::default() });
        let detail = TimeDetail { name: name.to_owned(), share, code, ..TimeDetail::default() };
        let details = if name.is_empty() { Vec::new() } else { vec![detail] };
        TimePart { cause, share, interval: [share; 2], details }
    }

    /// Half of four CPUs are used, a tenth of that by the kernel.
    fn time(dominant: TimeCause, idle: Vec<TimePart>) -> TimeSplit {
        TimeSplit {
            seconds: 10.0,
            cpus: 4.0,
            used: 2.0,
            taken_by_others: 0.0,
            dominant,
            running: vec![
                part(TimeCause::OwnWork, 0.9, "work"),
                part(TimeCause::Kernel, 0.1, "getppid"),
            ],
            idle,
            without_cpu: 0.5,
        }
    }

    #[test]
    fn a_lock_is_named_with_its_place_and_what_removing_it_gives() {
        let time = time(TimeCause::Lock, vec![part(TimeCause::Lock, 0.5, "pool")]);
        let expected = "Threads that sleep in locks leave 50 % of its 4 CPUs unused, most at pool (pool.rs:77).";
        assert_eq!(held_back(&time).as_deref(), Some(expected));
        let advice = advice(&time).unwrap();
        assert_eq!(advice.what, "hold `pool` for less, or split what it guards");
        assert_eq!(advice.place, "pool.rs:77");
        // Four CPUs in place of two, of which the kernel took a tenth.
        assert_eq!(advice.cpus, 4);
        assert!((advice.at_least.unwrap() - 4.0 / 1.8 / 1.5).abs() < 1e-9, "{advice:?}");
    }

    #[test]
    fn each_cause_has_a_sentence_and_advice() {
        use TimeCause::{Io, Kernel, NoCpu, NoThreads, OtherThreads, OwnWork, Timer};
        let said = |cause, idle| {
            let time = time(cause, idle);
            let Advice { what, at_least, .. } = advice(&time).unwrap();
            let least = at_least.map(|it| format!("{it:.1}")).unwrap_or_default();
            [held_back(&time).unwrap(), what, least]
        };
        let idle = |cause, name| said(cause, vec![part(cause, 0.25, name)]);
        assert_eq!(
            said(OwnWork, Vec::new())[0],
            "Its own work takes 45 % of its 4 CPUs, most in work (pool.rs:77)."
        );
        assert_eq!(said(OwnWork, Vec::new())[2], "", "no gain follows");
        assert_eq!(
            said(Kernel, Vec::new())[..],
            [
                "The kernel takes 5.0 % of its 4 CPUs, most for getppid (pool.rs:77).",
                "call `getppid` less often: keep what it gave, or do more with each call",
                "1.0"
            ]
        );
        assert_eq!(said(NoCpu, Vec::new())[1], "start no more threads than it has CPUs (4)");
        for (name, starts) in [
            ("read of a pipe", "send more at a time"),
            ("epoll_wait", "send it more requests"),
            ("fsync of data.log", "write more between two calls of `fsync`"),
            ("pread64 of data.db", "ask for data before"),
        ] {
            let [_, what, least] = idle(Io, name);
            assert!(what.starts_with(starts), "{what}");
            assert_eq!(least, "1.1");
        }
        assert_eq!(idle(NoThreads, "")[2], "1.0");
        for cause in [OtherThreads, Timer, NoThreads] {
            let [sentence, ..] = idle(cause, "");
            assert!(sentence.contains("25 % of its 4 CPUs"), "{sentence}");
        }
        for (call, starts) in [
            ("futex for locks", "let threads sleep"),
            ("sched_yield", "let threads sleep until"),
            ("page faults and interrupts", "touch fewer new pages"),
            ("munmap", "keep memory"),
            ("", "make fewer system calls"),
        ] {
            assert!(of_kernel(call).starts_with(starts), "{call}");
        }
    }

    #[test]
    fn a_run_beside_other_programs_is_not_fair_and_advises_to_repeat_it() {
        let mut time = time(TimeCause::OwnWork, Vec::new());
        assert_eq!(unfair(&time), None);
        time.taken_by_others = 0.9;
        let said = unfair(&time).unwrap();
        assert!(
            said.starts_with("Not a fair run: other programs took 0.9 of its 4 CPUs"),
            "{said}"
        );
        assert_eq!(advice(&time).unwrap().what, "run it again on an idle machine");
    }
}
