//! A run: from a request to a report.

use super::cpus::{self, CpuCounts};
use super::result::{
    SCHEMA, Settings, SimulatedGroup, SimulatedPoint, SimulatedReport, SimulatedRow,
    SimulatedScenario,
};
pub use super::row::DEFAULT_SEED;
use super::row::{self, SimulationPlan};
use super::{parallel, validation};
use crate::scenario::{self, GroupInfo, Unknown, Variant};
use std::fmt;
use tenure_model::Progress;
use tenure_report::numbers::counted;
use tenure_sim::machine;
use tenure_sim::{Machine, Simulated};

/// What to simulate.
#[derive(Debug, Clone)]
pub struct SimulateRequest {
    /// Names of groups or identifiers of scenarios; empty for all.
    pub names: Vec<String>,
    /// By default every power of two up to all of the machine's CPUs, and all.
    pub cpus: Option<CpuCounts>,
    /// The machine.
    pub machine: Machine,
    /// Simulated microseconds, measured for each row.
    pub measured_us: u32,
    /// The seed of everything random.
    pub seed: u64,
}

/// The default of [`SimulateRequest::measured_us`].
pub const DEFAULT_US: u32 = 200;

/// The most for [`SimulateRequest::measured_us`].
pub const MAX_SIMULATED_US: u32 = 100_000;

const WARM_UP_NS: f64 = 50_000.0;

