//! What the page shows, in words and figures, ready to be put into the template.

use serde::Serialize;
use tenure_report::chart::{self, Figure, Key};
use tenure_report::stats::Estimate;
use tenure_report::verdict;

use super::figures;
use crate::report::words;
use crate::result::{self, Point, Report};

/// The page.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    answer: String,
    quick: bool,
    started: String,
    version: String,
    schema: String,
    took: String,
    seconds: String,
    seed: u64,
    verdicts: Vec<Verdict>,
    machine: Vec<(&'static str, String)>,
    untold: String,
    groups: Vec<Group>,
}

#[derive(Serialize)]
struct Verdict {
    outcome: verdict::Outcome,
    words: &'static str,
    claim: String,
    /// Its parts, and whether each is code: something to type.
    detail: Vec<(String, bool)>,
    /// The scenario's place in the page, if it is there.
    anchor: Option<String>,
    scenario: String,
}

#[derive(Serialize)]
struct Group {
    anchor: String,
    name: String,
    title: String,
    about: String,
    scenarios: Vec<Scenario>,
}

#[derive(Serialize)]
struct Scenario {
    anchor: String,
    id: String,
    title: String,
    about: String,
    keys: Vec<Key>,
    figures: Vec<Figure>,
    /// The table that is always to be seen, and those that are when asked for.
    shown: Option<Table>,
    folded: Option<Table>,
    singles: Option<Singles>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Table {
    caption: String,
    retries: bool,
    limit: bool,
    sections: Vec<Section>,
}

/// How long single operations took.
#[derive(Serialize)]
struct Singles {
    caption: String,
    /// What the columns are.
    names: Vec<&'static str>,
    sections: Vec<SinglesSection>,
}

#[derive(Serialize)]
struct SinglesSection {
    title: String,
    rows: Vec<SinglesRow>,
}

#[derive(Serialize)]
struct SinglesRow {
    variant: String,
    operations: String,
    times: Vec<String>,
}

#[derive(Serialize)]
struct Section {
    title: String,
    note: Option<String>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    variant: String,
    mark: &'static str,
    time: Cell,
    mops: String,
    retries: String,
    to_baseline: Option<Cell>,
    to_limit: Option<Cell>,
    slices: String,
}

/// A figure and its interval.
#[derive(Serialize)]
struct Cell {
    figure: String,
    interval: String,
    /// `faster`, `slower`, `unresolved`, or empty.
    kind: &'static str,
}

impl Page {
    /// The page of a report.
    pub(super) fn of(report: &Report) -> Self {
        let (machine, untold) = machine(&report.machine);
        Self {
            title: title(&report.machine),
            answer: words::conclusion(report),
            quick: report.settings.quick,
            started: report.started.clone(),
            version: report.version.clone(),
            schema: report.schema.clone(),
            took: words::number(report.seconds),
            seconds: words::short(report.settings.seconds),
            seed: report.settings.seed,
            verdicts: verdict::ordered(&report.verdicts)
                .into_iter()
                .map(|verdict| self::verdict(verdict, report))
                .collect(),
            machine,
            untold,
            groups: report.groups.iter().enumerate().map(|(at, of)| group(at, of)).collect(),
        }
    }
}

fn title(machine: &tenure_report::machine::Machine) -> String {
    let cpu = if machine.cpu.is_empty() { &machine.arch } else { &machine.cpu };
    format!("Tenure on {}, {}", cpu, words::counted(machine.cpus, "CPU"))
}

fn verdict(verdict: &verdict::Verdict, report: &Report) -> Verdict {
    let place = report.groups.iter().enumerate().find_map(|(group, of)| {
        let scenario = of.scenarios.iter().position(|it| it.id == verdict.scenario)?;
        Some(anchor(group, scenario))
    });
    Verdict {
        outcome: verdict.outcome,
        words: verdict.outcome.words(),
        claim: verdict.claim.clone(),
        detail: marked(&verdict.detail),
        anchor: place,
        scenario: verdict.scenario.clone(),
    }
}

/// A text cut at its backticks; every other part was between two.
fn marked(text: &str) -> Vec<(String, bool)> {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return vec![(text.to_owned(), false)];
    }
    parts.into_iter().enumerate().map(|(at, part)| (part.to_owned(), at % 2 == 1)).collect()
}

