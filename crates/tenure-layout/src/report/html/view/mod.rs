//! What the page shows, in words and figures, ready to be put into the template.

mod map;
mod order;

use serde::Serialize;

use super::svg;
use crate::report::picture::{Marks, State, differing, is_marked};
use crate::report::{maps, words};
use crate::result::{Finding, Report, Suggestion};
use map::{MapView, folded};
use order::{SuggestionView, quoted};

#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    version: String,
    schema: String,
    answer: String,
    source: String,
    command: Option<String>,
    legend: Vec<(String, &'static str)>,
    checks: Option<Checks>,
    findings: Vec<FindingView>,
    /// Suggestions for types of which there is no finding.
    others: Vec<SuggestionView>,
    unmended: Vec<Vec<(String, bool)>>,
    /// The page's own, and the only text of this view that is not escaped but for drawings.
    script: &'static str,
}

#[derive(Serialize)]
struct Checks {
    summary: String,
    failed: bool,
    checks: Vec<CheckView>,
}

#[derive(Serialize)]
struct CheckView {
    passed: bool,
    rule: String,
    found: String,
}

#[derive(Serialize)]
struct FindingView {
    anchor: String,
    /// What a search looks at.
    words: String,
    rank: u64,
    score: String,
    percent: String,
    type_name: String,
    declared: Option<String>,
    contended: String,
    what: String,
    sharing: String,
    confidence: String,
    level: &'static str,
    why: String,
    signals: Vec<SignalView>,
    product: String,
    victims: Vec<VictimView>,
    map: Option<MapView>,
    suggestion: Option<SuggestionView>,
    /// Where the suggestion for the same type is.
    see: Option<String>,
}

#[derive(Serialize)]
struct SignalView {
    name: String,
    factor: String,
    percent: String,
    seen: String,
}

#[derive(Serialize)]
struct VictimView {
    path: String,
    offset: u64,
    size: u64,
    type_name: String,
    weight: String,
    why: String,
}

impl Page {
    /// What the page of a cleaned report shows.
    pub(super) fn of(report: &Report) -> Self {
        let mut suggested: Vec<(&str, String)> = Vec::new();
        let mut findings = Vec::new();
        for (index, finding) in report.findings.iter().enumerate() {
            findings.push(FindingView::of(report, finding, index, &mut suggested));
        }
        let others = report
            .suggestions
            .iter()
            .enumerate()
            .filter(|(_, found)| !suggested.iter().any(|(name, _)| *name == found.type_name))
            .map(|(index, found)| {
                let anchor = format!("order-{index}");
                SuggestionView::of(report, found, &anchor, true)
            })
            .collect();
        let file = report.source.path.rsplit('/').next().unwrap_or_default();
        Self {
            title: format!("Cache lines of {}", if file.is_empty() { "it" } else { file }),
            version: report.tenure.clone(),
            schema: report.schema.clone(),
            answer: words::found(report),
            source: format!("{}: {}.", report.source.path, words::source(&report.source)),
            command: report
                .findings
                .first()
                .filter(|_| report.suggestions.is_empty() && report.unmended.is_empty())
                .map(|finding| words::command(report, &finding.type_name)),
            legend: legend(report),
            checks: Checks::of(report),
            findings,
            others,
            unmended: report.unmended.iter().map(|it| quoted(&it.why)).collect(),
            script: include_str!("../report.js"),
        }
    }
}

impl Checks {
    fn of(report: &Report) -> Option<Self> {
        let checks: Vec<_> = words::ordered(&report.checks)
            .map(|check| CheckView {
                passed: check.passed,
                rule: check.rule.clone(),
                found: check.found.clone(),
            })
            .collect();
        let failed = checks.iter().any(|check| !check.passed);
        (!checks.is_empty()).then(|| Self {
            summary: words::checks(&report.checks),
            failed,
            checks,
        })
    }
}

