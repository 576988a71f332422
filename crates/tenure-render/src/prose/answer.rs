//! The answer in short, as prose: what to change, where the time went.

use tenure_report::numbers::{counted, scaled, share, times};

use tenure_model::{
    Answer, Code, Gain, ProposedChange, TimeCause, TimeDetail, TimePart, TimeSplit, short_place,
};

/// A row of the table of changes.
pub(crate) struct ChangeRow {
    /// Its number, or nothing for the sum.
    pub(crate) number: String,
    pub(crate) place: String,
    pub(crate) what: String,
    /// `1.4 to 1.9×`, and what else there is to say of it.
    pub(crate) gain: String,
    /// The rank of the finding that it fixes.
    pub(crate) finding: Option<u64>,
}

/// The changes that pay, and all of them together.
pub(crate) fn changes(answer: &Answer) -> Vec<ChangeRow> {
    let row = |change: &ProposedChange| ChangeRow {
        number: change.number.to_string(),
        place: short_place(&change.place),
        what: change.what.clone(),
        gain: gain_of(answer, change),
        finding: Some(change.finding),
    };
    let together = answer.together.map(|gain| ChangeRow {
        number: String::new(),
        place: String::new(),
        what: if answer.changes.len() == 2 { "both" } else { "all" }.to_owned(),
        gain: times(gain.range),
        finding: None,
    });
    answer.changes.iter().map(row).chain(together).collect()
}

/// `on 16 CPUs`, over the column of gains; empty before anything was predicted.
pub(crate) fn on_cpus(answer: &Answer) -> String {
    let gain = answer.changes.iter().find_map(|change| change.gain);
    gain.map(|Gain { cpus, .. }| format!("on {}", counted(cpus, "CPU"))).unwrap_or_default()
}

/// What a change gives; of one that pays only with another, which.
fn gain_of(answer: &Answer, change: &ProposedChange) -> String {
    let gain = change.gain.map(|gain| times(gain.range)).unwrap_or_default();
    let other = change.moves_to.map(|rank| {
        let other = answer.changes.iter().find(|other| other.finding == rank);
        match other {
            Some(other) => format!(" alone, pays with {}", other.number),
            None => format!(" alone: finding {rank} is the next limit"),
        }
    });
    gain + &other.unwrap_or_default()
}

/// What a finding's change gives the whole program; `None` where that was not predicted.
pub(crate) fn of_finding(answer: &Answer, rank: u64) -> Option<String> {
    let mut all = answer.changes.iter().chain(&answer.not_worth);
    let change = all.find(|change| change.finding == rank)?;
    let Gain { cpus, range } = change.gain?;
    let (faster, on) = (times(range), counted(cpus, "CPU"));
    let does = format!("the whole program does {faster} as much on {on}");
    Some(match change.moves_to {
        Some(other) => format!("{does}, since the load moves to finding {other}; change both"),
        None if range[0] >= 100.0 => format!("{does}, no longer limited by this line"),
        None => does,
    })
}

/// The changes that are not worth making: a sentence.
pub(crate) fn not_worth(answer: &Answer) -> Option<String> {
    let all = answer.not_worth.iter().map(|change| match &*change.place {
        "" => format!("finding {}", change.finding),
        place => format!("finding {} ({})", change.finding, short_place(place)),
    });
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| {
        format!("Not worth a change, since it would give less than 5 %: {}.", all.join(", "))
    })
}

/// A row of where the processor time went: the share, and what it is.
pub(crate) fn running(time: &TimeSplit) -> Vec<(String, String)> {
    time.running.iter().map(|part| row(part, cause(part.cause))).collect()
}

/// Rows of why CPUs were idle, those that matter.
pub(crate) fn idle(time: &TimeSplit) -> Vec<(String, String)> {
    /// A smaller part is nothing that a reader would change a program for.
    const WORTH_SAYING: f64 = 0.02;
    let parts = time.idle.iter().filter(|part| part.share >= WORTH_SAYING);
    parts
        .map(|part| match part.cause {
            TimeCause::Kernel => row(part, "asleep in the kernel"),
            other => row(part, cause(other)),
        })
        .collect()
}

fn row(part: &TimePart, cause: &str) -> (String, String) {
    (share(part.share), what(part, cause))
}

/// `in the kernel: futex 17 %, mmap 3.0 %`.
fn what(part: &TimePart, cause: &str) -> String {
    /// More are in the page and in JSON.
    const MAX_DETAILS: usize = 2;
    let details = part.details.iter().take(MAX_DETAILS).map(detail);
    let details = details.collect::<Vec<_>>().join(", ");
    if details.is_empty() { cause.to_owned() } else { format!("{cause}: {details}") }
}