/// Why a request cannot be simulated.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SimulateError {
    /// No such group or scenario.
    Unknown(Unknown),
    /// The scenario runs on the real machine alone.
    NotSimulated(String),
    /// Impossible numbers of CPUs.
    Cpus(cpus::CpuCountsError),
    /// More CPUs than the machine has.
    TooManyCpus {
        /// The number.
        asked: usize,
        /// The machine.
        machine: String,
        /// Its CPUs.
        has: usize,
        /// A built-in machine that has as many, if any.
        larger: Option<String>,
    },
    /// A time that cannot be measured.
    Time(u32),
    /// A simulation failed.
    Simulation {
        /// The scenario.
        scenario: &'static str,
        /// The variant.
        variant: &'static str,
        /// The number of CPUs.
        cpus: usize,
        /// Why.
        error: tenure_sim::SimulationError,
    },
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::NotSimulated(name) => write!(
                f,
                "'{name}' runs on the real machine alone: measure it with `tenure bench {name}`; \
                 `tenure sim --list` names what can be simulated"
            ),
            Self::Cpus(error) => error.fmt(f),
            Self::TooManyCpus { asked, machine, has, larger } => {
                write!(f, "'{machine}' has {has} CPUs, not {asked}; ask for 1 to {has}")?;
                match larger {
                    Some(larger) => write!(f, ", or for `--machine {larger}`"),
                    None => {
                        f.write_str(", or for a machine file of your own (--machine FILE.toml)")
                    }
                }
            }
            Self::Time(us) => {
                write!(f, "cannot measure for {us} microseconds; ask for 1 to {MAX_SIMULATED_US}")
            }
            Self::Simulation { scenario, variant, cpus, error } => {
                write!(f, "{scenario}, {variant}, on {}: {error}", counted(*cpus, "CPU"))?;
                // The scenarios end on every machine with valid times.
                match error {
                    tenure_sim::SimulationError::Livelock { .. } => {
                        f.write_str("; check the machine's times, which are in nanoseconds")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for SimulateError {}

/// That can be simulated.
#[must_use]
pub fn groups() -> Vec<GroupInfo> {
    scenario::listed(scenario::groups::<Simulated>())
}

/// Simulates a scenario on the default machine; `None` if it cannot be simulated.
#[must_use]
pub fn command(scenario: &str) -> Option<String> {
    scenario::chosen(scenario::groups::<Simulated>(), &[scenario.to_owned()]).ok()?;
    let cpus = Machine::preset(machine::DEFAULT).ok()?.cpus();
    Some(format!("tenure sim {scenario} --cpus 1..{cpus}"))
}

struct Checked {
    plan: SimulationPlan,
    groups: Vec<scenario::BenchGroup>,
    shared: Vec<usize>,
    /// For the others: they scale with the CPUs, so one and all are enough.
    private: Vec<usize>,
}

impl Checked {
    fn cpus(&self, scenario: &scenario::BenchScenario) -> &[usize] {
        if scenario.shared { &self.shared } else { &self.private }
    }

    fn jobs(&self) -> Vec<ScenarioJob> {
        let mut jobs = Vec::new();
        for scenario in self.groups.iter().flat_map(|group| &group.scenarios) {
            for &cpus in self.cpus(scenario) {
                jobs.extend(scenario.variants.iter().map(|variant| ScenarioJob {
                    scenario: scenario.id,
                    variant: variant.clone(),
                    cpus,
                }));
            }
        }
        jobs
    }
}

/// Checks `request` without running it.
///
/// # Errors
///
/// As [`run`], before it simulates.
pub fn check(request: &SimulateRequest) -> Result<(), SimulateError> {
    checked(request).map(drop)
}

fn checked(request: &SimulateRequest) -> Result<Checked, SimulateError> {
    let groups = scenario::chosen(scenario::groups::<Simulated>(), &request.names);
    let groups = groups.map_err(|unknown| {
        if scenario::chosen(scenario::native(), std::slice::from_ref(&unknown.name)).is_ok() {
            SimulateError::NotSimulated(unknown.name)
        } else {
            SimulateError::Unknown(unknown)
        }
    })?;
    let (plan, shared) = plan(request)?;
    let has = request.machine.cpus();
    let private = match &request.cpus {
        Some(CpuCounts::List(_)) => shared.clone(),
        _ => shared.first().into_iter().chain(shared.last()).copied().collect(),
    };
    let private = CpuCounts::List(private).on(has).map_err(SimulateError::Cpus)?;
    Ok(Checked { plan, groups, shared, private })
}

pub(super) fn plan(
    request: &SimulateRequest,
) -> Result<(SimulationPlan, Vec<usize>), SimulateError> {
    if request.measured_us == 0 || request.measured_us > MAX_SIMULATED_US {
        return Err(SimulateError::Time(request.measured_us));
    }
    let has = request.machine.cpus();
    let all = CpuCounts::Range { first: 1, last: has };
    let cpus = request.cpus.as_ref().unwrap_or(&all).on(has);
    let cpus = cpus.map_err(|error| match error {
        cpus::CpuCountsError::TooMany { asked, has } => SimulateError::TooManyCpus {
            asked,
            machine: request.machine.name.clone(),
            has,
            larger: with_at_least(asked),
        },
        error => SimulateError::Cpus(error),
    })?;
    let measured_ns = f64::from(request.measured_us) * 1e3;
    Ok((SimulationPlan { warm_up_ns: WARM_UP_NS, measured_ns, seed: request.seed }, cpus))
}

/// The smallest built-in machine with as many CPUs.
fn with_at_least(cpus: usize) -> Option<String> {
    let machines = Machine::presets().into_iter().filter(|machine| machine.cpus() >= cpus);
    machines.min_by_key(Machine::cpus).map(|machine| machine.name)
}

/// Simulates what `request` asks for, as many rows at once as this machine has CPUs; the report does not depend on
/// their number.
///
/// # Errors
///
/// A request with an unknown name or impossible numbers, before anything is simulated; or a simulation that failed.
pub fn run(
    request: &SimulateRequest,
    progress: &dyn Progress,
) -> Result<SimulatedReport, SimulateError> {
    let checked = checked(request)?;
    let plan = checked.plan;
    let jobs = checked.jobs();
    progress.begin("simulating", jobs.len() as u64);
    let simulate = |job: ScenarioJob| job.run(&request.machine, plan);
    let rows = parallel::try_map(jobs.clone(), simulate, |index| {
        progress.at(jobs[index].scenario, &counted(jobs[index].cpus, "CPU"));
        // All rows before this one are done.
        progress.advance(u64::from(index > 0));
    });
    progress.advance(u64::from(rows.is_ok()));
    progress.end();
    let mut rows = rows?.into_iter();

    let mut scenario = |it| assembled(it, checked.cpus(it), &mut rows);
    let groups = (checked.groups.iter())
        .map(|group| SimulatedGroup::of(group, group.scenarios.iter().map(&mut scenario).collect()))
        .collect();
    let note = request.cpus.as_ref().and_then(|cpus| cpus.note(request.machine.cpus()));
    Ok(SimulatedReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        groups,
        settings: Settings {
            measured_ns: plan.measured_ns,
            warm_up_ns: plan.warm_up_ns,
            seed: plan.seed,
            notes: note.into_iter().collect(),
        },
        machine: (&request.machine).into(),
        repairs: Vec::new(),
        validation: validation::rows(),
    })
}

fn assembled(
    scenario: &scenario::BenchScenario,
    cpus: &[usize],
    rows: &mut impl Iterator<Item = SimulatedRow>,
) -> SimulatedScenario {
    let points = cpus.iter().map(|&cpus| {
        let mut rows: Vec<SimulatedRow> = rows.take(scenario.variants.len()).collect();
        row::compare(&mut rows, scenario.baseline, scenario.limit);
        SimulatedPoint { cpus, rows }
    });
    SimulatedScenario::of(scenario, points.collect())
}

#[derive(Debug, Clone)]
struct ScenarioJob {
    scenario: &'static str,
    variant: Variant,
    cpus: usize,
}

impl ScenarioJob {
    fn run(&self, machine: &Machine, plan: SimulationPlan) -> Result<SimulatedRow, SimulateError> {
        row::simulate(&self.variant, machine, self.cpus, plan).map_err(|error| {
            SimulateError::Simulation {
                scenario: self.scenario,
                variant: self.variant.name,
                cpus: self.cpus,
                error,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noted::Noted;
    use crate::simulate::fixtures::request;

    fn refused(request: &SimulateRequest) -> String {
        let error = run(request, &()).unwrap_err();
        assert_eq!(check(request), Err(error.clone()));
        error.to_string()
    }

    #[test]
    fn the_rows_are_the_same_however_many_work_on_them() {
        let request = request(&["refs/get-put", "dst"], "1,7");
        let plan = SimulationPlan { warm_up_ns: 5e3, measured_ns: 2e4, seed: 3 };
        let jobs = checked(&request).unwrap().jobs();
        let row = |job: &ScenarioJob| job.run(&request.machine, plan).unwrap();
        let at_once = parallel::map(jobs.iter().collect(), row);
        assert_eq!(at_once, jobs.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn another_seed_gives_other_figures() {
        let one = request(&["refs/get-put"], "8");
        let other = SimulateRequest { seed: 2, ..one.clone() };
        let report = |request| run(request, &()).unwrap();
        assert_ne!(report(&one).groups, report(&other).groups);
    }

    #[test]
    fn a_point_has_every_variant_with_its_ratios_and_progress_goes_in_order() {
        let progress = Noted::default();
        let report = run(&request(&["refs"], "2,1"), &progress).unwrap();
        let scenario = &report.groups[0].scenarios[0];
        assert_eq!(scenario.points.iter().map(|point| point.cpus).collect::<Vec<_>>(), [1, 2]);
        for row in scenario.points.iter().flat_map(|point| &point.rows) {
            assert!(row.ns_per_op.is_some_and(|ns| ns > 0.0), "{row:?}");
            assert_eq!(row.to_baseline.is_none(), row.variant == "inc_not_zero");
            assert_eq!(row.to_limit.is_none(), row.variant == "limit");
        }
        progress.assert_complete();
        assert_eq!(report.machine.cpus, 112);
    }

    #[test]
    fn private_objects_are_simulated_on_one_cpu_and_on_all() {
        let cpus = |cpus: Option<&str>| {
            let cpus = cpus.map(|cpus| cpus.parse().unwrap());
            let checked = checked(&SimulateRequest { cpus, ..request(&["refs"], "1") }).unwrap();
            (checked.shared, checked.private)
        };
        let powers = vec![1, 2, 4, 8, 16, 32, 64, 112];
        assert_eq!(cpus(None), (powers.clone(), vec![1, 112]));
        assert_eq!(cpus(Some("1..192")), (powers, vec![1, 112]));
        assert_eq!(cpus(Some("3,1,9")), (vec![1, 3, 9], vec![1, 3, 9]));
        assert_eq!(cpus(Some("4..4")), (vec![4], vec![4]));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_the_way_out() {
        assert!(
            refused(&request(&["nope"], "1"))
                .contains("the groups are refs, dst, pool, revocable, owner;")
        );
        let arc = refused(&request(&["refs/upgrade"], "1"));
        assert!(arc.contains("`tenure bench refs/upgrade`"), "{arc}");
        let many = refused(&request(&[], "1,5000"));
        assert!(many.contains("has 112 CPUs, not 5000; ask for 1 to 112"), "{many}");
        let never = refused(&SimulateRequest { measured_us: 0, ..request(&[], "1") });
        assert!(never.contains("ask for 1 to 100000"), "{never}");
    }

    #[test]
    fn magazines_are_flat_where_everything_else_collapses() {
        let report = run(&request(&["pool/in-use-10"], "1,32"), &()).unwrap();
        let points = &report.groups[0].scenarios[0].points;
        for (alone, together) in std::iter::zip(&points[0].rows, &points[1].rows) {
            let slower = together.ns_per_op.unwrap() / alone.ns_per_op.unwrap();
            if alone.variant == "magazines" {
                assert!(slower < 2.0, "{slower}");
            } else {
                assert!(slower > 10.0, "{}: {slower}", alone.variant);
            }
        }
    }

    #[test]
    fn switches_that_are_not_counted_are_50_times_as_many_as_counted_ones_on_192_cpus() {
        let machine = machine::open("power8-16s-192").unwrap();
        let request =
            SimulateRequest { machine, ..request(&["revocable/same", "revocable/switch"], "192") };
        let report = run(&request, &()).unwrap();
        for scenario in &report.groups[0].scenarios {
            let of = |name| scenario.points[0].rows.iter().find(|row| row.variant == name).unwrap();
            let gain = of("shootdown").mops / of("counted").mops;
            assert!(gain >= 50.0, "{}: {gain}", scenario.id);
        }
    }

    #[test]
    fn references_by_thread_are_flat_and_100_times_as_fast_as_on_one_word_on_192_cpus() {
        let machine = machine::open("power8-16s-192").unwrap();
        // The first use by all threads at once takes longer than the warm-up.
        let measured_us = 100;
        let request =
            SimulateRequest { machine, measured_us, ..request(&["owner/get-put"], "1,192") };
        let report = run(&request, &()).unwrap();
        let points = &report.groups[0].scenarios[0].points;
        let of = |point: usize, name| {
            let row = points[point].rows.iter().find(|row| row.variant == name);
            row.unwrap().mops
        };
        let [one, all] = [0, 1].map(|point| of(point, "by thread"));
        assert!(all >= one * 192.0 / 1.2, "{one} and {all}");
        let gain = all / of(1, "ticket");
        assert!(gain >= 100.0, "{gain}");
    }

    #[test]
    fn many_lines_are_told_as_one_and_none_is_lost() {
        let report = run(&request(&["pool/in-use-200"], "8"), &()).unwrap();
        let walk = &report.groups[0].scenarios[0].points[0].rows[0];
        let rest = walk.lines.last().unwrap().members[0].name.clone().unwrap();
        assert!(walk.lines.len() == 17 && rest.ends_with(" more lines"), "{rest}");
        let sum: f64 = walk.lines.iter().map(|line| line.transfers_per_op.all).sum();
        assert!((sum / walk.transfers_per_op.all - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_range_that_is_cut_is_noted() {
        let notes = |cpus| run(&request(&["refs/get"], cpus), &()).unwrap().settings.notes;
        assert_eq!(notes("100..192"), ["100..192 ends at 112, the CPUs of this machine."]);
        assert_eq!(notes("1..2"), [""; 0]);
    }

    #[test]
    fn a_simulation_that_does_not_end_well_is_told_with_its_place() {
        let mut request = request(&["refs/get"], "1,2");
        // Cannot come from a file.
        request.machine.latency.hit = -1.0;
        let error = run(&request, &()).unwrap_err().to_string();
        assert!(error.starts_with("refs/get, limit, on 1 CPU: "), "{error}");
    }
}
