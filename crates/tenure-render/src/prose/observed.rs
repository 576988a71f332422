//! What a run showed, as prose.

use std::collections::BTreeSet;

use tenure_report::numbers::{number, scaled};

use super::answer::of_finding;
use super::predicted::predicting;
pub(crate) use super::predicted::{curves, gain, took};
pub(crate) use super::{access, share};
use super::{counted, level, ratio, watched, whole};
use tenure_model::{
    Access, Code, Ended, Finding, Level, LockHeld, Observed, Repair, Report, Run, Sharing, Storage,
    TimeCause, Use, Word, short_path, short_place, signal_name,
};

/// `exited with 0 after 10 s, 16 threads`.
pub(crate) fn lived(run: &Run) -> String {
    let time = match run.ended {
        Ended::Running => format!("watched for {} s", number(run.seconds)),
        _ => format!("{} after {} s", ended(run), number(run.seconds)),
    };
    let processes = match run.processes {
        0 => return time,
        1 => String::new(),
        more => format!("{} processes, ", whole(more)),
    };
    let threads = counted(run.threads, "thread");
    let on = run.cpus.map(|cpus| format!(" on {}", counted(cpus, "CPU"))).unwrap_or_default();
    format!("{time}, {processes}{threads}{on}")
}

/// What was recorded of a run, and what that took.
pub(crate) fn recorded(run: &Run) -> String {
    let recorded = match &run.watched {
        _ if run.processes == 0 => return String::new(),
        Some(watched) => watched::did(watched),
        None => format!(
            "{} accesses counted, {} of them to contended lines",
            scaled_whole(run.accesses),
            share(ratio(run.contended, run.accesses)),
        ),
    };
    recorded + &predicting(run)
}

pub(crate) fn ended(run: &Run) -> String {
    match &run.ended {
        Ended::Exited { status } => format!("exited with {status}"),
        Ended::Killed { signal } => format!("was ended by {}", signal_name(*signal)),
        Ended::Running => "was still running".to_owned(),
        Ended::Unknown => "ended".to_owned(),
    }
}

pub(super) fn found(report: &Report, run: &Run) -> String {
    let shown = report.findings.len() as u64;
    let all = report.scope.findings.max(shown);
    let doubtful =
        report.findings.iter().filter(|it| it.confidence.level == Level::Low).count() as u64;
    let coverage = run.watched.as_ref().and_then(|watched| watched.coverage.as_ref());
    let found = match (all, shown) {
        _ if run.processes == 0 => nothing(run).to_owned(),
        (0, _) if !run.doubts.is_empty() => watched::too_little(false, &run.doubts),
        (0, _) if run.left_out > 0 => left_out(run.left_out),
        (0, _) if run.contended > 0 => {
            "No cache line changed hands often enough to matter.".to_owned()
        }
        (0, _) if coverage.is_some() => String::new(),
        (0, _) => "No cache line was contended.".to_owned(),
        _ if doubtful > 0 && coverage.is_some() => watched::doubtful(all - doubtful, doubtful),
        (all, 0) => format!("{}.", counted(all, "contended line")),
        (1, _) => "1 contended line.".to_owned(),
        (all, shown) if all == shown => format!("{} contended lines, the worst first.", whole(all)),
        (all, shown) => format!("{} contended lines; {}.", whole(all), worst(shown)),
    };
    let watched = run.watched.as_ref().filter(|_| run.processes > 0);
    let excluded = watched.and_then(|it| watched::excluded(it, all > 0, run.time.is_some()));
    [found, excluded.unwrap_or_default()].join(" ").trim().to_owned()
}

/// That no line is shown though so many could change hands often: [`missing`] says why.
fn left_out(lines: u64) -> String {
    let (are, reasons) = if lines == 1 { ("is", "reason") } else { ("are", "reasons") };
    let lines = counted(lines, "cache line");
    format!("{lines} could change hands often, but {are} left out for the {reasons} below.")
}

