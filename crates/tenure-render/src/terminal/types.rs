//! Types that were asked for, in full.

use super::list::{apart, state};
use super::map::{self, look};
use super::suggestion;
use super::text::{Styled, TerminalText, cut, measured, padded};
use crate::picture::{BlockState, Marks};
use crate::{maps, prose};
use tenure_model::{Finding, Report, Sharing, TypeMap};

/// The most lines that a map shows in full; of more, those that matter.
const MAX_LINES: usize = 16;

pub(super) fn render(text: &mut TerminalText, report: &Report) {
    let mut told: Vec<&str> = Vec::new();
    // What was asked for is drawn, and comes before what embeds it.
    let drawn = |finding: &&Finding| report.maps.iter().any(|map| map.name == finding.type_name);
    let (asked, others): (Vec<_>, Vec<_>) = report.findings.iter().partition(drawn);
    for finding in asked.into_iter().chain(others) {
        let name = finding.type_name.as_str();
        if !told.contains(&name) {
            told.push(name);
            one(text, report, name);
        }
    }
    // Types without a finding, if they were asked for by name.
    for name in &report.scope.types {
        let has_map = report.maps.iter().any(|map| map.name == *name);
        if !told.contains(&name.as_str()) && has_map {
            told.push(name);
            one(text, report, name);
        }
    }
}

fn one(text: &mut TerminalText, report: &Report, name: &str) {
    let findings: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.type_name == name).collect();
    let maps: Vec<&TypeMap> = report.maps.iter().filter(|map| map.name == name).collect();
    text.blank();
    let declared = findings
        .iter()
        .find_map(|finding| finding.declared.as_deref())
        .or_else(|| maps.first().and_then(|map| map.declared.as_deref()))
        .unwrap_or_default();
    let style = text.style();
    let title = cut(name, text.width());
    text.line_with(&Styled::new(&title, |title| style.strong(title)), declared, 0);
    text.line(&style.quiet(&"─".repeat(text.width().min(110))));
    for finding in &findings {
        explain(text, report, finding);
    }
    if findings.is_empty() {
        text.wrapped(
            "Nothing in it shares a line with a contended word, as far as is known.",
            "  ",
        );
    }
    for map in maps {
        draw(text, report, map, &findings);
    }
    for finding in findings {
        let is_elsewhere =
            matches!(finding.sharing, Sharing::Elements { .. } | Sharing::Statics { .. });
        if let Some(map) = maps::of_finding(report, finding).filter(|_| is_elsewhere) {
            draw(text, report, &map, &[finding]);
        }
    }
    for suggestion in report.suggestions.iter().filter(|found| found.type_name == name) {
        suggestion::render(text, report, suggestion);
    }
}

fn draw(text: &mut TerminalText, report: &Report, map: &TypeMap, findings: &[&Finding]) {
    let victims = findings.iter().flat_map(|finding| &finding.victims);
    let marks =
        Marks { victims: victims.map(|victim| victim.path.as_str()).collect(), ..Marks::default() };
    text.blank();
    text.quiet(&format!("{}: {}", cut(&map.name, text.width()), prose::extent(map)));
    map::render_marked(text, report.line_bytes, map, &marks, MAX_LINES);
}

fn explain(text: &mut TerminalText, report: &Report, finding: &Finding) {
    let style = text.style();
    let (word, line_bytes) = (&finding.contended, report.line_bytes);
    let score = prose::shown_score(finding);
    let heading = format!("Rank {}, score {score} of 100", finding.rank);
    let confidence = format!("confidence {}", prose::level(finding.confidence.level));
    text.line_with(&Styled::new(&heading, |text| style.strong(text)), &confidence, 2);
    let name = cut(&format!("!{}", word.path), text.width().saturating_sub(2));
    let sentence = format!(
        "Beside {name} ({} at {}, line {}), {}:",
        word.role.name(),
        word.offset,
        word.offset.max(0).cast_unsigned() / line_bytes.max(1),
        prose::sharing(finding)
    );
    let sentence = style.wrapped(&sentence, "  ");
    text.line(&sentence.replacen(&name, &style.text(look(BlockState::Contended), &name), 1));
    if let Some(measured) = prose::measured::finding(report, finding) {
        text.wrapped(&format!("{measured}."), "  ");
    }
    victims(text, finding);
    text.blank();
    if !finding.signals.is_empty() {
        signals(text, finding);
    }
    text.wrapped(&format!("Confidence: {}.", finding.confidence.why), "  ");
    apart(text, finding, 2);
    text.blank();
}

fn victims(text: &mut TerminalText, finding: &Finding) {
    let style = text.style();
    let longest = finding.victims.iter().map(|victim| measured(&victim.path)).max();
    let name_room = longest.unwrap_or(0).min(text.width().saturating_sub(30)).min(40);
    for victim in &finding.victims {
        let name = cut(&victim.path, name_room);
        let space = name_room - measured(&name);
        let left = Styled::plain("    ")
            .and(&Styled::new(&format!("{}{name}", prose::sign(victim)), |name| {
                style.text(look(state(victim)), name)
            }))
            .and(&Styled::plain(&" ".repeat(space)))
            .and(&Styled::plain(&format!("{:>6}", victim.offset)))
            .and(&Styled::new(&format!("  {:.1}  ", victim.weight.unwrap_or(0.0)), |weight| {
                style.quiet(weight)
            }));
        let room = text.width().saturating_sub(left.width);
        let why = prose::why(victim);
        if measured(&why) <= room {
            let rest = format!("{why} ({})", victim.type_name);
            let rest = if measured(&rest) <= room { &rest } else { &why };
            text.line(&format!("{}{rest}", left.text));
        } else {
            text.line(&left.text);
            text.wrapped(&why, "      ");
        }
    }
}

fn signals(text: &mut TerminalText, finding: &Finding) {
    const BAR: usize = 10;
    let style = text.style();
    let longest = finding.signals.iter().map(|signal| measured(&signal.name)).max();
    let name_room = longest.unwrap_or(0).min(14);
    for signal in &finding.signals {
        let name = padded(&signal.name, name_room);
        let filled = filled(signal.factor, BAR);
        let bar = "█".repeat(filled);
        let rest = style.quiet(&"░".repeat(BAR - filled));
        let left = format!("    {name}  {bar}{rest} {:.2}  ", signal.factor);
        let indent = 4 + name_room + 2 + BAR + 1 + 4 + 2;
        // Whatever of it does not fit goes on below itself.
        let words = style.wrapped(&signal.seen, &" ".repeat(indent.min(text.width() / 2)));
        let mut lines = words.lines();
        let first = lines.next().unwrap_or_default().trim_start();
        if indent < text.width() / 2 || measured(first) + indent <= text.width() {
            text.line(&format!("{left}{first}"));
            lines.for_each(|line| text.line(line));
        } else {
            text.line(&left);
            text.wrapped(&signal.seen, "      ");
        }
    }
    let product = format!("= {:.1} of 100", finding.score);
    text.line(&format!("    {}", style.strong(&product)));
}

fn filled(factor: f64, cells: usize) -> usize {
    // A bar has ten cells; a factor that is no number fills none.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let filled = (factor.clamp(0.0, 1.0) * cells as f64).round() as usize;
    filled.min(cells)
}