impl FindingView {
    fn of<'a>(
        report: &'a Report,
        finding: &'a Finding,
        index: usize,
        suggested: &mut Vec<(&'a str, String)>,
    ) -> Self {
        let name = finding.type_name.as_str();
        let anchor = format!("finding-{index}");
        let see =
            suggested.iter().find(|(told, _)| *told == name).map(|(_, anchor)| anchor.clone());
        let suggestion = report.suggestions.iter().find(|found| found.type_name == name);
        let own = suggestion.filter(|_| see.is_none());
        if own.is_some() {
            suggested.push((name, format!("{anchor}-order")));
        }
        let word = &finding.contended;
        let factor = finding.signals.iter().map(|signal| SignalView {
            name: signal.name.clone(),
            factor: format!("{:.2}", signal.factor),
            percent: percent(signal.factor),
            seen: signal.seen.clone(),
        });
        Self {
            words: search(finding),
            rank: finding.rank,
            score: words::score(finding.score),
            percent: percent(finding.score / 100.0),
            type_name: name.to_owned(),
            declared: finding.declared.clone(),
            contended: word.path.clone(),
            what: format!(
                "{} {} at {}",
                words::role(word.role),
                if word.type_name.is_empty() {
                    String::new()
                } else {
                    format!("({})", word.type_name)
                },
                word.offset
            ),
            sharing: words::sharing(finding),
            confidence: words::confidence(&finding.confidence),
            level: words::level(finding.confidence.level),
            why: finding.confidence.why.clone(),
            signals: factor.collect(),
            product: format!("{:.1}", finding.score),
            victims: finding
                .victims
                .iter()
                .map(|victim| VictimView {
                    path: victim.path.clone(),
                    offset: victim.offset,
                    size: victim.size,
                    type_name: victim.type_name.clone(),
                    weight: format!("{:.1}", victim.weight),
                    why: victim.why.clone(),
                })
                .collect(),
            map: now(report, finding, own, &anchor),
            suggestion: own
                .map(|found| SuggestionView::of(report, found, &format!("{anchor}-order"), false)),
            see,
            anchor,
        }
    }
}

/// Everything of a finding that a search may look for, in small letters.
fn search(finding: &Finding) -> String {
    let mut all = vec![
        finding.type_name.as_str(),
        finding.contended.path.as_str(),
        &finding.contended.type_name,
        words::role(finding.contended.role),
        words::kind(&finding.sharing),
        words::level(finding.confidence.level),
    ];
    all.extend(finding.declared.as_deref());
    let sharing = words::sharing(finding);
    all.push(&sharing);
    all.extend(finding.victims.iter().flat_map(|victim| [victim.path.as_str(), &victim.type_name]));
    all.join(" ").to_lowercase()
}

/// The map of a finding: of the lines that it is about, and of those that a suggestion changes.
fn now(
    report: &Report,
    finding: &Finding,
    suggestion: Option<&Suggestion>,
    anchor: &str,
) -> Option<MapView> {
    let map = maps::of_finding(report, finding)?;
    let victims: Vec<&str> = finding.victims.iter().map(|victim| victim.path.as_str()).collect();
    let moved = suggestion.map(|found| found.moves.iter().map(|one| one.member.as_str()).collect());
    let marks = Marks { victims, moved: moved.unwrap_or_default(), ..Marks::default() };
    let changed =
        suggestion.map(|found| differing(&found.before, &found.after)).unwrap_or_default();
    let word = finding.contended.offset;
    let places: Vec<u64> =
        finding.victims.iter().map(|victim| victim.offset).chain([word]).collect();
    let picture = folded(report, &map, &marks, |index, blocks| {
        let has = |at: &u64| {
            blocks
                .iter()
                .any(|block| (block.offset..block.offset.saturating_add(block.size)).contains(at))
        };
        changed.contains(&index) && blocks.iter().any(is_marked) || places.iter().any(has)
    });
    let when = if suggestion.is_some() { "before" } else { "now" };
    Some(MapView::of(&map, &picture, when, &format!("{anchor}-map")))
}

/// A share as CSS wants it.
fn percent(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.1}%", share * 100.0)
}

/// What the signs mean that a page of this report may have.
fn legend(report: &Report) -> Vec<(String, &'static str)> {
    let mut states = vec![
        (State::Contended, false, "contended: many CPUs write it"),
        (State::Victim, false, "suffers: likely read meanwhile"),
    ];
    if !report.suggestions.is_empty() {
        states.push((State::Relieved, false, "suffers no longer"));
        states.push((State::Plain, true, "moves"));
    }
    states.push((State::ReadMostly, false, "read-mostly"));
    states.push((State::Cold, false, "cold"));
    states.push((State::Hole, false, "hole"));
    states.into_iter().map(|(state, moved, words)| (svg::swatch(state, moved), words)).collect()
}