/// Why there is no process in a report.
fn nothing(run: &Run) -> &'static str {
    let program = run.command.split(' ').next().unwrap_or_default();
    let is_cargo = program.rsplit('/').next() == Some("cargo");
    match run.ended {
        _ if run.watched.is_some() => {
            "Nothing was seen: the program ended before it could be watched."
        }
        Ended::Exited { status: 0 } => "Nothing was recorded: no instrumented program ran.",
        _ if is_cargo => "Nothing was recorded: the build did not finish.",
        _ => "Nothing was recorded: no instrumented program ran.",
    }
}

/// `these are the worst 20`.
pub(super) fn worst(shown: u64) -> String {
    match shown {
        1 => "this is the worst".to_owned(),
        _ => format!("these are the worst {}", whole(shown)),
    }
}

/// What is missing from a report of a run: each a sentence.
pub(crate) fn missing(report: &Report, run: &Run) -> Vec<String> {
    let mut all = run.missing.clone();
    if !report.findings.is_empty() {
        all.extend_from_slice(&run.doubts);
    }
    if run.dropped > 0 {
        all.push(format!(
            "{} accesses to contended lines were dropped: there was no room for them.",
            whole(run.dropped)
        ));
    }
    all.extend(run.watched.as_ref().and_then(|it| watched::shared(it)));
    all.extend(names(report));
    all
}

/// Which share of the findings has names, unless all have.
fn names(report: &Report) -> Option<String> {
    let all = &report.findings;
    let of =
        |has: &dyn Fn(&Finding) -> bool| all.iter().filter(|finding| has(finding)).count() as u64;
    let typed = of(&|finding| !finding.type_name.is_empty());
    let members = of(&|finding| !finding.contended.path.is_empty());
    let lines = of(&|finding| {
        finding
            .contended
            .uses
            .iter()
            .any(|it| it.code.as_ref().is_some_and(|code| code.line.is_some()))
    });
    let all = all.len() as u64;
    if typed.min(members).min(lines) == all {
        return None;
    }
    let part = |part: u64| share(ratio(part, all));
    Some(format!(
        "Of these lines {} have a type, {} a member, {} a line of code.",
        part(typed),
        part(members),
        part(lines)
    ))
}

#[allow(clippy::cast_precision_loss)] // Two digits are shown.
fn scaled_whole(count: u64) -> String {
    scaled(count as f64)
}

/// Where the line is: `server.rs:41, allocated in accept() at server.rs:112, 4,096 objects of 200 bytes, line 0`.
pub(crate) fn place(finding: &Finding, observed: &Observed, line_bytes: u64) -> String {
    let size = observed.size.map(|size| counted(size, "byte"));
    let mut parts: Vec<String> = finding.declared.iter().map(|at| short_place(at)).collect();
    match &observed.storage {
        Storage::Static { name } if name.is_empty() => parts.push("a variable".to_owned()),
        Storage::Static { name } => parts.push(format!("variable {}", short_path(name, 1))),
        Storage::Heap { objects, allocated } => {
            parts.extend(allocated.iter().map(|code| match (&code.line, code.function.as_str()) {
                (Some(line), "") => format!("allocated at {}", short_place(line)),
                (Some(line), function) => {
                    format!("allocated in {} at {}", call(function), short_place(line))
                }
                (None, function) => format!("allocated in {}", call(function)),
            }));
            let of = size.as_ref().map(|size| format!(" of {size}")).unwrap_or_default();
            parts.push(format!("{}{of}", counted(*objects, "object")));
        }
        Storage::Stack { thread } => parts.push(format!("on the stack of {thread}")),
        Storage::Mapped => parts.push("mapped memory".to_owned()),
    }
    if !matches!(observed.storage, Storage::Heap { .. }) {
        parts.extend(size);
    }
    match &finding.sharing {
        Sharing::Elements { stride, .. } => {
            parts.push(format!("elements of {}", counted(*stride, "byte")));
        }
        Sharing::Statics { .. } => parts.push("beside other variables".to_owned()),
        Sharing::Objects => parts.push("beside other objects".to_owned()),
        Sharing::Within | Sharing::Embedding { .. } => parts.push(line(observed, line_bytes)),
    }
    parts.join(", ")
}

/// What a forecast counts.
pub(crate) const ITERATION: &str =
    "In an iteration a thread makes its most frequent write to these lines once.";

