//! The answer in short, as prose: what to change, where the time went.

use tenure_report::numbers::{counted, its_cpus, scaled, share, times, times_on};

use tenure_model::{
    Answer, Code, ProposedChange, Run, TimeCause, TimeDetail, TimePart, TimeSplit, short_place,
};

/// A row of the table of changes.
pub(crate) struct ChangeRow {
    /// Its number, the rank of the finding that it fixes; none for the sum and for advice.
    pub(crate) number: Option<u64>,
    pub(crate) place: String,
    pub(crate) what: String,
    /// `1.4 to 1.9×` in each column that [`on_cpus`] has, and what else there is to say of it.
    pub(crate) gains: Vec<String>,
}

/// The rows of the table: each change that pays, all of them together, and the advice.
pub(crate) fn changes(answer: &Answer) -> Vec<ChangeRow> {
    let row = |change: &ProposedChange| ChangeRow {
        number: Some(change.finding),
        place: short_place(&change.place),
        what: change.what.clone(),
        gains: gains_of(answer, change),
    };
    let unnumbered = |place, what, gains| ChangeRow { number: None, place, what, gains };
    let all = if answer.changes.len() == 2 { "both" } else { "all" };
    let together = (!answer.together.is_empty()).then(|| {
        let gains = answer.together.iter().map(|gain| times(gain.range)).collect();
        unnumbered(String::new(), all.to_owned(), gains)
    });
    let advice = answer.advice.as_ref().map(|advice| {
        let gain = advice.at_least.map(|least| format!("{} or more", times([least; 2])));
        unnumbered(short_place(&advice.place), advice.what.clone(), gain.into_iter().collect())
    });
    let mut rows: Vec<_> = answer.changes.iter().map(row).chain(together).chain(advice).collect();
    let columns = on_cpus(answer).len();
    rows.iter_mut().for_each(|row| row.gains.resize(columns, String::new()));
    rows
}

