//! A pattern of accesses as a scenario: unchanged, and with each repair.

use super::result::{
    RoleRow, SCHEMA, Settings, SimulatedGroup, SimulatedPoint, SimulatedReport, SimulatedRow,
    SimulatedScenario,
};
use super::run::{self, SimulateError, SimulateRequest};
use super::{parallel, result, row, validation};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tenure_advise::repair::{self, RemedyOf};
use tenure_model::{Declaration, Language, Progress, Target};
use tenure_report::numbers::counted;
use tenure_sim::machine::{self, LINE_BYTES};
use tenure_sim::pattern::{self, Pattern, Prediction, Repaired};

pub(super) const NAME: &str = "pattern";
const UNCHANGED: &str = "unchanged";

/// Why a file holds no pattern.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Unreadable(PathBuf, io::Error),
    /// Its text is no pattern.
    Text(PathBuf, tenure_sim::SimulationError),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                write!(f, "cannot read {}: {error}; name a pattern's file", path.display())
            }
            Self::Text(path, error) => {
                write!(f, "{}: {error}; docs/patterns.md describes the format", path.display())
            }
        }
    }
}

impl std::error::Error for FileError {}

/// The pattern of a file.
///
/// # Errors
///
/// The file cannot be read, or holds no pattern.
pub fn read(path: &Path) -> Result<Pattern, FileError> {
    let text = machine::read(path).map_err(|error| FileError::Unreadable(path.into(), error))?;
    Pattern::from_toml(&text).map_err(|error| FileError::Text(path.into(), error))
}

#[derive(Clone, Copy)]
struct PatternJob<'a> {
    variant: &'static str,
    pattern: &'a Pattern,
    cpus: usize,
}

/// Simulates a pattern and each repair of it. Ignores the request's names.
///
/// # Errors
///
/// Numbers of CPUs that the machine does not have or the pattern cannot use, or a failed simulation.
pub fn run(
    pattern: &Pattern,
    request: &SimulateRequest,
    progress: &dyn Progress,
) -> Result<SimulatedReport, SimulateError> {
    let (plan, asked) = run::plan(request)?;
    let (few, mut cpus): (Vec<usize>, Vec<usize>) =
        asked.iter().partition(|&&cpus| cpus < pattern.least_cpus());
    if cpus.is_empty() {
        // The simulation says why not.
        cpus = asked;
    }
    let repairs = pattern::repairs(pattern);
    let variants = repairs.iter().map(|repair| (repair.remedy.name(), &repair.pattern));
    let variants: Vec<_> = [(UNCHANGED, pattern)].into_iter().chain(variants).collect();
    let job = |&cpus: &usize| {
        variants.iter().map(move |&(variant, pattern)| PatternJob { variant, pattern, cpus })
    };
    let jobs: Vec<PatternJob<'_>> = cpus.iter().flat_map(job).collect();

    progress.begin("simulating", jobs.len() as u64);
    let simulate = |job: PatternJob<'_>| {
        let simulation = row::simulation(&request.machine, job.cpus, plan);
        let predicted = job.pattern.simulate(simulation);
        predicted.map(|predicted| row_of(job.variant, &predicted)).map_err(|error| {
            SimulateError::Simulation {
                scenario: NAME,
                variant: job.variant,
                cpus: job.cpus,
                error,
            }
        })
    };
    let rows = parallel::try_map(jobs.clone(), simulate, |index| {
        progress.at(jobs[index].variant, &counted(jobs[index].cpus, "CPU"));
        progress.advance(u64::from(index > 0));
    });
    progress.advance(u64::from(rows.is_ok()));
    progress.end();
    let mut rows = rows?.into_iter();

    let points = cpus.iter().map(|&cpus| {
        let mut rows: Vec<SimulatedRow> = rows.by_ref().take(variants.len()).collect();
        row::compare(&mut rows, UNCHANGED, None);
        SimulatedPoint { cpus, rows }
    });
    let scenario = SimulatedScenario {
        id: format!("{NAME}/{}", pattern.name),
        title: pattern.name.clone(),
        about: "One operation is an iteration of any thread.".to_owned(),
        baseline: UNCHANGED.to_owned(),
        limit: None,
        points: points.collect(),
    };
    let cut = request.cpus.as_ref().and_then(|cpus| cpus.note(request.machine.cpus()));
    let left_out = (!few.is_empty()).then(|| {
        let roles = counted(pattern.least_cpus(), "role");
        format!("The pattern has {roles}, and each needs a CPU: smaller numbers are left out.")
    });
    Ok(SimulatedReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        groups: vec![SimulatedGroup {
            name: NAME.to_owned(),
            title: "An access pattern and its repairs".to_owned(),
            about: pattern.about.clone(),
            scenarios: vec![scenario],
        }],
        settings: Settings {
            measured_ns: plan.measured_ns,
            warm_up_ns: plan.warm_up_ns,
            seed: plan.seed,
            notes: cut.into_iter().chain(left_out).collect(),
        },
        machine: (&request.machine).into(),
        repairs: repairs.iter().map(described).collect(),
        validation: validation::rows(),
    })
}