/// Whether what limits the program is simulated: threads that sleep are not.
pub(crate) fn is_simulated(run: &Run) -> bool {
    use TimeCause::{Io, Lock, NoThreads, OtherThreads, Timer};
    let sleeps = [Lock, OtherThreads, Io, Timer, NoThreads];
    run.time.as_ref().is_none_or(|time| !sleeps.contains(&time.dominant))
}

/// What a lock guards, for how long it is held, and for what: `It guards Table.map and Table.len, is held for 120 ns each time,
/// and 98 % of its holders only read.`
pub(crate) fn lock(finding: &Finding) -> Option<String> {
    /// More are in the page and in JSON.
    const MAX_NAMES: usize = 4;
    let LockHeld { guards, held_ns, readers } = finding.lock.as_ref()?;
    let guards = (!guards.is_empty()).then(|| {
        let more = match guards.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = guards.iter().take(MAX_NAMES).map(|name| short_path(name, 1));
        format!("guards {}{more}", names.collect::<Vec<_>>().join(", "))
    });
    let held = held_ns.map(|held| format!("is held for {} ns each time", number(held)));
    // Less is shown as none.
    let readers = readers.filter(|of| *of >= 0.005);
    let readers = readers.map(|readers| format!("{} of its holders only read", share(readers)));
    let parts: Vec<_> = [guards, held, readers].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("It {}.", parts.join("; ")))
}

fn call(function: &str) -> String {
    let brackets = if function.ends_with(')') { "" } else { "()" };
    short_path(function, 1) + brackets
}

fn line(observed: &Observed, line_bytes: u64) -> String {
    let offset = observed.line_offset;
    match u64::try_from(offset) {
        Ok(offset) if offset.is_multiple_of(line_bytes.max(1)) => {
            format!("line {}", offset / line_bytes.max(1))
        }
        _ => format!("the line from byte {offset}"),
    }
}

/// What is known of a line, and how sure that is: a sentence or two.
pub(crate) fn evidence(finding: &Finding, observed: &Observed) -> String {
    if let Some(cost) = observed.cost {
        let interval = observed.evidence.as_ref().map(watched::interval);
        let interval = interval.map(|it| format!(", {it}")).unwrap_or_default();
        return format!(
            "At most {} of the time that could be seen{interval}. Confidence {}: {}.",
            share(cost),
            level(finding.confidence.level),
            finding.confidence.why,
        );
    }
    format!(
        "{} of all accesses to contended lines ({}). {} changes of owner were possible. Confidence {}: {}.",
        share(finding.score / 100.0),
        scaled_whole(observed.accesses),
        scaled_whole(observed.possible_changes),
        level(finding.confidence.level),
        finding.confidence.why,
    )
}

/// `worker ×8: add 1.2 M/s (Session::get, server.rs:52 ← Server::handle, server.rs:80)`.
pub(crate) fn used(it: &Use) -> String {
    let threads = threads(it);
    let (operation, rate) = (access(it.operation), scaled(it.per_second));
    let at = at(it);
    let at = if at.is_empty() { at } else { format!(" ({at})") };
    format!("{threads}: {operation} {rate}/s{at}")
}

/// `Session::get, server.rs:52 ← Server::handle, server.rs:80 ← run`: where it is done, and who called that.
pub(crate) fn at(it: &Use) -> String {
    let first = it.code.as_ref().map(code);
    let callers = it.callers.iter().enumerate().map(|(at, caller)| match at {
        0 => code(caller),
        _ => short_path(&caller.function, 2),
    });
    let all = first.into_iter().chain(callers).filter(|frame| !frame.is_empty());
    all.collect::<Vec<_>>().join(" ← ")
}

/// `52 │ self.refs.fetch_add(1, Relaxed);`: the line of source.
pub(crate) fn source(it: &Use) -> Option<String> {
    let code = it.code.as_ref()?;
    let number = code.line.as_deref()?.rsplit(':').next()?;
    Some(format!("{number} │ {}", code.source.as_ref()?))
}

