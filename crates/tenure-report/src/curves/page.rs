//! A report as one HTML file.

use super::table::Only;
use super::{AsCurves, CurveScenario, CurvesReport, ScenarioGroup, TextTable, figures, sentence};
use crate::chart::{Figure, Key, theme};
use crate::html;
use crate::machine;
use crate::numbers;
use crate::parts::{Parts, marked};
use crate::verdict;
use serde::Serialize;

/// The page, which has the report as JSON too.
#[must_use]
pub fn render(measured: &impl AsCurves) -> String {
    let report = measured.curves();
    let rules = [include_str!("style.css"), include_str!("verdict.css"), report.style].concat();
    let css = html::css(&theme::COLOURS, &rules);
    html::page(include_str!("page.html"), &Page::of(&report), &css, &crate::json::render(measured))
}

#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    report: &'a CurvesReport,
    answers: Vec<ScenarioAnswer>,
    verdicts: Vec<Verdict<'a>>,
    groups: Vec<GroupView<'a>>,
}

#[derive(Serialize)]
struct ScenarioAnswer {
    parts: Parts,
    anchor: String,
    scenario: String,
}

#[derive(Serialize)]
struct Verdict<'a> {
    outcome: verdict::Outcome,
    words: &'static str,
    claim: &'a str,
    detail: Parts,
    anchor: Option<String>,
    scenario: &'a str,
}

#[derive(Serialize)]
struct GroupView<'a> {
    anchor: String,
    name: &'a str,
    title: &'a str,
    about: &'a str,
    scenarios: Vec<ScenarioView<'a>>,
}

#[derive(Serialize)]
struct ScenarioView<'a> {
    anchor: String,
    id: &'a str,
    title: &'a str,
    about: &'a str,
    keys: Vec<Key>,
    figures: Vec<Figure>,
    tables: Vec<TextTable>,
    html: &'a str,
    others: Vec<TextTable>,
    notes: Vec<String>,
}

/// The id of a scenario: made of its place, as its name may hold anything.
fn anchor(group: usize, scenario: usize) -> String {
    format!("s-{group}-{scenario}")
}

impl<'a> Page<'a> {
    fn of(report: &'a CurvesReport) -> Self {
        let scenarios = || {
            let groups = report.groups.iter().enumerate();
            groups.flat_map(|(group, of)| {
                (of.scenarios.iter().enumerate()).map(move |(at, it)| (anchor(group, at), it))
            })
        };
        let verdict = |verdict: &'a verdict::Verdict| Verdict {
            outcome: verdict.outcome,
            words: verdict.outcome.words(),
            claim: &verdict.claim,
            detail: marked(&verdict.detail),
            anchor: scenarios().find(|(_, it)| it.id == verdict.scenario).map(|(anchor, _)| anchor),
            scenario: &verdict.scenario,
        };
        let groups = report.groups.iter().enumerate();
        Self {
            report,
            answers: answers(report),
            verdicts: verdict::ordered(&report.verdicts).into_iter().map(verdict).collect(),
            groups: groups.map(|(at, group)| GroupView::of(at, group)).collect(),
        }
    }
}

/// The conclusion, or else each group's first answer.
fn answers(report: &CurvesReport) -> Vec<ScenarioAnswer> {
    if let Some(conclusion) = &report.conclusion {
        let parts = vec![(conclusion.clone(), false)];
        return vec![ScenarioAnswer { parts, anchor: String::new(), scenario: String::new() }];
    }
    let answer = |(group, of): (usize, &ScenarioGroup)| {
        of.scenarios.iter().enumerate().find_map(|(at, it)| {
            let (parts, scenario) = (it.answer.clone()?, it.title.clone());
            Some(ScenarioAnswer { parts, anchor: anchor(group, at), scenario })
        })
    };
    report.groups.iter().enumerate().filter_map(answer).collect()
}

impl<'a> GroupView<'a> {
    fn of(at: usize, group: &'a ScenarioGroup) -> Self {
        let scenarios = group.scenarios.iter().enumerate();
        Self {
            anchor: format!("g-{at}"),
            name: &group.name,
            title: &group.title,
            about: &group.about,
            scenarios: scenarios.map(|(of, it)| ScenarioView::of(anchor(at, of), it)).collect(),
        }
    }
}

