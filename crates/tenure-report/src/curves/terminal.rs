//! A report as text.

use super::table::Only;
use super::{AsCurves, CurvesReport, ScenarioGroup};
use crate::grid::line;
use crate::parts::text_of;
use crate::terminal::Style;
use crate::verdict::{self, Outcome};

/// Ends in a line break.
#[must_use]
pub fn render(measured: &impl AsCurves, style: Style) -> String {
    let report = measured.curves();
    let mut text = opening(&report, style);
    for group in &report.groups {
        (0..group.scenarios.len()).for_each(|at| text += &scenario(group, at, style));
    }
    text + &ending(&report, style)
}

/// The last scenario, or the opening if there is none.
#[must_use]
pub fn newest(measured: &impl AsCurves, style: Style) -> String {
    let report = measured.curves();
    match report.groups.last() {
        Some(group) => scenario(group, group.scenarios.len() - 1, style),
        None => opening(&report, style),
    }
}

/// The text after the last scenario.
#[must_use]
pub fn last(measured: &impl AsCurves, style: Style) -> String {
    ending(&measured.curves(), style)
}

fn opening(report: &CurvesReport, style: Style) -> String {
    let mut text = String::new();
    for paragraph in report.opening.iter().chain(&report.notes) {
        line(&mut text, &style.wrapped(paragraph, ""));
    }
    text
}

/// The scenario with this index; before the first one, the group's subject.
fn scenario(group: &ScenarioGroup, at: usize, style: Style) -> String {
    let (mut text, scenario) = (String::new(), &group.scenarios[at]);
    if at == 0 {
        line(&mut text, "");
        line(&mut text, &style.strong(&format!("{}: {}", group.name, group.title)));
        line(&mut text, &style.wrapped(&group.about, ""));
    }
    line(&mut text, "");
    line(&mut text, &format!("{}  {}", style.strong(&scenario.title), style.quiet(&scenario.id)));
    line(&mut text, &style.wrapped(&scenario.about, ""));
    let others = scenario.tables.iter().filter(|table| table.only != Some(Only::Page)).cloned();
    for table in std::iter::once(scenario.table()).chain(others) {
        line(&mut text, "");
        line(&mut text, &table.render(style));
    }
    let overload = scenario.points.iter().any(|point| scenario.axis.is_overload(point.at));
    let why = scenario.axis.beyond.iter().filter(|_| overload).map(|it| format!("* {}", it.why));
    for note in why.chain(scenario.notes.iter().cloned()) {
        line(&mut text, &style.quiet(&style.wrapped(&note, "  ")));
    }
    if let Some(answer) = &scenario.answer {
        line(&mut text, "");
        line(&mut text, &style.strong(&style.wrapped(&text_of(answer), "")));
    }
    text
}

fn ending(report: &CurvesReport, style: Style) -> String {
    let mut text = String::new();
    for paragraph in &report.closing {
        line(&mut text, "");
        line(&mut text, &style.wrapped(paragraph, ""));
    }
    let Some(conclusion) = &report.conclusion else { return text };
    line(&mut text, "");
    line(&mut text, &style.strong(conclusion));
    for verdict in verdict::ordered(&report.verdicts) {
        let colour = match verdict.outcome {
            Outcome::Holds => console::Style::new().green(),
            Outcome::DoesNotHold => console::Style::new().red(),
            Outcome::NotResolved | Outcome::NeedsMoreCpus => console::Style::new().yellow(),
        };
        let words = verdict.outcome.words();
        let sentence = style.wrapped(&format!("{words}: {}", verdict.claim), "  ");
        line(&mut text, &sentence.replacen(words, &style.text(colour, words), 1));
        line(&mut text, &style.wrapped(&verdict.detail, "    "));
    }
    text
}
