//! What the page shows beside the report itself: figures in words, searches, maps.

use std::cell::Cell;
use std::collections::HashSet;

use serde::Serialize;

use tenure_report::parts::{Parts, marked};

use super::answer::AnswerView;
use super::observed::{ObservedView, RunHead};
use super::svg::{self, AltText};
use crate::picture::{BlockState, LinePicture, Marks, PictureBlock, differing, is_marked};
use crate::{maps, prose};
use tenure_model::{Check, Embedder, Finding, Move, Report, Source, Suggestion, TypeMap};

/// A map shows up to so many lines in full, and of more those that matter.
const MAX_LINES: usize = 8;

/// The most lines that matter.
const MAX_KEPT_LINES: usize = 12;

/// The most names that a map's description lists.
const MAX_NAMES: usize = 12;

#[derive(Serialize)]
pub(super) struct FindingPage<'a> {
    title: String,
    version: &'a str,
    schema: &'a str,
    answer: String,
    /// The answer of a run in short.
    short: Option<AnswerView>,
    source: String,
    /// What a run showed in all.
    found: Option<String>,
    run: Option<RunHead>,
    command: Option<String>,
    legend: Vec<(String, &'static str)>,
    checks: Vec<&'a Check>,
    check_summary: String,
    /// The changes in a sentence, and one by one: the word, the finding, the figures.
    change_summary: Option<String>,
    changes: Vec<(&'static str, &'a str, String)>,
    measured: Vec<(String, [String; 5])>,
    columns: [&'static str; 5],
    findings: Vec<FindingView<'a>>,
    /// Suggestions for types without a finding.
    others: Vec<OrderView<'a>>,
    unfixed: Vec<Parts>,
    /// Unescaped, as drawings are: it is the page's own.
    script: &'static str,
}

#[derive(Serialize)]
struct FindingView<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    anchor: String,
    title: String,
    seen: Option<ObservedView>,
    /// The text that a search reads.
    words: String,
    /// A share, its words and a width for a finding of a run; a level for one of types, whose score only orders.
    shown_score: String,
    score_of: &'static str,
    percent: Option<String>,
    /// `of 205`, and the heading of another origin than the one before.
    of_all: String,
    heading: Option<&'static str>,
    measured: Option<String>,
    /// The reason why each victim counts.
    whys: Vec<String>,
    instances: String,
    role: &'static str,
    how: String,
    sure: String,
    /// The class and the sign of each victim.
    signs: Vec<(&'static str, &'static str)>,
    /// The factors of the signals, as widths.
    widths: Vec<String>,
    map: Option<MapView>,
    order: Option<OrderView<'a>>,
    /// Repairs of elements and variables, with the code to write.
    apart: Vec<(Parts, String)>,
    /// Where the suggestion for the same type is.
    see: Option<String>,
}

#[derive(Serialize)]
struct MapView {
    caption: String,
    extent: String,
    svg: String,
    members: Vec<MemberRow>,
    /// Whether `members` are all of them.
    whole: bool,
}

#[derive(Serialize)]
struct MemberRow {
    offset: u64,
    size: u64,
    path: String,
    type_name: String,
    says: String,
}

#[derive(Serialize)]
struct OrderView<'a> {
    anchor: String,
    type_name: &'a str,
    heading: &'static str,
    summary: Parts,
    scores: String,
    moves: Vec<(&'a Move, &'a str)>,
    maps: Vec<MapView>,
    /// How many types take part that are not drawn.
    undrawn: Option<String>,
    sizes: Vec<prose::TypeSizes<'a>>,
    notes: Vec<Parts>,
    /// What else would help.
    others: Vec<Parts>,
}