/// `worker ×8`.
pub(crate) fn threads(it: &Use) -> String {
    if it.count == 1 { it.threads.clone() } else { format!("{} ×{}", it.threads, whole(it.count)) }
}

/// `Session::get, server.rs:52`.
pub(crate) fn code(code: &Code) -> String {
    let function = Some(short_path(&code.function, 2)).filter(|name| !name.is_empty());
    let line = code.line.as_deref().map(short_place);
    [function, line].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Words that the same threads use in the same way at the same place are one row.
pub(crate) struct WordUseRow<'a> {
    /// The word's path, or its offset; "another object" for what lies behind this one.
    pub(crate) name: String,
    pub(crate) offset: String,
    pub(crate) first: &'a Word,
    /// Those of the first word, with the threads of all.
    pub(crate) uses: Vec<Use>,
}

pub(crate) fn rows(finding: &Finding) -> Vec<WordUseRow<'_>> {
    fn key(word: &Word) -> Vec<(&str, Access, Option<&Code>)> {
        word.uses.iter().map(|it| (&*it.threads, it.operation, it.code.as_ref())).collect()
    }
    let mut groups: Vec<Vec<&Word>> = Vec::new();
    for word in finding.written_first() {
        let same = |group: &&mut Vec<&Word>| key(group[0]) == key(word) && !word.uses.is_empty();
        match groups.iter_mut().find(same) {
            Some(group) => group.push(word),
            None => groups.push(vec![word]),
        }
    }
    groups.into_iter().map(|group| row(finding, &group)).collect()
}

/// Its path, or its offset; what lies behind the object is another's.
fn name(finding: &Finding, word: &Word) -> String {
    let size = finding.observed.as_ref().and_then(|it| it.size);
    let is_beside = finding.sharing == Sharing::Objects
        && size.is_some_and(|size| !u64::try_from(word.offset).is_ok_and(|it| it < size));
    match word.path.is_empty() && is_beside {
        true => "another object".to_owned(),
        false => word.name(),
    }
}

fn row<'a>(finding: &Finding, group: &[&'a Word]) -> WordUseRow<'a> {
    let (first, last) = (group[0], group[group.len() - 1]);
    let both = |of: &dyn Fn(&Word) -> String| match group.len() {
        1 => of(first),
        2 => format!("{}, {}", of(first), of(last)),
        _ => format!("{} … {}", of(first), of(last)),
    };
    let mut uses = first.uses.clone();
    for (at, it) in uses.iter_mut().enumerate() {
        let all = group.iter().filter_map(|word| word.uses.get(at));
        // A thread that does it to several words is one.
        let ids: BTreeSet<u64> = all.clone().flat_map(|it| &it.ids).copied().collect();
        let most = all.clone().map(|it| it.count).fold(0, u64::max);
        it.count = most.max(ids.len() as u64);
        it.ids = ids.into_iter().collect();
        let sum: f64 = all.map(|it| it.per_second).sum();
        it.per_second = sum / group.len() as f64;
    }
    // Writes are what makes the others wait.
    let is_shown = |it: &Use| it.operation.writes() && it.count >= uses[0].count / 2;
    if let Some(at) = uses.iter().position(is_shown) {
        uses[..=at].rotate_right(1);
    }
    let offset = both(&|word| format!("{:+}", word.offset));
    WordUseRow { name: both(&|word| name(finding, word)), offset, first, uses }
}

/// `put `refs` on its own cache line (+64 bytes an object): the whole program does 1.4 to 1.9× as much on 16 CPUs`. Of an alternative to
/// the change that the answer names, only the line alone was simulated.
pub(crate) fn repair(report: &Report, finding: &Finding, repair: &Repair) -> String {
    let is_first = finding.repairs.first() == Some(repair);
    let answer = report.answer.as_ref().filter(|_| is_first);
    let gain = answer.and_then(|answer| of_finding(answer, finding.rank));
    let gain = gain.map(|gain| format!(": {gain}")).unwrap_or_default();
    let what = if repair.brief.is_empty() { &repair.text } else { &repair.brief };
    let cost = Some(cost(repair)).filter(|_| repair.bytes > 0);
    let cost = cost.map(|cost| format!(" ({cost})")).unwrap_or_default();
    format!("{}{cost}{gain}", what.trim_end_matches('.'))
}

