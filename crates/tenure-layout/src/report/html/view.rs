//! What the page shows, in words and figures, ready to be put into the template.

use std::collections::HashSet;

use serde::Serialize;

use super::svg::{self, Alternative};
use crate::report::picture::{Block, Marks, Picture, State, differing, is_marked};
use crate::report::{maps, words};
use crate::result::{Embedder, Finding, Report, Suggestion, TypeMap};

/// The most lines that a map shows in full; of more, those that matter.
const MOST_LINES: usize = 8;

/// The most of these.
const MOST_KEPT: usize = 12;

/// The most types around a repaired one that are drawn as well. All are in the table of sizes.
const MOST_EMBEDDERS: usize = 3;

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

#[derive(Serialize)]
struct MapView {
    caption: String,
    extent: String,
    svg: String,
    members: Vec<Member>,
    /// Whether that is all of them.
    whole: bool,
}

#[derive(Serialize)]
struct Member {
    offset: u64,
    size: u64,
    path: String,
    type_name: String,
    says: String,
}

#[derive(Serialize)]
struct SuggestionView {
    anchor: String,
    type_name: String,
    summary: Vec<(String, bool)>,
    scores: String,
    moves: Vec<MoveView>,
    maps: Vec<MapView>,
    /// How many types take part that are not drawn.
    undrawn: Option<String>,
    sizes: Vec<SizeView>,
    notes: Vec<Vec<(String, bool)>>,
}

#[derive(Serialize)]
struct MoveView {
    member: String,
    of: String,
    from: u64,
    to: u64,
}

