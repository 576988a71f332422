//! A report as text for a terminal.
//!
//! Without types asked for it is a ranking: a few lines for each finding. With types it describes each of them
//! in full, with its line map, and what was suggested.

mod answer;
mod list;
mod map;
mod measured;
mod observed;
mod suggestion;
mod text;
mod types;

use tenure_report::terminal::Style;

use crate::{Exporter, clean, prose};
use tenure_model::{Finding, Report, Sharing, Source};
use text::TerminalText;

/// Names and figures need so many columns.
const MIN_WIDTH: usize = 40;

/// Text for a terminal.
#[derive(Debug, Clone, Copy)]
pub struct TerminalExporter {
    /// What the terminal can show.
    pub style: Style,
    /// Whether findings of a run have every word, use and curve. Those of types asked for always have.
    pub full: bool,
}

impl TerminalExporter {
    /// A few lines for each finding.
    #[must_use]
    pub const fn new(style: Style) -> Self {
        Self { style, full: false }
    }
}

impl Exporter for TerminalExporter {
    fn export(&self, report: &Report) -> String {
        let report = &clean::cleaned(report);
        let mut text = text_in(self.style);
        if let Some((answer, run)) = answer::of(report) {
            answer::render(&mut text, prose::subject(report), answer, run);
        } else {
            text.strong(prose::subject(report));
            text.quiet(&prose::source(report));
        }
        // A run for its checks alone has nothing else to say.
        let only_checks = !report.checks.is_empty() && report.findings.is_empty();
        if !only_checks {
            text.blank();
            text.wrapped(&prose::found(report), "");
            measured::render(&mut text, report);
            let is_ranking = report.scope.types.is_empty();
            match &report.source {
                Source::Run(run) => {
                    observed::render(&mut text, report, run, self.full || !is_ranking);
                    text.blank();
                    text.quiet(&prose::observed::recorded(run));
                }
                Source::Types(_) if is_ranking => list::render(&mut text, report),
                Source::Types(_) => types::render(&mut text, report),
            }
        }
        suggestion::render_others(&mut text, report);
        list::changes(&mut text, report);
        list::checks(&mut text, report);
        closing(&mut text, report);
        text.into_string()
    }
}

fn text_in(style: Style) -> TerminalText {
    TerminalText::new(Style { width: style.width.max(MIN_WIDTH), ..style })
}

/// What was predicted of a run, for a reader of the report as it was before; ends in a line break unless it is empty.
#[must_use]
pub fn predictions(report: &Report, style: Style) -> String {
    let report = &clean::cleaned(report);
    let mut text = text_in(style);
    if let Source::Run(run) = &report.source {
        observed::predictions(&mut text, report, run);
    }
    text.into_string()
}

