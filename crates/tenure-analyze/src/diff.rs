//! What differs between two reports.

use std::collections::BTreeSet;
use std::path::Path;

use crate::InputError;
use tenure_model::{
    Change, Difference, Finding, Level, Origin, Report, SCHEMA, Sharing, Source, Storage, Word,
};

/// A rate of a run has to change by this factor: less is noise.
const FACTOR: f64 = 1.5;

/// A score has to change by this much: less does not show.
const POINTS: f64 = 0.5;

/// Reads an older report, which `--json` wrote.
///
/// # Errors
///
/// The file cannot be read, or is not a report of this version.
pub fn read(path: &Path) -> Result<Report, InputError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: String,
    }
    let text = InputError::text_of(path)?;
    let wrong = |what: &str| InputError::new(&format!("{} {what}", path.display()));
    let version: Result<Version, _> = serde_json::from_str(&text);
    match version {
        Ok(version) if version.schema != SCHEMA => Err(wrong(&format!(
            "is a report of version {}, and this command reads {SCHEMA}: make it anew",
            version.schema
        ))),
        _ => {
            serde_json::from_str(&text).map_err(|error| wrong(&format!("is not a report: {error}")))
        }
    }
}

/// What differs in `new`: what is new first, then what is worse, better, moved, and gone.
///
/// Findings are the same if they are of the same object and have a word in common. A report that was cut off after its
/// worst findings says nothing of those that would come after them. What only may be contended, by few samples, is neither new nor
/// worse: it may be chance.
///
/// # Errors
///
/// One report is of types and the other of a run.
pub fn changes(old: &Report, new: &Report) -> Result<Vec<Change>, InputError> {
    let kind = |report: &Report| match report.source {
        Source::Types(_) => "types",
        Source::Run(_) => "a run",
    };
    if kind(old) != kind(new) {
        return Err(InputError::new(&format!(
            "the older report is of {} and this one of {}: compare reports of the same command",
            kind(old),
            kind(new)
        )));
    }
    let mut left: Vec<&Finding> = old.findings.iter().collect();
    let mut changes = Vec::new();
    for finding in &new.findings {
        let after = measure(new, finding);
        let Some(at) = left.iter().position(|old| is_same(old, finding)) else {
            if is_covered(old, finding) && !is_doubtful(finding) {
                changes.push(change(Difference::New, finding, None, Some(after)));
            }
            continue;
        };
        let earlier = left.remove(at);
        let before = measure(old, earlier);
        let difference = judged(new, before, after);
        if difference == Some(Difference::Worse) && is_doubtful(finding) {
            continue;
        }
        if let Some(difference) = difference {
            changes.push(change(difference, finding, Some(before), Some(after)));
        } else if let Some((from, to)) = moved(earlier, finding) {
            changes.push(change(Difference::Moved, finding, Some(from), Some(to)));
        }
    }
    for finding in left.into_iter().filter(|finding| is_covered(new, finding)) {
        changes.push(change(Difference::Gone, finding, Some(measure(old, finding)), None));
    }
    changes.sort_by_key(|change| change.change);
    Ok(changes)
}

fn change(
    change: Difference,
    finding: &Finding,
    before: Option<f64>,
    after: Option<f64>,
) -> Change {
    let name = match finding.observed {
        Some(_) => finding.title(),
        None => format!("{}: {}", finding.type_name, finding.contended.name()),
    };
    Change { change, finding: name, before, after }
}

fn judged(report: &Report, before: f64, after: f64) -> Option<Difference> {
    let (worse, better) = match report.source {
        Source::Types(_) => (after > before + POINTS, after < before - POINTS),
        Source::Run(_) => (after > before * FACTOR, after * FACTOR < before),
    };
    match (worse, better) {
        (true, _) => Some(Difference::Worse),
        (_, true) => Some(Difference::Better),
        _ => None,
    }
}

/// The offsets of the contended word, if it is another one in the type.
#[allow(clippy::cast_precision_loss)] // No type is that large.
fn moved(before: &Finding, after: &Finding) -> Option<(f64, f64)> {
    let is_in_type = matches!(after.sharing, Sharing::Within | Sharing::Embedding { .. });
    let (from, to) = (before.contended.offset, after.contended.offset);
    let of_types = is_in_type && after.observed.is_none();
    (of_types && from != to).then_some((from as f64, to as f64))
}

/// Possible changes of owner per second, or the score.
fn measure(report: &Report, finding: &Finding) -> f64 {
    report.rate(finding).unwrap_or(finding.score)
}

/// Whether it was seen too rarely to be sure.
fn is_doubtful(finding: &Finding) -> bool {
    let is_estimate = finding.observed.as_ref().is_some_and(|it| it.evidence.is_some());
    is_estimate && finding.confidence.level == Level::Low
}

/// Whether the report would have the finding if it were there.
fn is_covered(report: &Report, finding: &Finding) -> bool {
    let left_out = match finding.origin {
        Origin::Yours => 0,
        Origin::Dependency => report.scope.dependencies,
        Origin::Standard => report.scope.standard,
    };
    let place = |finding: &Finding| (finding.origin, finding.rank);
    let last = report.findings.iter().map(place).max();
    left_out == 0
        && (report.scope.findings <= report.findings.len() as u64 || Some(place(finding)) <= last)
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    let names = |finding: &Finding| -> BTreeSet<String> {
        finding.words().into_iter().map(Word::name).collect()
    };
    object(one) == object(other) && !names(one).is_disjoint(&names(other))
}