impl<'a> FindingPage<'a> {
    /// What the page of a cleaned report shows.
    pub(super) fn of(report: &'a Report) -> Self {
        let mut suggested: Vec<(&str, String)> = Vec::new();
        let findings: Vec<_> = (0..)
            .zip(&report.findings)
            .map(|(index, finding)| FindingView::of(report, finding, index, &mut suggested))
            .collect();
        let is_told = |one: &Suggestion| suggested.iter().any(|(name, _)| *name == one.type_name);
        let others = (0..)
            .zip(&report.suggestions)
            .filter(|(_, one)| !is_told(one))
            .map(|(index, one): (u32, _)| {
                OrderView::of(report, one, format!("order-{index}"), true)
            })
            .collect();
        let file = prose::subject(report).rsplit('/').next().unwrap_or_default();
        let was_asked = !report.suggestions.is_empty() || !report.unfixed.is_empty();
        let (run, title) = match &report.source {
            Source::Run(run) => (Some(run), format!("Contended lines of {}", run.command)),
            Source::Types(_) => {
                (None, format!("Cache lines of {}", if file.is_empty() { "it" } else { file }))
            }
        };
        let worst = report.findings.first().filter(|_| !was_asked && run.is_none());
        Self {
            title,
            run: run.map(|run| RunHead::of(report, run)),
            version: &report.tenure,
            schema: &report.schema,
            answer: match &report.answer {
                Some(answer) => answer.headline.clone(),
                None => prose::found(report),
            },
            short: AnswerView::of(report, |rank| {
                let at = report.findings.iter().position(|finding| finding.rank == rank)?;
                Some(format!("finding-{at}"))
            }),
            found: report.answer.is_some().then(|| prose::found(report)),
            source: format!("{}: {}.", prose::subject(report), prose::source(report)),
            command: worst.map(|finding| prose::command(report, &finding.type_name)),
            legend: legend(report),
            checks: prose::ordered(&report.checks).collect(),
            check_summary: prose::checks(&report.checks),
            change_summary: report.changes.as_deref().map(prose::changes),
            changes: report
                .changes
                .iter()
                .flatten()
                .map(|it| (prose::difference(it.change), &*it.finding, prose::measures(report, it)))
                .collect(),
            measured: prose::measured::recorded(report)
                .map(prose::measured::members)
                .unwrap_or_default(),
            columns: prose::measured::COLUMNS,
            findings,
            others,
            unfixed: report.unfixed.iter().map(|it| marked(&it.why)).collect(),
            script: include_str!("report.js"),
        }
    }
}