/// `pool.lock 17 % (Pool::take, pool.rs:77; held by worker)`.
fn detail(detail: &TimeDetail) -> String {
    let at = detail.code.as_ref().map(place).filter(|at| !at.is_empty());
    let holder = detail.holder.as_ref().map(|holder| format!("held by {holder}"));
    let more: Vec<_> = at.into_iter().chain(holder).collect();
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    format!("{} {}{more}", detail.name, share(detail.share))
}

fn place(code: &Code) -> String {
    match &code.line {
        Some(line) => short_place(line),
        None => code.function.clone(),
    }
}

pub(crate) const fn cause(cause: TimeCause) -> &'static str {
    match cause {
        TimeCause::SharedLines => "waiting for shared lines",
        TimeCause::Kernel => "in the kernel",
        TimeCause::OwnWork => "its own work",
        TimeCause::Unseen => "not seen",
        TimeCause::Lock => "asleep in locks",
        TimeCause::OtherThreads => "asleep until another thread goes on",
        TimeCause::Io => "asleep until input or output is ready",
        TimeCause::Timer => "asleep for a set time",
        TimeCause::NoThreads => "no thread to run",
        TimeCause::NoCpu => "more threads than CPUs",
    }
}

/// `It used 1.8 of 6 CPUs, and other programs took 2 from it.`
pub(crate) fn used(time: &TimeSplit) -> String {
    /// Less is what any machine does beside.
    const WORTH_SAYING: f64 = 0.1;
    let mut all = format!("It used {} of {}", scaled(time.used), counted(scaled(time.cpus), "CPU"));
    if time.taken_by_others >= WORTH_SAYING {
        all += &format!(", and other programs took {} from it", scaled(time.taken_by_others));
    }
    if time.without_cpu >= WORTH_SAYING / 2.0 {
        all += &format!(
            "; its threads waited for a CPU for {} of their time",
            share(time.without_cpu)
        );
    }
    all + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(number: u64, finding: u64, gain: f64, moves_to: Option<u64>) -> ProposedChange {
        let gain = Some(Gain { cpus: 16, range: [gain, gain * 1.5] });
        let (place, what) =
            (format!("/home/me/s{number}.rs:4"), "put `a` on its own line".to_owned());
        ProposedChange { number, finding, place, what, gain, moves_to }
    }

    #[test]
    fn a_change_that_pays_with_another_names_it() {
        let answer = Answer {
            headline: String::new(),
            changes: vec![
                change(1, 3, 1.4, None),
                change(2, 1, 1.0, Some(3)),
                change(3, 4, 120.0, None),
            ],
            together: Some(Gain { cpus: 16, range: [2.0, 3.0] }),
            not_worth: vec![change(4, 7, 1.0, None)],
        };
        let rows = changes(&answer);
        let gains: Vec<_> = rows.iter().map(|row| &*row.gain).collect();
        assert_eq!(
            gains,
            ["1.4 to 2.1×", "1.0 to 1.5× alone, pays with 1", "over 100×", "2.0 to 3.0×"]
        );
        assert_eq!((&*rows[0].place, &*rows[3].what), ("s1.rs:4", "all"));
        assert_eq!(on_cpus(&answer), "on 16 CPUs");
        let of = |rank| of_finding(&answer, rank).unwrap();
        assert!(of(1).ends_with("the load moves to finding 3; change both"), "{}", of(1));
        assert!(of(4).ends_with("no longer limited by this line"), "{}", of(4));
        assert_eq!(of_finding(&answer, 9), None);
        let said = not_worth(&answer).unwrap();
        assert!(said.ends_with("less than 5 %: finding 7 (s4.rs:4)."), "{said}");
    }

    #[test]
    fn a_part_of_the_time_has_its_two_largest_details() {
        let detail = |name: &str, share, holder: Option<&str>| TimeDetail {
            name: name.to_owned(),
            share,
            holder: holder.map(str::to_owned),
            ..TimeDetail::default()
        };
        let details = vec![
            detail("pool.lock", 0.3, Some("worker")),
            detail("log.lock", 0.05, None),
            detail("x", 0.01, None),
        ];
        let part = TimePart { cause: TimeCause::Lock, share: 0.36, interval: [0.3, 0.4], details };
        let rare = TimePart {
            cause: TimeCause::Io,
            share: 0.01,
            interval: [0.0, 0.1],
            details: Vec::new(),
        };
        let time = TimeSplit {
            seconds: 10.0,
            cpus: 6.0,
            used: 1.8,
            taken_by_others: 2.0,
            dominant: TimeCause::Lock,
            running: Vec::new(),
            idle: vec![part, rare],
            without_cpu: 0.3,
        };
        let expected = "asleep in locks: pool.lock 30 % (held by worker), log.lock 5.0 %";
        assert_eq!(idle(&time), [("36 %".to_owned(), expected.to_owned())]);
        assert_eq!(
            used(&time),
            "It used 1.8 of 6 CPUs, and other programs took 2 from it; its threads waited for a CPU for 30 % of their time."
        );
    }
}
