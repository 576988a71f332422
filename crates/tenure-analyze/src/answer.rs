//! The answer in short: from a report's findings, from where the time went, and from what changes give.

use tenure_model::{
    Answer, Coverage, Finding, Gain, ProposedChange, Report, Run, Source, TimeCause, TimePart,
    TimeSplit, short_place,
};
use tenure_report::numbers::{counted, share, times};

/// What a headline says as long as predictions may follow.
const NOT_YET: &str = "What changes would give is not predicted yet.";

/// A change that gives the whole program less is not worth making.
pub(crate) const WORTH: f64 = 1.05;

/// What changes give the whole program.
#[derive(Debug, Default)]
pub(crate) struct ProgramGains {
    /// Those that were simulated, the one that gives most first.
    pub(crate) changes: Vec<ChangeGain>,
    /// All that pay, together; `None` if there is one at most.
    pub(crate) together: Option<Gain>,
}

/// What fixing one finding gives the whole program.
#[derive(Debug)]
pub(crate) struct ChangeGain {
    /// The finding's rank.
    pub(crate) rank: u64,
    pub(crate) gain: Gain,
    /// How many times as much the program does.
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
    let change = |finding: &Finding, of: Option<&ChangeGain>| {
        let repair = finding.repairs.first()?;
        let what = Some(&repair.brief).filter(|brief| !brief.is_empty());
        Some(ProposedChange {
            number: 0,
            finding: finding.rank,
            place: finding.place().unwrap_or_default().to_owned(),
            what: what.unwrap_or(&repair.name).clone(),
            gain: of.map(|of| of.gain),
            moves_to: of.and_then(|of| of.moves_to),
        })
    };
    let (mut changes, mut not_worth) = (Vec::new(), Vec::new());
    match gains {
        None => changes.extend(report.findings.iter().filter_map(|finding| change(finding, None))),
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
    for (number, change) in (1..).zip(changes.iter_mut().chain(&mut not_worth)) {
        change.number = number;
    }
    let together = gains.and_then(|gains| gains.together).filter(|_| changes.len() > 1);
    let mut sentences = vec![headline(report, gains.is_some(), &changes, together)];
    if let Source::Run(run) = &report.source
        && let Some(time) = &run.time
    {
        let held_back = held_back(time, !changes.is_empty());
        // What shared lines cost comes first only if a change of them pays.
        let at = if changes.is_empty() { 0 } else { sentences.len() };
        sentences.splice(at..at, held_back);
        sentences.extend(unseen(time));
    }
    let headline = sentences.join(" ");
    Answer { headline, changes, together, not_worth }
}

/// Says in the answer that no prediction follows: none was asked for, or else no line can be simulated.
pub fn leave_unpredicted(report: &mut Report, was_asked: bool) {
    let why = match was_asked {
        true => "What changes would give cannot be predicted.",
        false => "What changes would give was not asked for (--no-predict).",
    };
    if let Some(answer) = &mut report.answer {
        answer.headline = answer.headline.replace(NOT_YET, why);
    }
}

fn headline(
    report: &Report,
    is_predicted: bool,
    changes: &[ProposedChange],
    together: Option<Gain>,
) -> String {
    let lines = counted(report.findings.len(), "contended cache line");
    let gain = together.or_else(|| changes.first().and_then(|change| change.gain));
    match (changes.len(), gain) {
        _ if report.findings.is_empty() && has_seen_too_little(report) => {
            "Too little was seen to say whether a cache line is contended.".to_owned()
        }
        _ if report.findings.is_empty() => match &report.source {
            Source::Run(Run { left_out: left_out @ 1.., .. }) => {
                let are = if *left_out == 1 { "is" } else { "are" };
                format!("No contended cache line was found, except {left_out} that {are} left out.")
            }
            _ => "No contended cache line was found.".to_owned(),
        },
        (0, _) if is_predicted => {
            format!("{lines}, but no change that is known would make the program 5 % faster.")
        }
        (0, _) => format!("{lines}, and no change is known that applies."),
        (count, Some(Gain { cpus, range })) => {
            let what = match count {
                1 => "One change".to_owned(),
                count => format!("{} together", counted(count, "change")),
            };
            let faster = times(range);
            format!("{what} would let it do {faster} as much on {}.", counted(cpus, "CPU"))
        }
        (_, None) => format!("{lines}. {NOT_YET}"),
    }
}

/// What else than shared lines holds the program back most: a sentence.
fn held_back(time: &TimeSplit, has_changes: bool) -> Option<String> {
    // No part of the time is this.
    if time.dominant == TimeCause::NoCpu && !has_changes {
        let waited = share(time.without_cpu);
        return Some(format!(
            "It has more threads than CPUs: they wait for one for {waited} of their time."
        ));
    }
    let all = time.running.iter().chain(&time.idle);
    let part = all.filter(|part| part.cause == time.dominant);
    let part = part.max_by(|one, other| one.share.total_cmp(&other.share))?;
    let at = part.details.first().map(|detail| {
        let place = detail.code.as_ref().and_then(|code| code.line.as_deref());
        let place = place.map(|line| format!(" ({})", short_place(line)));
        format!("{}{}", detail.name, place.unwrap_or_default())
    });
    let at = at.map(|at| format!(", most at {at}")).unwrap_or_default();
    let lost = share(part.share);
    let sentence = match part.cause {
        TimeCause::SharedLines | TimeCause::Unseen | TimeCause::NoCpu => return None,
        TimeCause::OwnWork if has_changes => return None,
        TimeCause::OwnWork => format!("Its own work takes {lost} of its processor time."),
        TimeCause::Kernel => format!("The kernel takes {lost} of its processor time."),
        TimeCause::Lock => format!("Sleeping in locks costs {lost} of its CPUs{at}."),
        TimeCause::OtherThreads => {
            format!("Threads that wait for each other cost {lost} of its CPUs{at}.")
        }
        TimeCause::Io => {
            format!("Waiting for input or output costs {lost} of its CPUs{at}.")
        }
        TimeCause::Timer => {
            format!("Sleeping for a set time costs {lost} of its CPUs{at}.")
        }
        TimeCause::NoThreads => {
            format!("Too few threads with work leave {lost} of its CPUs idle.")
        }
    };
    Some(match has_changes {
        true => format!("More is lost elsewhere. {sentence}"),
        false => sentence,
    })
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

/// Whether silence would prove nothing.
fn has_seen_too_little(report: &Report) -> bool {
    let Source::Run(run) = &report.source else { return false };
    let coverage = run.watched.as_ref().and_then(|watched| watched.coverage.as_ref());
    !run.doubts.is_empty() || coverage.is_some_and(Coverage::is_too_little)
}

#[cfg(test)]
mod tests {
    use tenure_model::{Code, TimeDetail};

    use super::*;
    use crate::fixtures;

    fn gain(rank: u64, expected: f64, moves_to: Option<u64>) -> ChangeGain {
        let gain = Gain { cpus: 16, range: [expected * 0.9, expected * 1.1] };
        ChangeGain { rank, gain, expected, moves_to }
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
        assert!(before.headline.ends_with("is not predicted yet."), "{}", before.headline);
        for (was_asked, end) in
            [(true, "give cannot be predicted."), (false, "not asked for (--no-predict).")]
        {
            let mut left = Report { answer: Some(before.clone()), ..report.clone() };
            leave_unpredicted(&mut left, was_asked);
            let headline = left.answer.unwrap().headline;
            assert!(headline.ends_with(end), "{headline}");
        }
        let together = Some(Gain { cpus: 16, range: [2.0, 3.0] });
        let of = |changes, together| answer(&report, Some(&ProgramGains { changes, together }));
        let both = of(vec![gain(other, 1.5, None), gain(one, 1.2, None)], together);
        let order: Vec<_> = both.changes.iter().map(|it| (it.number, it.finding)).collect();
        assert_eq!(order, [(1, other), (2, one)]);
        assert_eq!(
            both.headline,
            "2 changes together would let it do 2.0 to 3.0× as much on 16 CPUs."
        );
        let single = of(vec![gain(one, 1.5, None), gain(other, 1.01, None)], None);
        assert!(
            single.headline.starts_with("One change would let it do 1.4 to 1.7×"),
            "{single:?}"
        );
        assert_eq!((single.not_worth[0].number, single.not_worth[0].finding), (2, other));
        let with = of(vec![gain(one, 1.5, None), gain(other, 0.9, Some(one))], together);
        assert_eq!(with.changes[1].moves_to, Some(one), "it pays once both are made");
        let mut slept = report.clone();
        let Source::Run(run) = &mut slept.source else { panic!("{slept:?}") };
        run.time = Some(in_locks());
        let headline = answer(&slept, Some(&ProgramGains::default())).headline;
        let expected = "More is lost elsewhere. Sleeping in locks costs 36 % of its CPUs, most at \
                        Pool.lock (pool.rs:77). 20 % of its processor time could not be seen.";
        assert!(headline.starts_with("Sleeping in locks costs 36 %"), "{headline}");
        let headline = answer(&slept, None).headline;
        assert!(headline.ends_with(expected), "{headline}");
        slept.findings.clear();
        let headline = answer(&slept, None).headline;
        assert!(headline.starts_with("Sleeping in locks costs 36 %"), "{headline}");
        if let Source::Run(run) = &mut slept.source
            && let Some(time) = &mut run.time
        {
            time.running.pop();
            time.idle[0].cause = TimeCause::Unseen;
        }
        let headline = answer(&slept, None).headline;
        assert!(headline.ends_with("slept for could not be seen: 36 % of the CPUs."), "{headline}");
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
        let none = of(vec![gain(one, 1.01, None)], None);
        assert!(none.headline.contains("no change that is known"), "{}", none.headline);
    }
}
