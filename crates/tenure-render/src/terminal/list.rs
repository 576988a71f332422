//! The ranking, a few lines for each finding; and checks, one by one.

use console::Style as Look;

use super::map::look;
use super::text::{Styled, TerminalText, cut};
use crate::picture::BlockState;
use crate::prose;
use tenure_model::{Difference, Finding, Report, Word};

/// Columns of rank and score, which stand alone so that the eye can run down.
pub(super) const INDENT: usize = 12;

/// A finding names so many victims, and counts the others.
const MAX_VICTIMS: usize = 5;

pub(super) fn render(text: &mut TerminalText, report: &Report) {
    if !report.findings.is_empty() {
        text.quiet(
            "Rank among all, score of 100, type; the contended word (!) and what suffers beside it (*), with offsets.",
        );
    }
    let mut fixed: Vec<&str> = Vec::new();
    // Most reports have one section alone, which needs no heading.
    let mut last = "Yours";
    for finding in &report.findings {
        text.blank();
        let section = prose::section(report, finding);
        if section != last {
            last = section;
            text.strong(section);
            text.blank();
        }
        headline(text, finding);
        contended(text, finding);
        victims(text, finding);
        if let Some(measured) = prose::measured::finding(report, finding) {
            text.wrapped(&measured, &" ".repeat(INDENT));
        }
        apart(text, finding, INDENT);
        let name = finding.type_name.as_str();
        let suggestion = report.suggestions.iter().find(|found| found.type_name == name);
        if let Some(suggestion) = suggestion.filter(|_| !fixed.contains(&name)) {
            fixed.push(name);
            // Says that there is a better layout; its maps are shown when the type is asked for.
            text.repair(&prose::gain(suggestion), &" ".repeat(INDENT));
        }
    }
}

/// Repairs of elements and variables, with the code to write.
pub(super) fn apart(text: &mut TerminalText, finding: &Finding, indent: usize) {
    for one in &finding.repairs {
        text.repair(&one.text, &" ".repeat(indent));
        let room = text.width().saturating_sub(indent + 2);
        for line in &one.code {
            text.line(&format!("{}  {}", " ".repeat(indent), cut(line, room)));
        }
    }
}

fn headline(text: &mut TerminalText, finding: &Finding) {
    let style = text.style();
    let place = format!("{:>4}. {:>4}  ", finding.rank, prose::shown_score(finding));
    let room = text.width().saturating_sub(INDENT);
    let instances = prose::instances(finding);
    let room = room.saturating_sub(instances.len());
    let name = Styled::new(&cut(&finding.type_name, room), |name| style.strong(name));
    let left = Styled::plain(&place).and(&name).and(&Styled::plain(&instances));
    text.line_with(&left, finding.declared.as_deref().unwrap_or_default(), INDENT);
}

fn contended(text: &mut TerminalText, finding: &Finding) {
    let style = text.style();
    let margin = " ".repeat(INDENT);
    let room = text.width().saturating_sub(INDENT);
    let word = &finding.contended;
    let name = cut(&format!("!{}", word.path), room);
    let name = Styled::new(&name, |name| style.text(look(BlockState::Contended), name));
    let what = format!("{} at {}, {}", word.role.name(), word.offset, prose::sharing(finding));
    let confidence = format!("confidence {}", prose::confidence(&finding.confidence));
    let left = Styled::plain(&margin).and(&name).and(&Styled::plain(&format!("  {what}")));
    if left.width <= text.width() {
        text.line_with(&left, &confidence, INDENT);
    } else {
        text.line_with(&Styled::plain(&margin).and(&name), &confidence, INDENT);
        text.wrapped(&what, &margin);
    }
}

fn victims(text: &mut TerminalText, finding: &Finding) {
    let style = text.style();
    let room = text.width().saturating_sub(INDENT + 16);
    let mut items: Vec<_> = finding
        .victims
        .iter()
        .take(MAX_VICTIMS)
        .map(|victim| {
            let name = format!("{}{}", prose::sign(victim), cut(&victim.path, room));
            Styled::new(&name, |name| style.text(look(state(victim)), name))
                .and(&Styled::new(&format!(" {}", victim.offset), |at| style.quiet(at)))
        })
        .collect();
    let more = finding.victims.len().saturating_sub(MAX_VICTIMS);
    if more > 0 {
        let more = format!("and {more} more");
        items.push(Styled::new(&more, |more| style.text(Look::new().dim(), more)));
    }
    text.items(&items, "  ", INDENT);
}

/// A contended neighbour is a culprit as well.
pub(super) fn state(victim: &Word) -> BlockState {
    if victim.role.is_contended() { BlockState::Contended } else { BlockState::Victim }
}

/// What differs from an older report.
pub(super) fn changes(text: &mut TerminalText, report: &Report) {
    let Some(changes) = &report.changes else { return };
    let style = text.style();
    text.blank();
    text.strong(&prose::changes(changes));
    for change in changes {
        let look = match change.change {
            Difference::New | Difference::Worse => Look::new().red().bold(),
            Difference::Better | Difference::Gone => Look::new().green(),
            Difference::Moved => Look::new(),
        };
        let word = format!("{:6}", prose::difference(change.change));
        let name = cut(&change.finding, text.width().saturating_sub(10));
        let left = Styled::plain("  ")
            .and(&Styled::new(&word, |word| style.text(look, word)))
            .and(&Styled::plain(&format!("  {name}")));
        text.line_with(&left, &prose::measures(report, change), 10);
    }
}

pub(super) fn checks(text: &mut TerminalText, report: &Report) {
    if report.checks.is_empty() {
        return;
    }
    let style = text.style();
    text.blank();
    text.strong("Checks");
    for check in prose::ordered(&report.checks) {
        let (sign, look) = if check.passed {
            ("✓", Look::new().green())
        } else {
            ("✗", Look::new().red().bold())
        };
        let sentence = style.wrapped(&format!("{sign} {}", check.rule), "  ");
        text.line(&sentence.replacen(sign, &style.text(look, sign), 1));
        // What holds needs no words.
        if !check.passed {
            text.wrapped(&check.found, "    ");
        }
    }
    text.blank();
    text.strong(&prose::checks(&report.checks));
}
