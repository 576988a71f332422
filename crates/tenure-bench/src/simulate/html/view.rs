//! What the page shows, in words and figures, ready to be put into the template.

use serde::Serialize;

use super::heat::{self, Heat};
use super::table::{self, Table};
use super::validation::{self, Validation};
use super::{curves, words};
use crate::simulate::result::{self, Report};
use tenure_report::chart::{Figure, Key};

/// The page.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    version: String,
    schema: String,
    answers: Vec<Answer>,
    measured: String,
    warm_up: String,
    seed: u64,
    notes: Vec<String>,
    machine: Machine,
    groups: Vec<Group>,
    validation: Option<Validation>,
    left_out: &'static str,
    /// So many cores, if hardware threads of theirs share a cache.
    siblings: Option<String>,
}

/// A group's answer, and where its figures are.
#[derive(Serialize)]
struct Answer {
    sentence: words::Parts,
    anchor: String,
    scenario: String,
}

#[derive(Serialize)]
struct Machine {
    name: String,
    about: String,
    cpus: String,
    topology: Option<String>,
    sources: Vec<String>,
    toml: String,
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
    /// The figures of the most CPUs, and all there are.
    headline: Option<Table>,
    all: Option<Table>,
    heat: Option<Heat>,
}

impl Page {
    /// The page of a report.
    pub(super) fn of(report: &Report) -> Self {
        let machine = &report.machine;
        let cores = words::siblings_beyond(machine);
        Self {
            title: format!("Tenure on a simulated {}", machine.name),
            version: report.version.clone(),
            schema: report.schema.clone(),
            answers: answers(&report.groups),
            measured: words::time(report.settings.measured_ns),
            warm_up: words::time(report.settings.warm_up_ns),
            seed: report.settings.seed,
            notes: report.settings.notes.clone(),
            machine: Machine {
                name: machine.name.clone(),
                about: machine.about.clone(),
                cpus: words::counted(machine.cpus, "CPU"),
                topology: words::topology(machine),
                sources: machine.sources.clone(),
                toml: machine.toml.clone(),
            },
            groups: report.groups.iter().enumerate().map(|(at, of)| group(at, of, cores)).collect(),
            validation: validation::of(&report.validation),
            left_out: words::LEFT_OUT,
            siblings: cores.map(words::whole),
        }
    }
}

fn answers(groups: &[result::Group]) -> Vec<Answer> {
    let answer = |(at, group): (usize, &result::Group)| {
        let (index, sentence) = words::answer(group)?;
        let scenario = group.scenarios[index].title.clone();
        Some(Answer { sentence, anchor: anchor(at, index), scenario })
    };
    groups.iter().enumerate().filter_map(answer).collect()
}

/// Where a scenario is in the page. By place and not by name, which may hold anything.
fn anchor(group: usize, scenario: usize) -> String {
    format!("s-{group}-{scenario}")
}

fn group(at: usize, group: &result::Group, cores: Option<usize>) -> Group {
    let scenarios = group.scenarios.iter().enumerate();
    Group {
        anchor: format!("g-{at}"),
        name: group.name.clone(),
        title: group.title.clone(),
        about: group.about.clone(),
        scenarios: scenarios.map(|(index, of)| scenario(anchor(at, index), of, cores)).collect(),
    }
}

fn scenario(anchor: String, scenario: &result::Scenario, cores: Option<usize>) -> Scenario {
    let (keys, figures) = curves::of(scenario, &anchor, cores);
    Scenario {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        about: scenario.about.clone(),
        keys,
        figures,
        headline: table::headline(scenario),
        all: table::all(scenario),
        heat: heat::of(scenario, &anchor),
        anchor,
    }
}
