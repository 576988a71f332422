//! What became of changes that were made, built, tested and measured, for a terminal.

use console::Style as Look;
use tenure_model::{Comparison, ComparisonVerdict, FixOutcome, FixReport, Gain, TriedChange};
use tenure_report::numbers::{counted, times};
use tenure_report::terminal::Style;

use crate::clean::cleaned;
use crate::comparison::words::{capital, verdict};

/// The changes as text that ends in a line break.
#[must_use]
pub fn terminal(report: &FixReport, style: Style) -> String {
    let it = cleaned(report);
    let is_kept = |change: &&TriedChange| {
        matches!(change.outcome, FixOutcome::Kept | FixOutcome::KeptPredicted)
    };
    let kept = it.changes.iter().filter(is_kept).count();
    let is_tried = |change: &&TriedChange| !matches!(change.outcome, FixOutcome::ByHand { .. });
    let tried = counted(it.changes.iter().filter(is_tried).count(), "change");
    let head = format!("{}: {tried} tried, {kept} in the patch. {}.", it.command, it.machine);
    let mut text = style.wrapped(&head, "") + "\n\n";
    for change in &it.changes {
        let title = format!("{:>3}  {}  {}", change.number, change.place, change.what);
        text += &(style.strong(title.trim_end()) + "\n");
        let (outcome, look) = outcome(change);
        let outcome = style.wrapped(&outcome, "     ");
        text += &(style.text(look, &outcome) + "\n");
        for line in shown(change) {
            text += &(style.wrapped(&line, "     ") + "\n");
        }
    }
    if !it.notes.is_empty() {
        text.push('\n');
    }
    for note in &it.notes {
        text += &(style.wrapped(&format!("{note}."), "") + "\n");
    }
    text
}

/// What became of it: a sentence.
fn outcome(change: &TriedChange) -> (String, Look) {
    match &change.outcome {
        FixOutcome::Kept => ("Kept: it is faster here.".to_owned(), Look::new().green()),
        FixOutcome::KeptPredicted => {
            let text = "Kept for what is predicted: it is not faster here.";
            (text.to_owned(), Look::new().green())
        }
        FixOutcome::DoesNotPay => {
            (format!("Left out: it builds, and {}.", why_left_out(change)), Look::new().yellow())
        }
        FixOutcome::Withdrawn { why } => (format!("Withdrawn: {why}"), Look::new().red()),
        FixOutcome::ByHand { why } => {
            (format!("By hand: {why}. The report has what to write."), Look::new())
        }
    }
}

/// What a change that builds lacks to be kept: a clause.
fn why_left_out(change: &TriedChange) -> &'static str {
    let rows = || change.measured.iter().flat_map(|it| &it.rows).map(|row| row.verdict);
    let has = |is: fn(ComparisonVerdict) -> bool| rows().any(is);
    let is_open = |verdict| {
        use ComparisonVerdict::{NotResolved, TooFewRounds};
        matches!(verdict, NotResolved { .. } | TooFewRounds { .. })
    };
    match has(|it| it == ComparisonVerdict::Slower) {
        true if has(|it| it == ComparisonVerdict::Faster) => "some benchmarks are slower here",
        true => "is slower here",
        false if has(is_open) => {
            "whether it is faster here is not resolved: a larger --rounds measures longer"
        }
        false => "is not faster here",
    }
}

/// What was predicted and measured: sentences.
fn shown(change: &TriedChange) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(comparison) = &change.measured {
        lines.push(format!("Measured here: {}.", measured(comparison)));
    }
    let on = |gain: &Gain| format!("{} on {}", times(gain.range), counted(gain.cpus, "CPU"));
    let predicted: Vec<_> = change.predicted.iter().map(on).collect();
    if !predicted.is_empty() {
        lines.push(format!("Predicted: {}.", predicted.join(", ")));
    }
    match change.is_silent {
        Some(true) => lines.push("Recorded again, its line is silent.".to_owned()),
        Some(false) => lines.push("Recorded again, its line is still contended.".to_owned()),
        None => {}
    }
    lines
}