/// What a finding is of, without what changes when lines are added to a file.
fn object(finding: &Finding) -> (&str, &str, &str) {
    let within = match &finding.sharing {
        Sharing::Embedding { member, .. } => member,
        Sharing::Elements { array, .. } => array,
        Sharing::Within | Sharing::Statics { .. } | Sharing::Objects => "",
    };
    let stored = match finding.observed.as_ref().map(|observed| &observed.storage) {
        Some(Storage::Static { name }) => name,
        // Of an object with a type it does not matter where it was made.
        Some(Storage::Heap { allocated: Some(code), .. }) if finding.type_name.is_empty() => {
            &code.function
        }
        _ => "",
    };
    (&finding.type_name, within, stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn changes_of(old: &Report, new: &Report) -> Vec<(Difference, String)> {
        let changes = changes(old, new).unwrap();
        changes.into_iter().map(|change| (change.change, change.finding)).collect()
    }

    /// All findings of a run.
    fn run() -> Report {
        let mut report = fixtures::run();
        report.scope.findings = report.findings.len() as u64;
        report
    }

    #[test]
    fn a_report_does_not_differ_from_itself() {
        for (name, report) in fixtures::all() {
            assert_eq!(changes(&report, &report).unwrap(), [], "{name}");
        }
    }

    #[test]
    fn a_file_that_is_no_report_is_refused_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.json");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(refused("{").contains("old.json is not a report: "));
        assert!(
            refused("{\"schema\": \"tenure-layout/1\"}")
                .contains("is a report of version tenure-layout/1")
        );
        std::fs::write(&path, serde_json::to_string(&fixtures::run()).unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), fixtures::run());
    }

    #[test]
    fn what_is_new_worse_better_and_gone_is_told_in_this_order() {
        let (mut old, mut new) = (run(), run());
        old.findings.remove(0);
        new.findings.remove(3);
        new.scope.findings = 3;
        new.findings[1].observed.as_mut().unwrap().possible_changes *= 3;
        new.findings[2].observed.as_mut().unwrap().possible_changes /= 3;
        let found = changes_of(&old, &new);
        let kinds: Vec<_> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [Difference::New, Difference::Worse, Difference::Better, Difference::Gone]
        );
        assert_eq!(found[0].1, "Session.refs and Session.limits");
        assert_eq!(found[1].1, "STATS[0].served, STATS[1].served and 2 more");
    }

    #[test]
    fn what_is_as_bad_at_another_offset_has_moved() {
        let (old, mut new) = (fixtures::route(), fixtures::route());
        new.findings[0].contended.offset += 64;
        let changes = changes(&old, &new).unwrap();
        let [moved] = changes.as_slice() else { panic!("{changes:?}") };
        assert_eq!(
            (moved.change, moved.before, moved.after),
            (Difference::Moved, Some(64.0), Some(128.0))
        );
    }

    #[test]
    fn a_finding_is_the_same_with_another_victim_at_another_line_and_in_a_longer_run() {
        let (old, mut new) = (run(), run());
        let session = &mut new.findings[0];
        session.victims[0].path = "name".to_owned();
        session.contended.uses[0].code = None;
        session.declared = Some("server.rs:99".to_owned());
        let Source::Run(run) = &mut new.source else { unreachable!() };
        run.seconds *= 2.0;
        for finding in &mut new.findings {
            finding.observed.as_mut().unwrap().possible_changes *= 2;
        }
        assert_eq!(changes_of(&old, &new), []);
    }

    #[test]
    fn a_report_that_was_cut_off_says_nothing_of_the_rest() {
        let (mut cut, whole) = (run(), run());
        cut.findings.truncate(2);
        cut.scope.findings = 4;
        assert_eq!(changes_of(&cut, &whole), []);
        assert_eq!(changes_of(&whole, &cut), []);
    }

    #[test]
    fn a_report_passes_unless_something_is_new_or_worse() {
        let passes = |old: &Report, mut new: Report| {
            new.changes = Some(changes(old, &new).unwrap());
            new.passes()
        };
        let (mut fewer, mut worse) = (run(), run());
        fewer.findings.remove(0);
        fewer.scope.findings -= 1;
        worse.findings[0].observed.as_mut().unwrap().possible_changes *= 3;
        assert!(passes(&run(), run()) && passes(&run(), fewer.clone()) && passes(&worse, run()));
        assert!(!passes(&fewer, run()) && !passes(&run(), worse));
    }

    #[test]
    fn what_was_seen_too_rarely_to_be_sure_is_neither_new_nor_worse() {
        let (mut old, mut new) = (fixtures::watched(), fixtures::watched());
        let of = |level| {
            let mut new = new.clone();
            new.findings[0].confidence.level = level;
            new
        };
        let sure = of(Level::Medium);
        let doubtful = of(Level::Low);
        assert!(new.findings[0].observed.as_ref().unwrap().evidence.is_some());
        old.findings[0].observed.as_mut().unwrap().possible_changes /= 3;
        assert_eq!(changes_of(&old, &sure).len(), 1);
        assert_eq!(changes_of(&old, &doubtful), []);
        new.findings.remove(0);
        new.scope.findings = new.findings.len() as u64;
        assert_eq!(changes_of(&new, &sure)[0].0, Difference::New);
        assert_eq!(changes_of(&new, &doubtful), []);
    }

    #[test]
    fn scores_of_types_are_compared_and_types_are_not_compared_with_runs() {
        let (old, mut new) = (fixtures::route(), fixtures::route());
        new.findings[0].score += 10.0;
        new.findings[1].score += 0.1;
        assert_eq!(changes_of(&old, &new), [(Difference::Worse, "dst_entry: __refcnt".to_owned())]);
        let error = changes(&old, &run()).unwrap_err().to_string();
        assert!(error.contains("of types and this one of a run"), "{error}");
    }
}
