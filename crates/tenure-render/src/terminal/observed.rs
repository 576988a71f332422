//! What a run showed: a few lines for each finding, and all of it for the types that were asked for.

use std::collections::BTreeSet;

use tenure_report::numbers::scaled;

use super::map::{self, look};
use super::text::{Styled, TerminalText, cut, measured, padded};
use crate::maps;
use crate::picture::{BlockState, Marks};
use crate::prose::answer;
use crate::prose::observed::{self as prose, WordUseRow};
use crate::prose::watched::rests_on;
use tenure_model::{Finding, Forecast, Level, Observed, Report, Run, Word};

/// Columns of the rank.
const INDENT: usize = 4;

/// The most rows of words that are written, and of words that suffer, which a finding of the list has.
const MAX_ROWS: usize = 2;

/// The most lines that a map shows.
const MAX_LINES: usize = 4;

/// The most lines of code that a finding of the list has.
const MAX_CODE: usize = 4;

/// Columns of a figure in the table of a forecast.
const FIGURE: usize = 8;

pub(super) fn render(text: &mut TerminalText, report: &Report, run: &Run, is_full: bool) {
    let missing = prose::missing(report, run);
    for sentence in &missing {
        text.bullet(sentence);
    }
    let is_short = |finding: &Finding| {
        let observed = finding.observed.as_ref();
        !is_full && observed.is_some_and(|it| hardly_costs(report, finding, it))
    };
    if !report.findings.iter().all(is_short) {
        text.blank();
        let (shares, slowed) = match &run.watched {
            None => ("The shares are of all accesses to contended lines.", ", slowed by recording"),
            Some(_) => ("The shares are of the time that could be seen, at most.", ""),
        };
        text.quiet(&format!(
            "{shares} Words that are written (!) and that suffer beside \
             them (*), their offsets, and who uses them how often per second and thread{slowed}:",
        ));
    }
    for finding in &report.findings {
        let Some(observed) = &finding.observed else { continue };
        text.blank();
        headline(text, finding);
        text.wrapped(&prose::place(finding, observed, report.line_bytes), &margin());
        if let Some(lock) = prose::lock(finding) {
            text.wrapped(&lock, &margin());
        }
        if is_full {
            full(text, report, finding, observed);
            continue;
        }
        if is_short(finding) {
            text.quiet_after(&margin(), &format!("{NO_REPAIR} Its words are in --full."));
            continue;
        }
        if let Some(rests_on) = rests_on(observed) {
            text.wrapped(&rests_on, &margin());
        }
        brief(text, report, finding);
    }
    closing(text, report, run);
}

/// What is not worth a change, and what is predicted of the whole program by number of CPUs.
fn closing(text: &mut TerminalText, report: &Report, run: &Run) {
    if let Some(not_worth) = report.answer.as_ref().and_then(answer::not_worth) {
        text.blank();
        text.wrapped(&not_worth, "");
    }
    let Some(forecast) = run.forecast.as_ref().filter(|_| prose::is_simulated(run)) else { return };
    text.blank();
    text.quiet(&format!(
        "Simulated iterations/s of the whole program on {}, by number of CPUs: of these lines and the work between \
         accesses to them, without the recording. {}",
        forecast.machine,
        prose::ITERATION
    ));
    table(text, forecast, "  ");
}

/// What was predicted, for a reader who has the rest.
pub(super) fn predictions(text: &mut TerminalText, report: &Report, run: &Run) {
    let Some(answer) = report.answer.as_ref().filter(|_| run.forecast.is_some()) else { return };
    text.strong(&answer.headline);
    super::answer::changes(text, answer, run);
    closing(text, report, run);
    text.quiet(&prose::took(run.predicting.unwrap_or_default()));
}

fn margin() -> String {
    " ".repeat(INDENT)
}

fn headline(text: &mut TerminalText, finding: &Finding) {
    let style = text.style();
    let rank = format!("{:>2}  ", finding.rank);
    let title = cut(&finding.title(), text.width().saturating_sub(INDENT));
    let left = Styled::plain(&rank).and(&Styled::new(&title, |title| style.strong(title)));
    let mut right = format!("{}, {}", finding.fault(), prose::share(finding.score / 100.0));
    if finding.confidence.level != Level::High {
        right += &format!(", confidence {}", crate::prose::level(finding.confidence.level));
    }
    text.line_with(&left, &right, INDENT);
}