#[derive(Serialize)]
struct SizeView {
    type_name: String,
    before: String,
    after: String,
    change: String,
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
                .filter(|_| report.suggestions.is_empty())
                .map(|finding| words::command(report, &finding.type_name)),
            legend: legend(report),
            checks: Checks::of(report),
            findings,
            others,
            script: include_str!("report.js"),
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
    let marks = Marks { victims, moved: moved.unwrap_or_default(), embedded: false };
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

/// A picture of the lines that matter, and not of too many of those.
fn folded(
    report: &Report,
    map: &TypeMap,
    marks: &Marks<'_>,
    keep: impl Fn(u64, &[Block]) -> bool,
) -> Picture {
    let kept = std::cell::Cell::new(0);
    Picture::of(map, report.source.line_bytes, marks, MOST_LINES, |index, blocks| {
        let keeps = kept.get() < MOST_KEPT && keep(index, blocks);
        kept.set(kept.get() + usize::from(keeps));
        keeps
    })
}

impl MapView {
    fn of(map: &TypeMap, picture: &Picture, when: &str, id: &str) -> Self {
        let caption = format!("{}, {when}", map.name);
        let extent = words::extent(map);
        let marked = |state: State| -> Vec<&str> {
            picture
                .blocks()
                .filter(|block| block.state == state)
                .map(|block| block.path.as_str())
                .collect()
        };
        let mut description = format!("{extent}.");
        for (state, what) in [
            (State::Contended, "contended"),
            (State::Victim, "suffering"),
            (State::Relieved, "suffering no longer"),
        ] {
            let names = marked(state);
            if !names.is_empty() {
                description += &format!(" {what}: {}.", some(&names));
            }
        }
        let alternative = Alternative { id, title: &caption, description: &description };
        let shown = picture.rows.len() as u64;
        Self {
            svg: svg::map(picture, &alternative),
            members: picture.blocks().filter(|block| !block.continued).map(Member::of).collect(),
            whole: shown == map.line_count,
            caption,
            extent,
        }
    }
}

/// Names, as many as one hears.
fn some(names: &[&str]) -> String {
    const MOST: usize = 12;
    let mut text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}

impl Member {
    fn of(block: &Block) -> Self {
        let hole = block.state == State::Hole;
        Self {
            offset: block.offset,
            size: block.size,
            path: if hole { "(hole)".to_owned() } else { block.path.clone() },
            type_name: block.type_name.clone(),
            says: if hole {
                String::new()
            } else {
                svg::says(block).collect::<Vec<_>>().join(", ")
            },
        }
    }
}

impl SuggestionView {
    /// A suggestion; with `before`, the map of its own type before as well.
    fn of(report: &Report, suggestion: &Suggestion, anchor: &str, before: bool) -> Self {
        let own = Marks::of_suggestion(report, suggestion);
        let lines = differing(&suggestion.before, &suggestion.after);
        let mut maps = Vec::new();
        if before {
            maps.push(side(
                report,
                &suggestion.before,
                "before",
                &own,
                &lines,
                &format!("{anchor}-before"),
            ));
        }
        maps.push(side(
            report,
            &suggestion.after,
            "after",
            &own,
            &lines,
            &format!("{anchor}-after"),
        ));
        let drawn = |it: &&Embedder| it.before.is_some() && it.after.is_some();
        let drawn: Vec<&Embedder> = suggestion.embedders.iter().filter(drawn).collect();
        for (index, embedder) in drawn.iter().take(MOST_EMBEDDERS).enumerate() {
            let (Some(before), Some(after)) = (&embedder.before, &embedder.after) else { continue };
            let marks = Marks::of_embedder(report, suggestion, embedder);
            let lines = differing(before, after);
            for (map, when) in [(before, "before"), (after, "after")] {
                maps.push(side(
                    report,
                    map,
                    when,
                    &marks,
                    &lines,
                    &format!("{anchor}-{index}-{when}"),
                ));
            }
        }
        let undrawn = drawn.len().saturating_sub(MOST_EMBEDDERS) as u64;
        Self {
            undrawn: (undrawn > 0).then(|| words::count_of(undrawn, "more type")),
            anchor: anchor.to_owned(),
            type_name: suggestion.type_name.clone(),
            summary: quoted(&suggestion.summary),
            scores: format!(
                "Score of all that it touches: {} → {}",
                words::score(suggestion.score_before),
                words::score(suggestion.score_after)
            ),
            moves: moves(suggestion),
            maps,
            sizes: sizes(suggestion),
            notes: suggestion.notes.iter().map(|note| quoted(note)).collect(),
        }
    }
}

fn side(
    report: &Report,
    map: &TypeMap,
    when: &str,
    marks: &Marks<'_>,
    lines: &HashSet<u64>,
    id: &str,
) -> MapView {
    let picture = folded(report, map, marks, |index, blocks| {
        lines.contains(&index) && blocks.iter().any(is_marked)
    });
    MapView::of(map, &picture, when, id)
}

fn moves(suggestion: &Suggestion) -> Vec<MoveView> {
    let own = suggestion.moves.iter().map(|one| (one, suggestion.type_name.as_str()));
    let theirs = suggestion
        .embedders
        .iter()
        .flat_map(|embedder| embedder.moves.iter().map(|one| (one, embedder.type_name.as_str())));
    own.chain(theirs)
        .map(|(one, of)| MoveView {
            member: one.member.clone(),
            of: of.to_owned(),
            from: one.from,
            to: one.to,
        })
        .collect()
}

fn sizes(suggestion: &Suggestion) -> Vec<SizeView> {
    let size = |name: &str, before: u64, after: u64| SizeView {
        type_name: name.to_owned(),
        before: words::whole(before),
        after: words::whole(after),
        change: words::change(before, after),
    };
    let own = size(&suggestion.type_name, suggestion.before.size, suggestion.after.size);
    let of = |it: &Embedder| size(&it.type_name, it.size_before, it.size_after);
    std::iter::once(own).chain(suggestion.embedders.iter().map(of)).collect()
}

/// Text in pieces, with those between backticks marked as code.
fn quoted(text: &str) -> Vec<(String, bool)> {
    let pieces = text.split('`').zip([false, true].into_iter().cycle());
    pieces
        .filter(|(piece, _)| !piece.is_empty())
        .map(|(piece, code)| (piece.to_owned(), code))
        .collect()
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
