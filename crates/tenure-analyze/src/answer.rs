//! The answer in short: from a report's findings, from where the time went, and from what changes give.

use tenure_model::{
    Answer, Coverage, Finding, Gain, Level, ProposedChange, Report, Source, TimeCause, TimePart,
    TimeSplit,
};
use tenure_report::numbers::{counted, share, times_on};

use crate::advice::{advice as advice_on, held_back, unfair};

/// What a headline says as long as predictions may follow.
const NOT_YET: &str = "What changes would give is being predicted, and follows.";

/// A change that gives the whole program less is not worth making.
pub(crate) const WORTH: f64 = 1.05;

/// What changes give the whole program.
#[derive(Debug, Default)]
pub(crate) struct ProgramGains {
    /// Those that were simulated, the one that gives most first.
    pub(crate) changes: Vec<ChangeGain>,
    /// All that pay, together; none if there is one at most.
    pub(crate) together: Vec<Gain>,
}

/// What fixing one finding gives the whole program.
#[derive(Debug)]
pub(crate) struct ChangeGain {
    /// The finding's rank.
    pub(crate) rank: u64,
    /// For each number of CPUs. The last decides whether it pays.
    pub(crate) gains: Vec<Gain>,
    /// How many times as much the program does there.
    pub(crate) expected: f64,
    /// The rank of the finding that has to be fixed as well.
    pub(crate) moves_to: Option<u64>,
}

impl ChangeGain {
    pub(crate) fn pays(&self) -> bool {
        self.expected >= WORTH || self.moves_to.is_some()
    }
}

/// The answer: before anything was predicted, the changes that may pay.
pub(crate) fn answer(report: &Report, gains: Option<&ProgramGains>) -> Answer {
    use TimeCause::{NoCpu, OwnWork, SharedLines, Unseen};
    let change = |finding: &Finding, of: Option<&ChangeGain>| {
        let repair = finding.repairs.first()?;
        let what = Some(&repair.brief).filter(|brief| !brief.is_empty());
        Some(ProposedChange {
            finding: finding.rank,
            place: finding.place().unwrap_or_default().to_owned(),
            is_use: finding.declared.is_none() && finding.place().is_some(),
            what: what.unwrap_or(&repair.name).clone(),
            is_edit: repair.is_edit(),
            gains: of.map(|of| of.gains.clone()).unwrap_or_default(),
            moves_to: of.and_then(|of| of.moves_to),
        })
    };
    let (mut changes, mut not_worth) = (Vec::new(), Vec::new());
    match gains {
        None => {
            for finding in &report.findings {
                let Some(change) = change(finding, None) else { continue };
                let hardly_costs = at_most(finding).is_some_and(|most| most < WORTH - 1.0);
                if hardly_costs { &mut not_worth } else { &mut changes }.push(change);
            }
        }
        Some(gains) => {
            for of in &gains.changes {
                let finding = report.findings.iter().find(|finding| finding.rank == of.rank);
                let Some(change) = finding.and_then(|finding| change(finding, Some(of))) else {
                    continue;
                };
                if of.pays() { &mut changes } else { &mut not_worth }.push(change);
            }
        }
    }
    let together = gains.filter(|_| changes.len() > 1);
    let together = together.map(|gains| gains.together.clone()).unwrap_or_default();
    let time = match &report.source {
        Source::Run(run) => run.time.as_ref(),
        Source::Types(_) => None,
    };
    let mut sentences: Vec<String> = time.and_then(unfair).into_iter().collect();
    let of_lines = of_lines(report, gains.is_some(), &changes, &together);
    let is_elsewhere =
        time.is_some_and(|time| ![SharedLines, Unseen, OwnWork, NoCpu].contains(&time.dominant));
    let waits = time.is_some_and(|time| time.dominant == SharedLines);
    // What changes of lines give comes first where something else costs more.
    match time.and_then(held_back) {
        Some(held_back) if changes.is_empty() || waits => {
            sentences.extend([held_back, of_lines]);
        }
        Some(held_back) if is_elsewhere => {
            sentences.extend([of_lines, format!("More is lost elsewhere. {held_back}")]);
        }
        _ => sentences.push(of_lines),
    }
    sentences.extend(time.and_then(unseen));
    let advice = time.filter(|_| changes.is_empty() || is_elsewhere);
    let (headline, advice) = (sentences.join(" "), advice.and_then(advice_on));
    Answer { headline, changes, together, not_worth, advice }
}