/// The best change is worth less than what a reader would take the trouble for.
const NO_REPAIR: &str = "No change that was tried gives the whole program 5 %.";

/// Whether a line takes so little of the program's time that no change of it gives 5 %.
fn hardly_costs(report: &Report, finding: &Finding, observed: &Observed) -> bool {
    const WORTH: f64 = 0.05;
    let changes = report.answer.iter().flat_map(|answer| &answer.changes);
    let is_cheap = observed.evidence.as_ref().is_some_and(|it| it.share[1] < WORTH);
    is_cheap
        && finding.forecast.is_some()
        && changes.map(|change| change.finding).all(|rank| rank != finding.rank)
}

fn brief(text: &mut TerminalText, report: &Report, finding: &Finding) {
    let (written, suffering): (Vec<_>, Vec<_>) =
        prose::rows(finding).into_iter().partition(|row| is_written(finding, row));
    let (rest, shown): (Vec<_>, Vec<_>) = [written, suffering]
        .into_iter()
        .flat_map(|rows| rows.into_iter().enumerate())
        .partition(|(at, _)| *at >= MAX_ROWS);
    let shown: Vec<_> = shown.into_iter().map(|(_, row)| row).collect();
    for row in &shown {
        let more = match row.uses.len().saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let used = row.uses.first().map(prose::used).unwrap_or_default();
        word(text, finding, &shown, row, &format!("{used}{more}"));
        if let Some(source) = row.uses.first().and_then(prose::source) {
            let room = text.width().saturating_sub(INDENT + 4);
            text.line(&text.style().quiet(&format!("{}    {}", margin(), cut(&source, room))));
        }
    }
    if !rest.is_empty() {
        let names = rest.iter().map(|(_, row)| row.name.clone()).collect::<Vec<_>>().join(", ");
        let of = |row: &WordUseRow<'_>| row.uses.first().map(prose::threads);
        let threads: BTreeSet<String> = rest.iter().filter_map(|(_, row)| of(row)).collect();
        let by = match threads.is_empty() {
            true => String::new(),
            false => format!(", by {}", threads.into_iter().collect::<Vec<_>>().join(", ")),
        };
        text.line(&cut(&format!("{}and {names}{by}", margin()), text.width()));
    }
    let mut not_worth = report.answer.iter().flat_map(|answer| &answer.not_worth);
    let is_worth_it = not_worth.all(|change| change.finding != finding.rank);
    if let Some(repair) = finding.repairs.first().filter(|_| is_worth_it) {
        let others = finding.repairs[1..].iter().map(|repair| &*repair.name);
        let others = others.collect::<Vec<_>>().join(", ");
        // Without a prediction the first need not be the best.
        let others = match finding.forecast {
            None if !others.is_empty() => format!("; or {others}"),
            _ => String::new(),
        };
        let line = prose::repair(report, finding, repair) + &others;
        let code = repair.code.join(" / ");
        let whole = format!("{line}: {code}");
        let fits = !code.is_empty() && measured(&whole) + INDENT <= text.width();
        text.repair(if fits { &whole } else { &line }, &margin());
        if !fits && repair.code.len() <= MAX_CODE {
            for line in &repair.code {
                // Code is not broken: it is there to be copied.
                text.line(&format!("{}    {line}", margin()));
            }
        }
    } else if finding.forecast.is_some() || !is_worth_it {
        text.line(&text.style().quiet(&format!("{}{NO_REPAIR}", margin())));
    }
}