fn row_of(variant: &str, predicted: &Prediction) -> SimulatedRow {
    let roles = predicted.roles.iter().map(|role| RoleRow {
        role: role.name.clone(),
        threads: role.threads,
        iterations: role.iterations,
        ns_per_iteration: (role.iterations > 0).then_some(role.ns_per_iteration),
    });
    SimulatedRow { roles: roles.collect(), ..row::row(variant, &predicted.report) }
}

fn described(repaired: &Repaired) -> result::SimulatedRepair {
    let remedy = repaired.remedy;
    let words = repaired.words.iter().map(|&word| repaired.pattern.words[word].name.clone());
    let of = RemedyOf { remedy, words: words.collect() };
    // A pattern has no source: the code is an example's.
    let (name, type_name) = ("refs".to_owned(), "AtomicU64".to_owned());
    let declaration = Some(Declaration::Member { name, type_name });
    let language = Some(Language::Rust);
    let line_bytes = LINE_BYTES as u64;
    let target = Target { language, line_bytes, declaration, ..Target::default() };
    result::SimulatedRepair {
        variant: remedy.name().to_owned(),
        about: of.text(&target),
        bytes: repaired.bytes,
        per_thread: repaired.per_thread,
        library: repair::library(remedy).map(str::to_owned),
        code: of.code(&target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noted::Noted;
    use crate::simulate::fixtures::request;
    use tenure_report::curves::{page, terminal};
    use tenure_report::terminal::Style;

    fn example() -> Pattern {
        let page = include_str!("../../../../docs/patterns.md");
        let start = page.find("```toml\n").unwrap() + 8;
        Pattern::from_toml(&page[start..start + page[start..].find("```").unwrap()]).unwrap()
    }

    fn report(cpus: &str) -> SimulatedReport {
        let progress = Noted::default();
        let request = SimulateRequest { measured_us: 20, ..request(&[], cpus) };
        let report = run(&example(), &request, &progress).unwrap();
        progress.assert_complete();
        report
    }

    #[test]
    fn a_pattern_is_a_scenario_whose_variants_are_its_repairs() {
        let report = report("1,2,8");
        let scenario = &report.groups[0].scenarios[0];
        let cpus: Vec<usize> = scenario.points.iter().map(|point| point.cpus).collect();
        assert_eq!((cpus, report.repairs.len()), (vec![2, 8], 5));
        assert!(report.settings.notes[0].contains("smaller numbers are left out"));
        for row in scenario.points.iter().flat_map(|point| &point.rows) {
            assert_eq!(row.to_baseline.is_none(), row.variant == UNCHANGED);
            let iterations: u64 = row.roles.iter().map(|role| role.iterations).sum();
            assert_eq!((row.roles.len(), iterations), (2, row.operations));
        }
        let text = terminal::render(&report, Style { width: 100, colour: false });
        for said in
            ["worker x7", "admin x1", "apart: give `refs`", "tenure::cache_line::CachePadded"]
        {
            assert!(text.contains(said), "{said}\n{text}");
        }
        assert!(page::render(&report).contains("The threads do the steps of the pattern"));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let refused = |cpus| run(&example(), &request(&[], cpus), &()).unwrap_err().to_string();
        assert!(refused("1").contains("2 roles and needs as many CPUs, not 1"), "{}", refused("1"));
        assert!(refused("500").contains("has 112 CPUs"), "{}", refused("500"));
        let missing = read(Path::new("no.toml")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read no.toml: "), "{missing}");
    }
}