impl<'a> ScenarioView<'a> {
    fn of(anchor: String, scenario: &'a CurveScenario) -> Self {
        let (keys, figures) = figures::of(scenario, &anchor);
        let others = scenario.tables.iter().filter(|table| table.only != Some(Only::Terminal));
        Self {
            id: &scenario.id,
            title: &scenario.title,
            about: &scenario.about,
            keys,
            figures,
            tables: tables(scenario),
            html: &scenario.html,
            others: others.cloned().map(TextTable::for_page).collect(),
            notes: scenario.notes.iter().map(|note| sentence(note)).collect(),
            anchor,
        }
    }
}

/// The main figures at few points; and all figures at all points, to be unfolded.
fn tables(scenario: &CurveScenario) -> Vec<TextTable> {
    const MAX_POINTS: usize = 2;
    let all: Vec<_> = scenario.points.iter().filter(|point| !point.rows.is_empty()).collect();
    let Some(headline) = scenario.headline() else { return Vec::new() };
    let few = if all.len() <= MAX_POINTS { all.clone() } else { vec![headline] };
    let shown = scenario.by_point(&few, false);
    let full = scenario.by_point(&all, true);
    let has_more = full.columns.len() > shown.columns.len() || all.len() > few.len();
    let caption = format!("{}{}", scenario.title, scenario.axis.phrase(&few));
    let shown = TextTable { caption, ..shown };
    let full = TextTable {
        caption: format!("{}: all figures", scenario.title),
        folded: match all.len() {
            1 => "All figures".to_owned(),
            _ => {
                format!("All figures, {} every number of {}s", scenario.axis.at, scenario.axis.one)
            }
        },
        ..full
    };
    let tables = [Some(shown), has_more.then_some(full)].into_iter().flatten();
    tables.map(TextTable::for_page).collect()
}

/// The machine on a page.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MachineSummary {
    /// What it is, in a sentence.
    pub about: String,
    /// Names and values; several values are a list.
    pub facts: Vec<(&'static str, Vec<String>)>,
    /// What the system did not report.
    pub unknown: String,
    /// Its machine file.
    pub file: String,
}

impl From<&machine::HostMachine> for MachineSummary {
    fn from(machine: &machine::HostMachine) -> Self {
        let count = |count: usize| if count == 0 { String::new() } else { numbers::whole(count) };
        let cpus = match (machine.cpus, machine.smt) {
            (0, _) => String::new(),
            (cpus, 2..) => format!("{} ({} to a core)", numbers::whole(cpus), machine.smt),
            (cpus, _) => numbers::whole(cpus),
        };
        let caches: Vec<String> = machine.caches.iter().map(cache).collect();
        let bytes = machine.memory_bytes;
        let facts = [
            ("Processor", machine.cpu.clone()),
            ("Architecture", machine.arch.clone()),
            ("CPUs", cpus),
            ("Cores", count(machine.cores)),
            ("Sockets", count(machine.sockets)),
            ("Caches", caches.join("\n")),
            ("Memory", if bytes == 0 { String::new() } else { numbers::bytes(bytes) }),
            ("Kernel", machine.kernel.clone()),
            ("Virtualisation", machine.virtualisation.clone()),
            ("Governor", machine.governor.clone()),
        ];
        let (known, unknown): (Vec<_>, Vec<_>) =
            facts.into_iter().partition(|(_, value)| !value.is_empty());
        let unknown: Vec<_> = unknown.into_iter().map(|(name, _)| name.to_lowercase()).collect();
        Self {
            facts: known.into_iter().map(|(name, value)| (name, vec![value])).collect(),
            unknown: unknown.join(", ").replace("cpus", "CPUs"),
            ..Self::default()
        }
    }
}

fn cache(cache: &machine::Cache) -> String {
    let mut text = format!("L{} {}", cache.level, numbers::bytes(cache.bytes));
    let mut aside = Vec::new();
    if cache.line_bytes > 0 {
        aside.push(format!("{} B lines", cache.line_bytes));
    }
    if cache.shared_by > 1 {
        aside.push(format!("for {} CPUs", numbers::whole(cache.shared_by)));
    }
    if !aside.is_empty() {
        text += &format!(" ({})", aside.join(", "));
    }
    text
}