/// What the gains and places in the table are: some sentences.
pub(crate) fn read_so(answer: &Answer, run: &Run) -> Option<String> {
    let has_gains = answer.changes.iter().any(|change| !change.gains.is_empty());
    let machine = run.forecast.as_ref().map_or("machine", |it| &it.machine);
    let gains = has_gains.then(|| {
        format!("Gains are predicted on a simulated {machine}: over the unchanged program on as many of its CPUs, with a thread on each.")
    });
    let has_uses = answer.changes.iter().any(|change| change.is_use);
    let places = has_uses
        .then_some("Where debugging information has no declaration, the place is the busiest use.");
    let accesses = (has_gains && promises_more(answer, run)).then_some(
        "An access takes time on a line of its own too, so not all of the waiting is won back.",
    );
    let together = are_one(answer)
        .then_some("Alone, each leaves the others as the limit: make them together.");
    let advice = answer.advice.as_ref().and_then(|advice| advice.at_least);
    let advice = advice.map(
        |_| "What it gives follows from the times below, less a third for what they do not show.",
    );
    let fixed = together.into_iter().chain(accesses).chain(places).chain(advice).map(str::to_owned);
    let said: Vec<_> = gains.into_iter().chain(fixed).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// Whether all changes together give far more than one after the other would seem to.
fn are_one(answer: &Answer) -> bool {
    const FAR: f64 = 2.0;
    let alone = answer.changes.iter().filter_map(|change| change.gains.last());
    let alone: f64 = alone.map(|gain| gain.range[1].max(1.0)).product();
    answer.together.last().is_some_and(|all| all.range[0] > FAR * alone)
}

/// Whether a reader would expect more than the gains of what waiting takes.
fn promises_more(answer: &Answer, run: &Run) -> bool {
    let running = run.time.iter().flat_map(|time| &time.running);
    let waits = running.filter(|part| part.cause == TimeCause::SharedLines);
    let waits: f64 = waits.map(|part| part.share).sum();
    // The first gain is the one on fewest CPUs: those that the program has here, unless its roles need more.
    let all = answer
        .together
        .first()
        .into_iter()
        .chain(answer.changes.iter().flat_map(|it| it.gains.first()));
    let most = all.map(|gain| gain.range[1]).fold(1.0, f64::max);
    waits > 0.5 && most < 0.7 / (1.0 - waits)
}

/// `on 2 CPUs`, over each column of gains; none before anything was predicted.
pub(crate) fn on_cpus(answer: &Answer) -> Vec<String> {
    let on = |cpus| format!("on {}", counted(cpus, "CPU"));
    if let Some(change) = answer.changes.iter().find(|change| !change.gains.is_empty()) {
        return change.gains.iter().map(|gain| on(gain.cpus)).collect();
    }
    let advised = answer.advice.iter().filter(|advice| advice.at_least.is_some());
    advised.map(|advice| on(advice.cpus)).collect()
}

/// What a change gives; of one that pays only with another, which.
fn gains_of(answer: &Answer, change: &ProposedChange) -> Vec<String> {
    let mut gains: Vec<_> = change.gains.iter().map(|gain| times(gain.range)).collect();
    let other = change.moves_to.map(|rank| {
        match answer.changes.iter().any(|other| other.finding == rank) {
            true => format!(" alone: pays only with {rank}"),
            false => format!(" alone: finding {rank} is the next limit"),
        }
    });
    if let (Some(last), Some(other)) = (gains.last_mut(), other) {
        *last += &other;
    }
    gains
}

/// How to try changes that `tenure fix` can make, or that it can make none: a sentence.
pub(crate) fn try_it(answer: &Answer, run: &Run) -> Option<String> {
    let edits = answer.changes.iter().filter(|change| change.is_edit).count();
    let (them, copy) = match edits {
        0 => {
            let makes = match answer.changes.len() {
                0 => return None,
                1 => "does not make it",
                _ => "makes none of them",
            };
            return Some(format!("`tenure fix` {makes}: that takes more than an edit."));
        }
        1 => ("it", "makes the change"),
        _ => ("them", "makes the changes"),
    };
    // What is watched may be a server, which a benchmark loads.
    let command = if run.watched.is_some() { "BENCHMARK" } else { &run.command };
    Some(format!(
        "Try {them}: `tenure fix -- {command}` {copy} in a copy, builds, tests and measures."
    ))
}

/// What a finding's change gives the whole program; `None` where that was not predicted.
pub(crate) fn of_finding(answer: &Answer, rank: u64) -> Option<String> {
    let mut all = answer.changes.iter().chain(&answer.not_worth);
    let change = all.find(|change| change.finding == rank)?;
    let range = change.gains.last()?.range;
    let gains = times_on(change.gains.iter().map(|gain| (gain.range, gain.cpus)));
    let does = format!("the whole program does {gains}");
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

/// Rows of where the time of all CPUs went, the largest part first: the share, and what it is.
pub(crate) fn time(time: &TimeSplit) -> Vec<(String, String)> {
    /// A smaller part is nothing that a reader would change a program for.
    const WORTH_SAYING: f64 = 0.01;
    let of_cpus = time.used / time.cpus;
    let running =
        time.running.iter().map(|part| (part.share * of_cpus, of_cpus, part, cause(part.cause)));
    let idle = time.idle.iter().map(|part| match part.cause {
        TimeCause::Kernel => (part.share, 1.0, part, "asleep in the kernel"),
        other => (part.share, 1.0, part, cause(other)),
    });
    let mut rows: Vec<(f64, String)> = running
        .chain(idle)
        .map(|(share, of, part, cause)| (share, what(part, of, cause)))
        .collect();
    rows.push((time.taken_by_others / time.cpus, "taken by other programs".to_owned()));
    rows.retain(|(share, _)| *share >= WORTH_SAYING);
    rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    rows.into_iter().map(|(part, what)| (share(part), what)).collect()
}

/// `in the kernel: futex 17 %, mmap 3.0 %`.
fn what(part: &TimePart, of_cpus: f64, cause: &str) -> String {
    /// More are in JSON: the second as well, if it is less than this.
    const MAX_DETAILS: usize = 2;
    const WORTH_SAYING: f64 = 0.05;
    let is_worth = |(at, it): &(usize, &TimeDetail)| *at == 0 || it.share * of_cpus >= WORTH_SAYING;
    let details = part.details.iter().take(MAX_DETAILS).enumerate().filter(is_worth);
    let details = details.map(|(_, it)| detail(it, of_cpus));
    let details = details.collect::<Vec<_>>().join(", ");
    if details.is_empty() { cause.to_owned() } else { format!("{cause}: {details}") }
}

/// `pool.lock 17 % (Pool::take, pool.rs:77; held by worker)`.
fn detail(detail: &TimeDetail, of_cpus: f64) -> String {
    let at = detail.code.as_ref().map(place).filter(|at| !at.is_empty());
    let caller = detail.caller.as_ref().map(|caller| match &caller.line {
        Some(line) => format!("called in {}() at {}", caller.function, short_place(line)),
        None => format!("called in {}()", caller.function),
    });
    let holder = detail.holder.as_ref().map(|holder| format!("held by {holder}"));
    let more: Vec<_> = at.into_iter().chain(caller).chain(holder).collect();
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    format!("{} {}{more}", detail.name, share(detail.share * of_cpus))
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

/// `Where the time of its 6 CPUs went (it used 1.8)`.
pub(crate) fn used(time: &TimeSplit) -> String {
    format!("Where the time of {} went (it used {})", its_cpus(time.cpus), scaled(time.used))
}

#[cfg(test)]
mod tests {
    use tenure_model::{Advice, Gain, Source};

    use super::*;
    use crate::fixtures;

    fn change(finding: u64, gain: f64, moves_to: Option<u64>) -> ProposedChange {
        let on = |cpus, gain: f64| Gain { cpus, range: [gain, gain * 1.5] };
        ProposedChange {
            finding,
            place: format!("/home/me/s{finding}.rs:4"),
            is_use: finding == 1,
            what: "put `a` on its own cache line".to_owned(),
            is_edit: finding != 4,
            gains: vec![on(2, 1.0), on(16, gain)],
            moves_to,
        }
    }

    fn answer() -> Answer {
        let together = [2, 16].map(|cpus| Gain { cpus, range: [2.0, 3.0] });
        Answer {
            headline: String::new(),
            changes: vec![change(3, 1.4, None), change(1, 1.0, Some(3)), change(4, 120.0, None)],
            together: together.to_vec(),
            not_worth: vec![change(7, 1.0, None)],
            advice: None,
        }
    }

    fn run() -> Run {
        let Source::Run(run) = fixtures::run().source else { panic!("a run") };
        run
    }

    #[test]
    fn a_change_that_pays_with_another_names_it() {
        let answer = answer();
        let rows = changes(&answer);
        let gains: Vec<_> = rows.iter().map(|row| &*row.gains[1]).collect();
        assert_eq!(
            gains,
            ["1.4 to 2.1×", "1.0 to 1.5× alone: pays only with 3", "over 100×", "2.0 to 3.0×"]
        );
        assert_eq!(rows[1].gains[0], "1.0 to 1.5×");
        let numbers: Vec<_> = rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, [Some(3), Some(1), Some(4), None], "those of their findings");
        assert_eq!((&*rows[0].place, &*rows[3].what), ("s3.rs:4", "all"));
        let mut run = run();
        let said = read_so(&answer, &run).unwrap();
        assert!(said.ends_with("the busiest use."), "of the second: {said}");
        assert!(!said.contains("Alone"), "the third gives more: {said}");
        let mut of_two = answer.clone();
        of_two.changes.truncate(2);
        of_two.together[1].range = [8.0, 9.0];
        assert!(read_so(&of_two, &run).unwrap().contains("Alone, each"), "2.1 and 1.5 times");
        let waits = serde_json::json!({"seconds": 1.0, "cpus": 2.0, "used": 2.0, "taken_by_others": 0.0, "dominant": "shared_lines", "idle": [],
            "without_cpu": 0.0, "running": [{"cause": "shared_lines", "share": 0.99, "interval": [0.9, 1.0], "details": []}]});
        run.time = Some(serde_json::from_value(waits).unwrap());
        let few = Answer { changes: vec![answer.changes[0].clone()], ..answer.clone() };
        assert!(read_so(&few, &run).unwrap().contains("An access takes time"));
        run.time.as_mut().unwrap().running[0].share = 0.6;
        assert!(!promises_more(&few, &run), "2.5 times, of which some is had");
        assert_eq!(on_cpus(&answer), ["on 2 CPUs", "on 16 CPUs"]);
        let of = |rank| of_finding(&answer, rank).unwrap();
        assert!(
            of(3).ends_with("does 1.0 to 1.5× as much on 2 CPUs, and 1.4 to 2.1× on 16"),
            "{}",
            of(3)
        );
        assert!(of(1).ends_with("the load moves to finding 3; change both"), "{}", of(1));
        assert!(of(4).ends_with("no longer limited by this line"), "{}", of(4));
        assert_eq!(of_finding(&answer, 9), None);
        let said = not_worth(&answer).unwrap();
        assert!(said.ends_with("less than 5 %: finding 7 (s7.rs:4)."), "{said}");
    }

    #[test]
    fn advice_is_a_row_without_a_number_and_says_what_it_gives_here() {
        let advice = Advice {
            place: "/home/me/pool.rs:7".to_owned(),
            what: "hold it for less".to_owned(),
            cpus: 6,
            at_least: Some(1.9),
        };
        let alone =
            Answer { advice: Some(advice), changes: Vec::new(), together: Vec::new(), ..answer() };
        let rows = changes(&alone);
        let [row] = &rows[..] else { panic!("one row") };
        assert_eq!((row.number, &*row.place, &*row.gains[0]), (None, "pool.rs:7", "1.9× or more"));
        assert_eq!(on_cpus(&alone), ["on 6 CPUs"]);
        assert_eq!(try_it(&alone, &run()), None, "it is no edit");
    }

    #[test]
    fn what_can_be_tried_is_said_with_the_command() {
        let (mut answer, mut run) = (answer(), run());
        let said = try_it(&answer, &run).unwrap();
        assert!(said.starts_with("Try them: `tenure fix -- "), "{said}");
        assert!(said.contains(&run.command), "{said}");
        answer.changes.truncate(1);
        let Source::Run(watched) = fixtures::watched().source else { panic!("a run") };
        run.watched = watched.watched;
        let said = try_it(&answer, &run).unwrap();
        assert!(said.starts_with("Try it: `tenure fix -- BENCHMARK` makes the change"), "{said}");
        answer.changes[0].is_edit = false;
        let said = try_it(&answer, &run).unwrap();
        assert!(said.starts_with("`tenure fix` does not make it"), "{said}");
    }

    #[test]
    fn the_parts_of_the_time_are_of_all_cpus_with_their_two_largest_details() {
        let expected = [
            ("36 %", "asleep in locks: pool.lock 30 % (held by worker), log.lock 5.0 %"),
            ("33 %", "taken by other programs"),
            ("30 %", "its own work: step 15 % (a.rs:7; called in run() at a.rs:9)"),
        ];
        let rows = super::time(&time());
        let rows: Vec<_> = rows.iter().map(|(share, what)| (&**share, &**what)).collect();
        assert_eq!(rows, expected);
        assert_eq!(used(&time()), "Where the time of its 6 CPUs went (it used 1.8)");
    }

    fn time() -> TimeSplit {
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
        let part = |cause, share, details| TimePart { cause, share, interval: [0.0, 1.0], details };
        let code = |function: &str, line: &str| {
            let line = Some(line.to_owned());
            Some(Code { function: function.to_owned(), line, ..Code::default() })
        };
        let step = TimeDetail {
            code: code("step", "a.rs:7"),
            caller: code("run", "a.rs:9"),
            ..detail("step", 0.5, None)
        };
        TimeSplit {
            seconds: 10.0,
            cpus: 6.0,
            used: 1.8,
            taken_by_others: 2.0,
            dominant: TimeCause::Lock,
            running: vec![part(TimeCause::OwnWork, 1.0, vec![step])],
            idle: vec![
                part(TimeCause::Lock, 0.36, details),
                part(TimeCause::Io, 0.005, Vec::new()),
            ],
            without_cpu: 0.3,
        }
    }
}