/// `+64 bytes an object`, `+64 bytes a thread`.
pub(crate) fn cost(repair: &Repair) -> String {
    let of = if repair.per_thread { "a thread" } else { "an object" };
    format!("+{} {of}", counted(repair.bytes, "byte"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn the_threads_of_several_words_are_those_that_use_any_of_them() {
        let mut report = fixtures::run();
        let counters = &mut report.findings[1];
        let threads = |finding: &Finding| threads(&rows(finding)[0].uses[0]);
        assert_eq!(threads(counters), "worker ×4", "an element each");
        // Two members of the same elements, one of which a thread does not use.
        let one = &mut counters.contended.uses[0];
        (one.ids, one.count) = ((1..=4).collect(), 4);
        counters.victims.truncate(1);
        let other = &mut counters.victims[0].uses[0];
        (other.ids, other.count) = ((2..=4).collect(), 3);
        assert_eq!(threads(counters), "worker ×4");
    }

    #[test]
    fn a_report_without_a_process_says_why() {
        let report = fixtures::run();
        let tenure_model::Source::Run(mut run) = report.source.clone() else {
            panic!("{report:?}")
        };
        let exited = |status| Ended::Exited { status };
        run.processes = 0;
        let killed = Ended::Killed { signal: 2 };
        for (command, ended, expected) in [
            ("cargo run --release", exited(101), "the build did not finish"),
            ("/usr/bin/cargo run", killed, "the build did not finish"),
            ("cargo run", exited(0), "no instrumented program ran"),
            ("./cargo.sh", exited(1), "no instrumented program ran"),
        ] {
            (run.command, run.ended) = (command.to_owned(), ended);
            assert!(found(&report, &run).contains(expected), "{command}");
        }
        let tenure_model::Source::Run(watched) = fixtures::watched().source else { panic!() };
        run.watched = watched.watched;
        let said = found(&report, &run);
        assert!(said.ends_with("the program ended before it could be watched."), "{said}");
    }

    #[test]
    fn contended_lines_are_counted_with_and_without_findings() {
        let mut report = fixtures::run();
        let tenure_model::Source::Run(run) = report.source.clone() else { panic!("{report:?}") };
        for (all, shown, expected) in [
            (1, 1, "1 contended line."),
            (1, 0, "1 contended line."),
            (7, 0, "7 contended lines."),
            (7, 1, "7 contended lines; this is the worst."),
        ] {
            report.findings = fixtures::run().findings;
            report.findings.truncate(shown);
            report.scope.findings = all;
            assert_eq!(found(&report, &run), expected);
        }
    }

    #[test]
    fn silence_of_a_run_that_proves_nothing_is_no_all_clear() {
        let mut report = fixtures::run();
        let tenure_model::Source::Run(mut run) = report.source.clone() else {
            panic!("{report:?}")
        };
        run.doubts = vec!["Its threads never met.".to_owned()];
        assert!(missing(&report, &run).contains(&run.doubts[0]));
        report.findings.clear();
        report.scope.findings = 0;
        let expected =
            "Too little seen to say whether a cache line is contended. Its threads never met.";
        assert_eq!(found(&report, &run), expected);
        assert!(!missing(&report, &run).contains(&run.doubts[0]), "it is not said twice");
    }

    #[test]
    fn lines_that_hardly_changed_hands_were_contended_all_the_same() {
        let mut report = fixtures::run();
        report.findings.clear();
        report.scope.findings = 0;
        let tenure_model::Source::Run(mut run) = report.source.clone() else {
            panic!("{report:?}")
        };
        for (contended, left_out, expected) in [
            (0, 0, "No cache line was contended."),
            (1, 0, "No cache line changed hands often enough to matter."),
            (1, 1, "1 cache line could change hands often, but is left out for the reason below."),
            (
                1,
                2,
                "2 cache lines could change hands often, but are left out for the reasons below.",
            ),
        ] {
            (run.contended, run.left_out) = (contended, left_out);
            assert_eq!(found(&report, &run), expected);
        }
    }
}