/// Known facts with their names, and the names of those that the system did not tell.
fn machine(machine: &tenure_report::machine::Machine) -> (Vec<(&'static str, String)>, String) {
    let count = |count: usize| if count == 0 { String::new() } else { words::whole(count) };
    let cpus = match (machine.cpus, machine.smt) {
        (0, _) => String::new(),
        (cpus, 2..) => format!("{} ({} to a core)", words::whole(cpus), machine.smt),
        (cpus, _) => words::whole(cpus),
    };
    let caches: Vec<String> = machine.caches.iter().map(cache).collect();
    let memory =
        if machine.memory_bytes == 0 { String::new() } else { words::bytes(machine.memory_bytes) };
    let facts = [
        ("Processor", machine.cpu.clone()),
        ("Architecture", machine.arch.clone()),
        ("CPUs", cpus),
        ("Cores", count(machine.cores)),
        ("Sockets", count(machine.sockets)),
        ("Caches", caches.join("\n")),
        ("Memory", memory),
        ("Kernel", machine.kernel.clone()),
        ("Virtualisation", machine.virtualisation.clone()),
        ("Governor", machine.governor.clone()),
    ];
    let (known, untold): (Vec<_>, Vec<_>) =
        facts.into_iter().partition(|(_, value)| !value.is_empty());
    let untold: Vec<_> = untold.into_iter().map(|(name, _)| name.to_lowercase()).collect();
    (known, untold.join(", ").replace("cpus", "CPUs"))
}

fn cache(cache: &tenure_report::machine::Cache) -> String {
    let mut text = format!("L{} {}", cache.level, words::bytes(cache.bytes));
    let mut aside = Vec::new();
    if cache.line_bytes > 0 {
        aside.push(format!("{} B lines", cache.line_bytes));
    }
    if cache.shared_by > 1 {
        aside.push(format!("for {} CPUs", words::whole(cache.shared_by)));
    }
    if !aside.is_empty() {
        text += &format!(" ({})", aside.join(", "));
    }
    text
}

/// Where a scenario is in the page. By place and not by name, which may hold anything.
fn anchor(group: usize, scenario: usize) -> String {
    format!("s-{group}-{scenario}")
}

fn group(at: usize, group: &result::Group) -> Group {
    Group {
        anchor: format!("g-{at}"),
        name: group.name.clone(),
        title: group.title.clone(),
        about: group.about.clone(),
        scenarios: group
            .scenarios
            .iter()
            .enumerate()
            .map(|(index, scenario)| self::scenario(anchor(at, index), scenario))
            .collect(),
    }
}

fn scenario(anchor: String, scenario: &result::Scenario) -> Scenario {
    /// So many numbers of threads are shown unasked.
    const FEW: usize = 2;
    let headline = words::headline(scenario);
    let all: Vec<&Point> = scenario.points.iter().collect();
    let (shown, folded): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|point| scenario.points.len() <= FEW || headline == Some(*point));
    let (keys, figures) = figures::of(scenario, &anchor);
    Scenario {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        about: scenario.about.clone(),
        keys,
        figures,
        shown: table(scenario, &shown),
        folded: table(scenario, &folded),
        singles: singles(scenario),
        notes: words::disturbed(scenario).iter().map(|note| sentence(note)).collect(),
        anchor,
    }
}

/// A note as a sentence of its own.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

fn table(scenario: &result::Scenario, points: &[&Point]) -> Option<Table> {
    let threads: Vec<_> = points.iter().map(|point| words::whole(point.threads)).collect();
    let (last, rest) = threads.split_last()?;
    let at = match rest {
        [] if last == "1" => "1 thread".to_owned(),
        [] => format!("{last} threads"),
        _ => format!("{} and {last} threads", rest.join(", ")),
    };
    Some(Table {
        caption: format!("{} at {at}", scenario.title),
        retries: points
            .iter()
            .flat_map(|point| &point.rows)
            .any(|row| row.retries_per_op.is_some()),
        limit: scenario.limit.is_some(),
        sections: points
            .iter()
            .map(|point| Section {
                title: words::counted(point.threads, "thread"),
                note: point.oversubscribed.then(|| "more threads than CPUs".to_owned()),
                rows: point.rows.iter().map(|row| self::row(row, scenario)).collect(),
            })
            .collect(),
    })
}

/// `None` where no variant timed any.
fn singles(scenario: &result::Scenario) -> Option<Singles> {
    let timed = |point: &Point| {
        let rows = point.rows.iter().filter_map(|row| {
            let singles = row.singles?;
            Some(SinglesRow {
                variant: row.variant.clone(),
                operations: words::whole(usize::try_from(singles.operations).unwrap_or(usize::MAX)),
                times: singles.named().iter().map(|&(_, ns)| words::number(ns)).collect(),
            })
        });
        SinglesSection { title: words::counted(point.threads, "thread"), rows: rows.collect() }
    };
    let first = scenario.points.iter().flat_map(|point| &point.rows).find_map(|row| row.singles)?;
    Some(Singles {
        caption: format!("{}: single operations, ns", scenario.title),
        names: first.named().iter().map(|&(name, _)| name).collect(),
        sections: scenario.points.iter().map(timed).filter(|it| !it.rows.is_empty()).collect(),
    })
}

fn row(row: &result::Row, scenario: &result::Scenario) -> Row {
    let is_baseline = row.variant == scenario.baseline;
    let is_limit = scenario.limit.as_ref() == Some(&row.variant);
    Row {
        variant: row.variant.clone(),
        mark: chart::mark(&row.variant, is_baseline, is_limit),
        time: Cell {
            figure: words::number(row.ns_per_op.median),
            interval: row.ns_per_op.interval(words::number),
            kind: "",
        },
        mops: words::number(row.mops),
        retries: row.retries_per_op.map(words::number).unwrap_or_default(),
        to_baseline: row.to_baseline.as_ref().map(|ratio| cell(ratio, true)),
        to_limit: row.to_limit.as_ref().map(|ratio| cell(ratio, false)),
        slices: match row.dropped {
            0 => words::whole(row.slices),
            dropped => format!("{} (−{})", words::whole(row.slices), words::whole(dropped)),
        },
    }
}

fn cell(ratio: &Estimate, judged: bool) -> Cell {
    Cell {
        figure: words::ratio_or_words(ratio).replace('x', "×"),
        interval: ratio.interval(words::ratio),
        kind: match ratio.resolved() {
            false => "unresolved",
            true if !judged => "",
            true if ratio.high < 1.0 => "faster",
            true => "slower",
        },
    }
}