fn full(text: &mut TerminalText, report: &Report, finding: &Finding, observed: &Observed) {
    let margin = margin();
    text.wrapped(&prose::evidence(finding, observed), &margin);
    text.blank();
    let rows = prose::rows(finding);
    for row in &rows {
        let type_name = row.first.type_name.as_str();
        let mut uses = row.uses.iter().map(prose::used);
        let first = uses.next().unwrap_or_default();
        word(text, finding, &rows, row, &first);
        for used in uses {
            text.line(&format!(
                "{margin}  {}",
                cut(&used, text.width().saturating_sub(INDENT + 2))
            ));
        }
        if !type_name.is_empty() {
            text.quiet_after(&format!("{margin}  "), type_name);
        }
    }
    if let Some(map) = maps::of_finding(report, finding) {
        let victims = finding.victims.iter().map(Word::name).collect::<Vec<_>>();
        let marks =
            Marks { victims: victims.iter().map(String::as_str).collect(), ..Marks::default() };
        text.blank();
        map::render_marked(text, report.line_bytes, &map, &marks, MAX_LINES);
    }
    for repair in &finding.repairs {
        text.blank();
        text.repair(&prose::repair(report, finding, repair), "  ");
        if !repair.brief.is_empty() {
            text.wrapped(&repair.text, "    ");
        }
        if let Some(gain) = prose::gain(finding, repair) {
            text.quiet_after("    ", &format!("Simulated, {gain}."));
        }
        for line in &repair.code {
            // Code is not broken: it is there to be copied.
            text.line(&format!("    {line}"));
        }
    }
    if let Some(forecast) = &finding.forecast {
        text.blank();
        text.quiet_after(
            "  ",
            &format!("Simulated iterations/s on {}, by number of CPUs:", forecast.machine),
        );
        table(text, forecast, "  ");
    }
}

/// Whether a row is of words that are written; else they suffer.
fn is_written(finding: &Finding, row: &WordUseRow<'_>) -> bool {
    row.first.role.is_contended() || *row.first == finding.contended
}

/// A word, where it lies, and who uses it; the columns are as wide as `rows` need.
fn word(
    text: &mut TerminalText,
    finding: &Finding,
    rows: &[WordUseRow<'_>],
    row: &WordUseRow<'_>,
    used: &str,
) {
    let style = text.style();
    let widest = |of: &dyn Fn(&WordUseRow<'_>) -> usize, most: usize| {
        rows.iter().map(of).max().unwrap_or(0).min(most)
    };
    let name_room = widest(&|row| measured(&row.name), (text.width() / 3).max(8));
    let at = |row: &WordUseRow<'_>| {
        if row.name == row.offset { String::new() } else { row.offset.clone() }
    };
    let at_room = widest(&|row| measured(&at(row)), 16);
    let (sign, state) = if is_written(finding, row) {
        ("!", BlockState::Contended)
    } else {
        ("*", BlockState::Victim)
    };
    let name = padded(&row.name, name_room);
    let at = padded(&at(row), at_room);
    let left = Styled::plain(&margin())
        .and(&Styled::new(&format!("{sign}{name}"), |name| style.text(look(state), name)))
        .and(&Styled::new(&format!("  {at}  "), |at| style.quiet(at)));
    let room = text.width().saturating_sub(left.width);
    if measured(used) <= room {
        text.line(&format!("{}{used}", left.text));
    } else {
        text.line(&left.text);
        text.wrapped(used, &format!("{}  ", margin()));
    }
}

/// A row for each curve, and a column for as many numbers of CPUs as fit: the last ones.
fn table(text: &mut TerminalText, forecast: &Forecast, indent: &str) {
    let style = text.style();
    let curves = prose::curves(forecast);
    let names = curves.iter().map(|(name, _)| measured(name)).max().unwrap_or(0);
    let names = names.clamp(4, text.width() / 3);
    let mut cpus: Vec<u64> =
        curves.iter().flat_map(|(_, points)| points.iter()).map(|point| point.cpus).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let room = text.width().saturating_sub(indent.len() + names) / FIGURE;
    let cpus = &cpus[cpus.len().saturating_sub(room)..];
    let figures = |of: &dyn Fn(u64) -> String| -> String {
        cpus.iter().map(|&cpus| format!("{:>FIGURE$}", of(cpus))).collect()
    };
    let heading =
        format!("{indent}{:names$}{}", "CPUs", figures(&|cpus| crate::prose::whole(cpus)));
    text.line(&style.quiet(&heading));
    for (name, points) in curves {
        let name = padded(name, names);
        let figure = |cpus| {
            let point = points.iter().find(|point| point.cpus == cpus);
            point.map_or_else(|| "–".to_owned(), |point| scaled(point.per_second))
        };
        text.line(&format!("{indent}{name}{}", figures(&figure)));
    }
}