impl<'a> FindingView<'a> {
    fn of(
        report: &'a Report,
        finding: &'a Finding,
        index: usize,
        suggested: &mut Vec<(&'a str, String)>,
    ) -> Self {
        let name = finding.type_name.as_str();
        let anchor = format!("finding-{index}");
        let see = suggested.iter().find(|(told, _)| *told == name).map(|(_, at)| at.clone());
        let suggestion = report.suggestions.iter().find(|found| found.type_name == name);
        let own = suggestion.filter(|_| see.is_none());
        let order_anchor = format!("{anchor}-order");
        if own.is_some() {
            suggested.push((name, order_anchor.clone()));
        }
        let seen = ObservedView::of(report, finding, &anchor);
        let (title, shown_score) = match &seen {
            Some(_) => (finding.title(), prose::share(finding.score / 100.0)),
            None => {
                let grade = || prose::grade(finding.score).to_owned();
                let share = prose::measured::share(report, finding).map(prose::share);
                (finding.type_name.clone(), share.unwrap_or_else(grade))
            }
        };
        Self {
            words: search(finding, seen.as_ref()),
            title,
            seen,
            shown_score,
            score_of: prose::score_of(report, finding),
            percent: finding.observed.is_some().then(|| percent(finding.score / 100.0)),
            of_all: prose::whole(prose::ranked(report)),
            heading: index
                .checked_sub(1)
                .map_or("Yours", |before| prose::section(report, &report.findings[before]))
                .ne(prose::section(report, finding))
                .then(|| prose::section(report, finding))
                .filter(|_| finding.observed.is_none()),
            measured: prose::measured::finding(report, finding),
            whys: finding.victims.iter().map(prose::why).collect(),
            instances: prose::instances(finding),
            role: finding.contended.role.name(),
            how: prose::sharing(finding),
            sure: prose::confidence(&finding.confidence),
            signs: finding
                .victims
                .iter()
                .map(|it| {
                    (if it.role.is_contended() { "contended" } else { "victim" }, prose::sign(it))
                })
                .collect(),
            widths: finding.signals.iter().map(|signal| percent(signal.factor)).collect(),
            map: now(report, finding, own, &anchor),
            order: own.map(|found| OrderView::of(report, found, order_anchor, false)),
            apart: match report.source {
                Source::Types(_) => {
                    let apart = finding.repairs.iter();
                    apart.map(|it| (marked(&it.text), it.code.join("\n"))).collect()
                }
                Source::Run(_) => Vec::new(),
            },
            see,
            anchor,
            finding,
        }
    }
}

/// Everything of a finding that a search may look for, in small letters.
fn search(finding: &Finding, seen: Option<&ObservedView>) -> String {
    let sharing = prose::sharing(finding);
    let mut all = vec![
        finding.type_name.as_str(),
        finding.contended.path.as_str(),
        &finding.contended.type_name,
        finding.contended.role.name(),
        prose::kind(&finding.sharing),
        prose::level(finding.confidence.level),
    ];
    all.extend(finding.declared.as_deref());
    all.push(&sharing);
    all.extend(finding.victims.iter().flat_map(|victim| [victim.path.as_str(), &victim.type_name]));
    all.extend(seen.map(|seen| &*seen.kind));
    let uses = finding.words().into_iter().flat_map(|word| &word.uses);
    let code = uses.filter_map(|it| it.code.as_ref());
    all.extend(code.flat_map(|code| [Some(&*code.function), code.line.as_deref()]).flatten());
    all.join(" ").to_lowercase()
}

/// The map of a finding: the lines that it is about, and those that a suggestion changes.
fn now(
    report: &Report,
    finding: &Finding,
    suggestion: Option<&Suggestion>,
    anchor: &str,
) -> Option<MapView> {
    let map = maps::of_finding(report, finding)?;
    let moves = suggestion.iter().flat_map(|found| &found.moves);
    let marks = Marks {
        victims: finding.victims.iter().map(|victim| victim.path.as_str()).collect(),
        moved: moves.map(|one| one.member.as_str()).collect(),
        ..Marks::default()
    };
    let changed = suggestion.map_or_else(HashSet::new, |it| differing(&it.before, &it.after));
    let victims = finding.victims.iter().map(|victim| victim.offset);
    let places = victims.chain([finding.contended.offset]);
    let places: Vec<u64> = places.filter_map(|at| u64::try_from(at).ok()).collect();
    let holds = |block: &PictureBlock| {
        let end = block.offset.saturating_add(block.size);
        places.iter().any(|at| (block.offset..end).contains(at))
    };
    let picture = folded(report, &map, &marks, |index, blocks| {
        changed.contains(&index) && blocks.iter().any(is_marked) || blocks.iter().any(holds)
    });
    let when = if suggestion.is_some() { "before" } else { "now" };
    Some(MapView::of(&map, &picture, when, &format!("{anchor}-map")))
}

/// A picture of the lines that matter, and not of too many of those.
fn folded(
    report: &Report,
    map: &TypeMap,
    marks: &Marks<'_>,
    keep: impl Fn(u64, &[PictureBlock]) -> bool,
) -> LinePicture {
    let kept = Cell::new(0);
    LinePicture::of(map, report.line_bytes, marks, MAX_LINES, |index, blocks| {
        let keeps = kept.get() < MAX_KEPT_LINES && keep(index, blocks);
        kept.set(kept.get() + usize::from(keeps));
        keeps
    })
}

impl MapView {
    fn of(map: &TypeMap, picture: &LinePicture, when: &str, id: &str) -> Self {
        let caption = format!("{}, {when}", map.name);
        let extent = prose::extent(map);
        let mut description = format!("{extent}.");
        for (state, what) in [
            (BlockState::Contended, "contended"),
            (BlockState::Settled, "contended"),
            (BlockState::Victim, "suffering"),
            (BlockState::Relieved, "suffering no longer"),
        ] {
            let blocks = picture.blocks().filter(|block| block.state == state);
            let names: Vec<&str> = blocks.map(|block| block.path.as_str()).collect();
            let more = match names.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            if !names.is_empty() {
                let names = names[..names.len().min(MAX_NAMES)].join(", ");
                description += &format!(" {what}: {names}{more}.");
            }
        }
        let alternative = AltText { id, title: &caption, description: &description };
        Self {
            svg: svg::map(picture, &alternative),
            members: picture.blocks().filter(|block| !block.continued).map(MemberRow::of).collect(),
            whole: picture.rows.len() as u64 == map.line_count,
            caption,
            extent,
        }
    }
}

impl MemberRow {
    fn of(block: &PictureBlock) -> Self {
        let hole = block.state == BlockState::Hole;
        let says = svg::says(block).filter(|_| !hole);
        Self {
            offset: block.offset,
            size: block.size,
            path: if hole { "(hole)".to_owned() } else { block.path.clone() },
            type_name: block.type_name.clone(),
            says: says.collect::<Vec<_>>().join(", "),
        }
    }
}

impl<'a> OrderView<'a> {
    /// A suggestion; with `before`, the map of its own type before as well.
    fn of(report: &Report, suggestion: &'a Suggestion, anchor: String, before: bool) -> Self {
        let pair = |before: &TypeMap, after: &TypeMap, marks: &Marks<'_>, id: &str| {
            let lines = differing(before, after);
            [(before, "before", marks.clone()), (after, "after", marks.after())].map(
                |(map, when, marks)| {
                    let picture = folded(report, map, &marks, |index, blocks| {
                        lines.contains(&index) && blocks.iter().any(is_marked)
                    });
                    MapView::of(map, &picture, when, &format!("{id}-{when}"))
                },
            )
        };
        let own = Marks::of_suggestion(report, suggestion);
        let own = pair(&suggestion.before, &suggestion.after, &own, &anchor);
        let mut maps: Vec<MapView> = own.into_iter().skip(usize::from(!before)).collect();
        let (drawn, undrawn) = maps::drawn(suggestion);
        for (index, (embedder, before, after)) in drawn.into_iter().enumerate() {
            let marks = Marks::of_embedder(report, suggestion, embedder);
            let [mut before, after] = pair(before, after, &marks, &format!("{anchor}-{index}"));
            // The members are the same before and after.
            before.members.clear();
            maps.extend([before, after]);
        }
        let moves = suggestion.moves.iter().map(|one| (one, suggestion.type_name.as_str()));
        let of_embedder = |embedder: &'a Embedder| {
            embedder.moves.iter().map(|one| (one, embedder.type_name.as_str()))
        };
        Self {
            anchor,
            type_name: &suggestion.type_name,
            heading: prose::means(suggestion.means),
            summary: marked(&suggestion.summary),
            scores: format!(
                "Score of all that it touches: {} → {}",
                prose::score(suggestion.score_before),
                prose::score(suggestion.score_after)
            ),
            moves: moves.chain(suggestion.embedders.iter().flat_map(of_embedder)).collect(),
            maps,
            undrawn: (undrawn > 0).then(|| prose::counted(undrawn, "more type")),
            sizes: prose::sizes(suggestion).collect(),
            notes: suggestion.notes.iter().map(|note| marked(note)).collect(),
            others: prose::alternatives(suggestion).map(|other| marked(&other)).collect(),
        }
    }
}

/// A share as CSS wants it.
fn percent(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    format!("{:.1}%", share * 100.0)
}

/// What the signs mean that a page of this report may have.
fn legend(report: &Report) -> Vec<(String, &'static str)> {
    let fixed = !report.suggestions.is_empty();
    [
        (true, BlockState::Contended, false, "contended: many CPUs write it"),
        (fixed, BlockState::Settled, false, "contended, in the better layout"),
        (true, BlockState::Victim, false, "suffers: likely read meanwhile"),
        (fixed, BlockState::Relieved, false, "suffers no longer"),
        (fixed, BlockState::Plain, true, "moves"),
        (true, BlockState::ReadMostly, false, "read-mostly"),
        (true, BlockState::Cold, false, "cold"),
        (true, BlockState::Hole, false, "hole"),
    ]
    .into_iter()
    .filter(|(shown, ..)| *shown)
    .map(|(_, state, moved, words)| (svg::swatch(state, moved), words))
    .collect()
}