/// Why no prediction follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpredicted {
    /// No line can be simulated.
    Impossible,
    /// None was asked for.
    Unasked,
    /// Predicting ended early.
    CutShort,
}

/// Says in the answer that no prediction follows, if none did.
pub fn leave_unpredicted(report: &mut Report, why: Unpredicted) {
    let why = match why {
        Unpredicted::Impossible => "What changes would give cannot be predicted.",
        Unpredicted::Unasked => "What changes would give was not asked for (--no-predict).",
        Unpredicted::CutShort => "What changes would give was not predicted: that was cut short.",
    };
    if let Some(answer) = &mut report.answer {
        answer.headline = answer.headline.replace(NOT_YET, why);
    }
}

/// What cache lines cost, and what changing them gives: a sentence.
fn of_lines(
    report: &Report,
    is_predicted: bool,
    changes: &[ProposedChange],
    together: &[Gain],
) -> String {
    let has_time = matches!(&report.source, Source::Run(run) if run.time.is_some());
    let gains = match (together, changes.first()) {
        ([], Some(change)) => &change.gains,
        _ => together,
    };
    match (changes.len(), gains) {
        _ if report.findings.is_empty() => without_findings(report),
        (0, _) => {
            let worth = if is_predicted { "that makes it 5 % faster" } else { "that applies" };
            let known = format!("no change of them is known {worth}");
            let least =
                report.findings.iter().map(at_most).try_fold(0.0, |sum, it| Some(sum + it?));
            match least {
                Some(most) if most < WORTH - 1.0 => {
                    format!(
                        "Cache lines hardly matter: those found cost at most {}{}.",
                        share(most),
                        coverage(report).map(missed).unwrap_or_default()
                    )
                }
                _ => format!("{}, but {known}.", lines(report)),
            }
        }
        (_, []) => format!("{}. {NOT_YET}", lines(report)),
        (count, gains) => {
            let what = match count {
                1 => "One change".to_owned(),
                count => format!("{} together", counted(count, "change")),
            };
            let gains = times_on(gains.iter().map(|gain| (gain.range, gain.cpus)));
            // Where the time went is known of a watched program alone.
            let first = if has_time { String::new() } else { format!("{}. ", lines(report)) };
            format!("{first}{what} would let it do {gains}.")
        }
    }
}