fn measured(comparison: &Comparison) -> String {
    const MAX_ROWS: usize = 3;
    let row = |row: &tenure_model::ComparedBenchmark| match row.name.is_empty() {
        true => verdict(row),
        false => format!("{} {}", row.name, verdict(row)),
    };
    let mut rows: Vec<String> = comparison.rows.iter().take(MAX_ROWS).map(row).collect();
    let more = comparison.rows.len().saturating_sub(MAX_ROWS);
    if more > 0 {
        rows.push(format!("and {}", counted(more, "more benchmark")));
    }
    let rows = rows.join("; ");
    if comparison.rows.len() > 1 { capital(&rows) } else { rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::fixtures;

    fn change(outcome: FixOutcome) -> TriedChange {
        TriedChange {
            number: 1,
            place: "stats.rs:18".to_owned(),
            what: "put `read` on its own cache line".to_owned(),
            predicted: vec![
                Gain { cpus: 2, range: [2.1, 3.0] },
                Gain { cpus: 16, range: [2.9, 5.3] },
            ],
            outcome,
            measured: Some(fixtures::one()),
            is_silent: Some(true),
            edits: Vec::new(),
        }
    }

    fn report(changes: Vec<TriedChange>) -> FixReport {
        FixReport {
            schema: FixReport::SCHEMA.to_owned(),
            version: "0.1.0".to_owned(),
            command: "cargo bench".to_owned(),
            machine: "A processor, 2 CPUs".to_owned(),
            changes,
            patch: String::new(),
            dependencies: Vec::new(),
            notes: vec!["No tests were run: name them by --test".to_owned()],
        }
    }

    #[test]
    fn each_change_says_what_became_of_it_and_on_what_evidence() {
        let why = "its tests fail: test a ... FAILED".to_owned();
        let withdrawn = TriedChange {
            number: 2,
            measured: None,
            is_silent: None,
            ..change(FixOutcome::Withdrawn { why })
        };
        let text = terminal(&report(vec![change(FixOutcome::Kept), withdrawn]), Style::PLAIN);
        assert_eq!(
            text,
            "cargo bench: 2 changes tried, 1 in the patch. A processor, 2 CPUs.\n\n  \
             1  stats.rs:18  put `read` on its own cache line\n     \
             Kept: it is faster here.\n     \
             Measured here: 1.31× faster [1.24, 1.38].\n     \
             Predicted: 2.1 to 3.0× on 2 CPUs, 2.9 to 5.3× on 16 CPUs.\n     \
             Recorded again, its line is silent.\n  \
             2  stats.rs:18  put `read` on its own cache line\n     \
             Withdrawn: its tests fail: test a ... FAILED\n     \
             Predicted: 2.1 to 3.0× on 2 CPUs, 2.9 to 5.3× on 16 CPUs.\n\n\
             No tests were run: name them by --test.\n"
        );
    }

    #[test]
    fn what_is_left_to_a_person_is_not_tried() {
        let by_hand = change(FixOutcome::ByHand { why: "it takes more than an edit".to_owned() });
        let text = terminal(&report(vec![by_hand]), Style::PLAIN);
        assert!(text.starts_with("cargo bench: 0 changes tried, 0 in the patch."), "{text}");
    }

    #[test]
    fn a_change_that_is_left_out_is_not_said_to_be_slow_where_that_is_open() {
        use ComparisonVerdict::{Faster, NoDifference, NotResolved, Slower};
        let said = |verdicts: &[ComparisonVerdict]| {
            let mut change = change(FixOutcome::DoesNotPay);
            let measured = change.measured.as_mut().unwrap();
            let row = measured.rows.remove(0);
            let of = |verdict: &ComparisonVerdict| tenure_model::ComparedBenchmark {
                verdict: *verdict,
                ..row.clone()
            };
            measured.rows = verdicts.iter().map(of).collect();
            why_left_out(&change)
        };
        let (open, none) = (NotResolved { more_rounds: 9 }, NoDifference { within: 0.01 });
        assert!(said(&[open]).contains("not resolved"));
        assert_eq!(said(&[none]), "is not faster here");
        assert_eq!(said(&[Slower]), "is slower here");
        assert_eq!(said(&[Faster, Slower]), "some benchmarks are slower here");
    }

    #[test]
    fn of_many_benchmarks_some_are_shown_and_the_rest_counted() {
        assert!(measured(&fixtures::many()).ends_with("; and 2 more benchmarks"));
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fix.schema.json");
        let schema = tenure_report::json::schema::<FixReport>();
        tenure_report::json::check_committed(path.as_ref(), &schema);
    }
}