fn closing(text: &mut TerminalText, report: &Report) {
    if matches!(report.source, Source::Run(_)) {
        return;
    }
    // What fixes variables is said with their finding, and types of a standard library are not theirs to change.
    let of_type = |finding: &&Finding| {
        matches!(finding.sharing, Sharing::Within | Sharing::Embedding { .. })
            && !prose::is_of_a_standard_library(&finding.type_name)
    };
    let Some(worst) = report.findings.iter().find(of_type) else { return };
    let was_asked = !report.suggestions.is_empty() || !report.unfixed.is_empty();
    let next = match (report.scope.types.is_empty(), was_asked) {
        (true, _) => "The lines of a type, and a better layout:",
        (false, false) => "A better layout:",
        (false, true) => return,
    };
    text.blank();
    text.wrapped(next, "");
    // A command is not broken: it is there to be copied.
    text.line(&format!("  {}", prose::command(report, &worst.type_name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn plain(report: &Report, width: usize) -> String {
        TerminalExporter::new(Style { width, colour: false }).export(report)
    }

    #[test]
    fn every_report_fits_into_60_80_100_120_and_160_columns() {
        for (name, report) in fixtures::all() {
            for width in [60, 80, 100, 120, 160] {
                let text = plain(&report, width);
                for line in text.lines() {
                    let is_command = line.trim_start().starts_with("tenure layout");
                    let taken = console::measure_text_width(line);
                    assert!(is_command || taken <= width, "{name} at {width}: {taken}\n{line}");
                }
            }
        }
    }

    #[test]
    fn what_is_predicted_later_is_not_the_report_again() {
        let whole = fixtures::run();
        let mut before = whole.clone();
        let Source::Run(run) = &mut before.source else { panic!("{before:?}") };
        (run.forecast, run.predicting) = (None, None);
        before.findings.iter_mut().for_each(|finding| finding.forecast = None);
        let answer = before.answer.as_mut().unwrap();
        answer.headline = "What changes would give is being predicted, and follows.".to_owned();
        answer.together.clear();
        for change in &mut answer.changes {
            (change.gains, change.moves_to) = (Vec::new(), None);
        }
        let (first, then) =
            (plain(&before, 100), predictions(&whole, Style { width: 100, colour: false }));
        assert!(!first.contains("the whole program does"), "{first}");
        // Each finding that has a repair says what it asks for.
        assert!(first.contains("→ Put `refs`") && first.contains("; or "), "{first}");
        assert!(predictions(&before, Style::PLAIN).is_empty());
        for line in [
            "2 changes together would let it do 2.1 to 3.0× as much on 16 CPUs.",
            "  1  server.rs:41  put `refs` on its own cache line        1.4 to 1.9×",
            "Predicting took 0.8",
        ] {
            assert!(then.contains(line), "{line}: {then}");
        }
        let findings = whole.findings.iter().map(Finding::title);
        assert!(findings.into_iter().all(|title| !then.contains(&title)), "{then}");
    }

    #[test]
    fn a_finding_names_who_writes_and_who_suffers_and_shows_the_source() {
        let mut report = fixtures::run();
        let finding = &mut report.findings[0];
        let used = &mut finding.contended.uses[0];
        let code = used.code.as_mut().unwrap();
        code.source = Some("self.refs.fetch_add(1, Relaxed);".to_owned());
        used.callers = vec![code.clone(); 2];
        // Six words that each are read elsewhere.
        let victim = finding.victims[0].clone();
        finding.victims = (1..=6_i64)
            .map(|at| {
                let mut word = victim.clone();
                (word.path, word.offset) = (format!("limit{at}"), at * 8);
                word.uses[0].per_second *= at as f64;
                word.uses[0].threads = format!("reader{at}");
                word
            })
            .collect();
        let guards = vec!["server::Table.map".to_owned(), "Table.len".to_owned()];
        finding.lock =
            Some(tenure_model::LockHeld { guards, held_ns: Some(120.0), readers: Some(0.98) });
        let text = plain(&report, 120);
        let lock = "It guards Table.map, Table.len; is held for 120 ns each time; 98 % of its holders only read.";
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(lock), "{text}");
        let called = "(Session::get, server.rs:52 ← Session::get, server.rs:52 ← Session::get)";
        assert!(words(&text).contains(called), "{text}");
        assert!(text.contains("52 │ self.refs.fetch_add(1, Relaxed);"), "{text}");
        assert!(text.contains("*limit1") && text.contains("*limit2"), "{text}");
        let rest = "and limit3, limit4, limit5, limit6, by reader3";
        assert!(text.contains(rest), "{text}");
        let style = Style { width: 120, colour: false };
        let full = TerminalExporter { style, full: true }.export(&report);
        assert!(full.contains("*limit6") && full.contains("reader6"), "{full}");
    }

    #[test]
    fn the_answer_comes_first_in_at_most_15_lines() {
        for report in [fixtures::run(), fixtures::watched()] {
            let text = plain(&report, 100);
            let answer = report.answer.unwrap();
            let head: Vec<&str> = text.lines().take(15).collect();
            assert_eq!(head[1], answer.headline);
            for change in &answer.changes {
                assert!(head.iter().any(|line| line.contains(&change.what)), "{text}");
            }
            if matches!(&report.source, Source::Run(run) if run.time.is_some()) {
                assert!(head.iter().any(|line| line.contains("asleep in locks")), "{text}");
            }
        }
    }

    #[test]
    fn without_colour_there_is_no_escape_sequence_and_with_it_the_same_text() {
        for (name, report) in fixtures::all() {
            let plain = TerminalExporter::new(Style::PLAIN).export(&report);
            assert!(!plain.contains('\u{1b}'), "{name}");
            let coloured =
                TerminalExporter::new(Style { colour: true, ..Style::PLAIN }).export(&report);
            assert!(coloured.contains('\u{1b}'), "{name}");
            let trimmed = |text: &str| -> Vec<String> {
                text.lines().map(|line| line.trim_end().to_owned()).collect()
            };
            assert_eq!(trimmed(&console::strip_ansi_codes(&coloured)), trimmed(&plain), "{name}");
        }
    }

    #[test]
    fn a_ranking_says_what_was_read_what_was_found_and_what_to_do_next() {
        let text = plain(&fixtures::ranking(), 80);
        assert!(
            text.contains("9,648 types, 1,131 with contended words, lines of 64 bytes"),
            "{text}"
        );
        assert!(text.contains("1,979 findings; these are the worst 7."), "{text}");
        assert!(text.contains("tenure layout /usr/lib/debug/boot/vmlinux-6.1.0-50-cloud-amd64 net_device --suggest"), "{text}");
        let hits = text.matches("through dst (dst_entry) at 0").count();
        assert_eq!(hits, 1, "{text}");
    }

    #[test]
    fn what_mends_elements_or_variables_is_said_with_what_to_write() {
        let mut report = fixtures::ranking();
        let (text, code) = ("Give `hits` a line of its own.".to_owned(), vec!["struct".to_owned()]);
        let name = "apart".to_owned();
        let repair = tenure_model::Repair {
            name,
            remedies: Vec::new(),
            target: Default::default(),
            brief: String::new(),
            text,
            code,
            edits: Vec::new(),
            bytes: 56,
            per_thread: false,
        };
        report.findings[0].repairs = vec![repair];
        let listed = plain(&report, 80);
        assert!(
            listed.contains("→ Give `hits` a line of its own.\n              struct\n"),
            "{listed}"
        );
        report.scope.types = vec![report.findings[0].type_name.clone()];
        let told = plain(&report, 80);
        assert!(told.contains("→ Give `hits` a line of its own.\n    struct\n"), "{told}");
    }

    #[test]
    fn a_type_is_told_with_every_signal_and_every_victim() {
        let report = fixtures::route();
        let text = plain(&report, 80);
        for finding in &report.findings {
            for victim in &finding.victims {
                assert!(text.contains(&victim.path) && text.contains(&victim.why), "{text}");
            }
        }
        for name in ["word", "neighbours", "lifetime", "reach", "embedding", "placement"] {
            assert!(text.contains(name), "{name}");
        }
    }

    #[test]
    fn nothing_found_is_said_in_a_sentence_and_recommends_nothing() {
        let text = plain(&fixtures::empty(), 80);
        assert!(text.contains("Nothing shares a line with a contended word"), "{text}");
        assert!(!text.contains("--suggest"));
    }

    #[test]
    fn a_section_is_not_recommended_for_a_closer_look() {
        let mut report = fixtures::places();
        report.scope.types.clear();
        report.suggestions.clear();
        let text = plain(&report, 80);
        assert!(!text.contains(" .bss --suggest"), "{text}");
    }

    #[test]
    fn failed_checks_come_first_and_are_counted_last() {
        let text = plain(&fixtures::checked(), 80);
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}\n{text}"));
        assert!(at("✗ dst_entry.lwtstate") < at("✓ group 0"));
        assert!(at("✓ group 13") < at("3 of 17 checks failed."));
    }
}