/// `2 contended cache lines (lock, false sharing)`; lines that were seen too rarely to be sure may be contended.
fn lines(report: &Report) -> String {
    /// The findings have more.
    const MAX_FAULTS: usize = 3;
    let is_sure = |finding: &&Finding| finding.confidence.level > Level::Low;
    let sure: Vec<_> = report.findings.iter().filter(is_sure).collect();
    if sure.is_empty() {
        return format!("{} may be contended", counted(report.findings.len(), "cache line"));
    }
    let mut faults = Vec::new();
    for finding in &sure {
        let fault = finding.fault();
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults.truncate(MAX_FAULTS);
    format!("{} ({})", counted(sure.len(), "contended cache line"), faults.join(", "))
}

/// What a finding of a watched program costs at most, with 95 % confidence.
fn at_most(finding: &Finding) -> Option<f64> {
    Some(finding.observed.as_ref()?.evidence?.share[1])
}

fn coverage(report: &Report) -> Option<&Coverage> {
    let Source::Run(run) = &report.source else { return None };
    run.watched.as_ref()?.coverage.as_ref()
}

/// What a line without a finding may cost: `; one that costs less than 12 % could have been missed`.
fn missed(coverage: &Coverage) -> String {
    /// Less is nothing that a reader has to know first.
    const MAX_SILENT: f64 = 0.15;
    let of = match coverage.unseen() {
        unseen @ MAX_SILENT.. => format!(" of the {} that could be seen", share(1.0 - unseen)),
        _ => String::new(),
    };
    format!("; one that costs less than {}{of} could have been missed", share(coverage.excludes))
}

fn without_findings(report: &Report) -> String {
    let Source::Run(run) = &report.source else {
        return "No contended cache line was found.".to_owned();
    };
    match (coverage(report), run.left_out) {
        (coverage, _)
            if !run.doubts.is_empty() || coverage.is_some_and(Coverage::is_too_little) =>
        {
            "Too little was seen to say whether a cache line is contended.".to_owned()
        }
        (Some(coverage), _) => format!("No contended cache line was found{}.", missed(coverage)),
        (None, 0) => "No contended cache line was found.".to_owned(),
        (None, left_out) => {
            let are = if left_out == 1 { "is" } else { "are" };
            format!("No contended cache line was found, except {left_out} that {are} left out.")
        }
    }
}

/// What could not be seen, if that is more than a reader may ignore: a sentence.
fn unseen(time: &TimeSplit) -> Option<String> {
    const MAX_SILENT: f64 = 0.15;
    let unseen = |parts: &[TimePart]| {
        let part = parts.iter().find(|part| part.cause == TimeCause::Unseen)?;
        (part.share > MAX_SILENT).then(|| share(part.share))
    };
    let running = unseen(&time.running);
    let running = running.map(|it| format!("{it} of its processor time could not be seen."));
    let idle = || {
        let idle = unseen(&time.idle)?;
        Some(format!("What its threads slept for could not be seen: {idle} of the CPUs."))
    };
    running.or_else(idle)
}

#[cfg(test)]
mod tests {
    use tenure_model::{Code, TimeDetail};

    use super::*;
    use crate::fixtures;

    fn gain(rank: u64, expected: f64, moves_to: Option<u64>) -> ChangeGain {
        let gain = |cpus| Gain { cpus, range: [expected * 0.9, expected * 1.1] };
        ChangeGain { rank, gains: vec![gain(2), gain(16)], expected, moves_to }
    }

    /// Threads that sleep in a lock for a third of the time.
    fn in_locks() -> TimeSplit {
        let part = |cause, share, details| TimePart { cause, share, interval: [0.0, 1.0], details };
        let code = Code { line: Some("/home/me/src/pool.rs:77".to_owned()), ..Code::default() };
        let name = "Pool.lock".to_owned();
        let detail = TimeDetail { name, share: 0.3, code: Some(code), ..TimeDetail::default() };
        TimeSplit {
            seconds: 10.0,
            cpus: 4.0,
            used: 2.0,
            taken_by_others: 0.0,
            dominant: TimeCause::Lock,
            running: vec![
                part(TimeCause::OwnWork, 0.8, Vec::new()),
                part(TimeCause::Unseen, 0.2, Vec::new()),
            ],
            idle: vec![part(TimeCause::Lock, 0.36, vec![detail])],
            without_cpu: 0.0,
        }
    }

    #[test]
    fn changes_that_pay_come_first_and_others_are_not_worth_it() {
        let report = fixtures::run();
        let fixable = report.findings.iter().filter(|finding| !finding.repairs.is_empty());
        let ranks: Vec<u64> = fixable.map(|finding| finding.rank).collect();
        let [one, other, ..] = ranks[..] else { panic!("{ranks:?}") };
        let before = answer(&report, None);
        assert_eq!(before.changes.len(), ranks.len());
        assert!(before.headline.ends_with("predicted, and follows."), "{}", before.headline);
        for (why, end) in [
            (Unpredicted::Impossible, "give cannot be predicted."),
            (Unpredicted::Unasked, "not asked for (--no-predict)."),
            (Unpredicted::CutShort, "that was cut short."),
        ] {
            let mut left = Report { answer: Some(before.clone()), ..report.clone() };
            leave_unpredicted(&mut left, why);
            let headline = left.answer.unwrap().headline;
            assert!(headline.ends_with(end), "{headline}");
        }
        let together = vec![Gain { cpus: 16, range: [2.0, 3.0] }];
        let of = |changes, together: &[Gain]| {
            let together = together.to_vec();
            answer(&report, Some(&ProgramGains { changes, together }))
        };
        let both = of(vec![gain(other, 1.5, None), gain(one, 1.2, None)], &together);
        let order: Vec<_> = both.changes.iter().map(|it| it.finding).collect();
        assert_eq!(order, [other, one]);
        assert_eq!(
            both.headline,
            "3 contended cache lines (count beside read-mostly words, false sharing, lock). 2 changes together would let it do 2.0 to 3.0× as much on 16 CPUs."
        );
        let single = of(vec![gain(one, 1.5, None), gain(other, 1.01, None)], &[]);
        assert!(
            single.headline.ends_with("as much on 2 CPUs, and 1.4 to 1.7× on 16."),
            "{single:?}"
        );
        assert_eq!(single.not_worth[0].finding, other);
        let with = of(vec![gain(one, 1.5, None), gain(other, 0.9, Some(one))], &together);
        assert_eq!(with.changes[1].moves_to, Some(one), "it pays once both are made");
        let mut slept = report.clone();
        let Source::Run(run) = &mut slept.source else { panic!("{slept:?}") };
        run.time = Some(in_locks());
        let headline = answer(&slept, Some(&ProgramGains::default())).headline;
        let expected = "More is lost elsewhere. Threads that sleep in locks leave 36 % of its 4 CPUs unused, most at \
                        Pool.lock (pool.rs:77). 20 % of its processor time could not be seen.";
        assert!(headline.starts_with("Threads that sleep in locks leave 36 %"), "{headline}");
        let headline = answer(&slept, None).headline;
        assert!(headline.ends_with(expected), "{headline}");
        let mut waits = slept.clone();
        if let Source::Run(run) = &mut waits.source
            && let Some(time) = &mut run.time
        {
            time.dominant = TimeCause::SharedLines;
            time.running[0].cause = TimeCause::SharedLines;
        }
        let headline = answer(&waits, None).headline;
        let expected = "Waiting for shared cache lines takes 40 % of its 4 CPUs. ";
        assert!(headline.starts_with(expected), "{headline}");
        slept.findings.clear();
        let headline = answer(&slept, None).headline;
        assert!(headline.starts_with("Threads that sleep in locks leave 36 %"), "{headline}");
        if let Source::Run(run) = &mut slept.source
            && let Some(time) = &mut run.time
        {
            time.running.pop();
            time.idle[0].cause = TimeCause::Unseen;
        }
        let headline = answer(&slept, None).headline;
        assert!(headline.ends_with("slept for could not be seen: 36 % of the CPUs."), "{headline}");
        let mut rare = fixtures::watched();
        for finding in &mut rare.findings {
            finding.observed.as_mut().unwrap().evidence.as_mut().unwrap().share = [0.001, 0.02];
        }
        let rare = answer(&rare, None);
        assert!(rare.changes.is_empty() && !rare.not_worth.is_empty(), "{rare:?}");
        assert!(rare.headline.contains("those found cost at most 4.0 %"), "{rare:?}");
        let mut silent = report.clone();
        silent.findings.clear();
        assert_eq!(answer(&silent, None).headline, "No contended cache line was found.");
        let Source::Run(run) = &mut silent.source else { panic!("{silent:?}") };
        run.left_out = 1;
        let expected = "No contended cache line was found, except 1 that is left out.";
        assert_eq!(answer(&silent, None).headline, expected);
        let Source::Run(run) = &mut silent.source else { panic!("{silent:?}") };
        run.doubts = vec!["Its threads never met.".to_owned()];
        let headline = answer(&silent, None).headline;
        assert!(headline.starts_with("Too little was seen"), "{headline}");
        let none = of(vec![gain(one, 1.01, None)], &[]);
        assert!(
            none.headline.contains("no change of them is known that makes it 5 % faster"),
            "{}",
            none.headline
        );
    }
}
