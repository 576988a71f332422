//! A run: from a request to a report.

use crate::result::{BenchReport, ResultGroup, ResultScenario, SCHEMA, Settings};
use crate::runner::{self, RunPlan};
use crate::scenario::GroupInfo;
use crate::{claims, scenario};
use std::fmt;
use std::time::{Instant, SystemTime};
use tenure_model::Progress;
use tenure_report::numbers::counted;
use tenure_report::{affinity, machine};

/// What to measure.
#[derive(Debug, Clone, Default)]
pub struct BenchRequest {
    /// Names of groups or identifiers of scenarios; empty for all.
    pub groups: Vec<String>,
    /// By default every power of two up to all CPUs, all CPUs, and twice as many.
    pub threads: Option<Vec<usize>>,
    /// Measured seconds for each row at each number of threads; by default the whole run takes about two minutes. The
    /// rounds of a scenario take at most twice as long.
    pub seconds: Option<f64>,
    /// Only see that everything works.
    pub quick: bool,
    /// The seed of the random order.
    pub seed: Option<u64>,
}

/// Why a request cannot be run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BenchError {
    /// No such group or scenario.
    Unknown(scenario::Unknown),
    /// A number of threads that cannot be run.
    Threads(usize),
    /// Seconds that cannot be measured.
    Seconds(f64),
}

/// The most threads that a run may ask for.
pub const MAX_THREADS: usize = 65_536;

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::Threads(threads) => {
                write!(f, "cannot run {threads} threads; ask for 1 to {MAX_THREADS}")
            }
            Self::Seconds(seconds) => {
                write!(f, "cannot measure for {seconds} seconds; ask for more than 0, at most 3600")
            }
        }
    }
}

impl std::error::Error for BenchError {}

/// All groups.
#[must_use]
pub fn groups() -> Vec<GroupInfo> {
    scenario::listed(scenario::native())
}

/// Measured seconds of all rows together.
const DEFAULT_TOTAL_SECONDS: f64 = 45.0;
const MAX_DEFAULT_SECONDS: f64 = 0.5;
const BATCHES: usize = 15;

const QUICK_SECONDS: f64 = 0.01;
const QUICK_BATCHES: usize = 6;

/// Measures what `request` asks for, until `cancelled`: then the report has what was measured so far.
///
/// `tell` sees the report before the first scenario and after each one, the last of the last group.
///
/// # Errors
///
/// A request that names a group that does not exist, or numbers that cannot be measured. Nothing is measured then.
pub fn run(
    request: &BenchRequest,
    cancelled: &(dyn Fn() -> bool + Sync),
    progress: &dyn Progress,
    tell: &mut dyn FnMut(&BenchReport),
) -> Result<BenchReport, BenchError> {
    let began = SystemTime::now();
    let clock = Instant::now();
    let cpus = affinity::cpus();
    let groups = chosen(&request.groups)?;
    let shared = chosen_threads(true, request.threads.as_deref(), cpus.len())?;
    let private = chosen_threads(false, request.threads.as_deref(), cpus.len())?;
    let at = |scenario: &scenario::BenchScenario| if scenario.shared { &shared } else { &private };

    let scenarios = || groups.iter().flat_map(|group| &group.scenarios);
    let rows: usize = scenarios().map(|it| it.variants.len() * at(it).len()).sum();
    let points: usize = scenarios().map(|it| at(it).len()).sum();
    let plan = chosen_plan(request, rows)?;
    let seed = request.seed.unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);

    let mut report = BenchReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: humantime::format_rfc3339_seconds(began).to_string(),
        settings: Settings { quick: request.quick, seconds: plan.seconds, seed },
        machine: machine::describe(),
        ..BenchReport::default()
    };
    progress.begin("measuring", (points * plan.batches) as u64);
    tell(&report);
    'groups: for group in &groups {
        report.groups.push(ResultGroup::of(group, Vec::new()));
        for scenario in &group.scenarios {
            let mut points = Vec::new();
            for &threads in at(scenario) {
                progress.at(scenario.id, &counted(threads, "thread"));
                let step = || progress.advance(1);
                let point =
                    runner::measure(scenario, threads, &cpus, plan, &mut random, cancelled, step);
                points.extend(point);
                if cancelled() {
                    break;
                }
            }
            report.interrupted = cancelled();
            if !points.is_empty() {
                let group = report.groups.last_mut().expect("one was pushed");
                group.scenarios.push(ResultScenario::of(scenario, points));
                tell(&report);
            }
            if report.interrupted {
                break 'groups;
            }
        }
    }
    progress.end();

    report.groups.retain(|group| !group.scenarios.is_empty());
    report.seconds = clock.elapsed().as_secs_f64();
    if !request.quick && !report.interrupted {
        report.verdicts = claims::judge(&report.groups, cpus.len());
    }
    Ok(report)
}

/// Checks `names` without a run.
///
/// # Errors
///
/// The first that is neither a group nor a scenario.
pub fn check_names(names: &[String]) -> Result<(), BenchError> {
    chosen(names).map(drop)
}

fn chosen(names: &[String]) -> Result<Vec<scenario::BenchGroup>, BenchError> {
    scenario::chosen(scenario::native(), names).map_err(BenchError::Unknown)
}

/// Operations on private objects scale with the CPUs, so only one thread and one per CPU are of interest.
fn chosen_threads(
    shared: bool,
    asked: Option<&[usize]>,
    cpus: usize,
) -> Result<Vec<usize>, BenchError> {
    let mut threads: Vec<usize> = match asked {
        Some(asked) => asked.to_vec(),
        None if !shared => vec![1, cpus],
        None => std::iter::successors(Some(1), |threads| Some(threads * 2))
            .take_while(|&threads| threads <= cpus)
            .chain([cpus, 2 * cpus])
            .collect(),
    };
    if let Some(&threads) = threads.iter().find(|&&threads| threads == 0 || threads > MAX_THREADS) {
        return Err(BenchError::Threads(threads));
    }
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}

fn chosen_plan(request: &BenchRequest, rows: usize) -> Result<RunPlan, BenchError> {
    if let Some(seconds) = request.seconds
        && !(seconds > 0.0 && seconds <= 3_600.0)
    {
        return Err(BenchError::Seconds(seconds));
    }
    let (seconds, batches) = if request.quick {
        (QUICK_SECONDS, QUICK_BATCHES)
    } else {
        ((DEFAULT_TOTAL_SECONDS / rows.max(1) as f64).min(MAX_DEFAULT_SECONDS), BATCHES)
    };
    Ok(RunPlan { seconds: request.seconds.unwrap_or(seconds), batches })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::noted::Noted;

    #[test]
    fn threads_are_powers_of_two_all_cpus_and_twice_as_many_or_one_and_all_where_nothing_is_shared()
    {
        let scenarios = scenario::native().remove(0).scenarios;
        let [get_put, last_put] = [scenarios[0].shared, scenarios[2].shared];
        for (shared, asked, cpus, threads) in [
            (get_put, None, 1, &[1, 2][..]),
            (get_put, None, 2, &[1, 2, 4]),
            (get_put, None, 6, &[1, 2, 4, 6, 12]),
            (get_put, Some(&[3, 1, 3][..]), 2, &[1, 3]),
            (last_put, None, 6, &[1, 6]),
            (last_put, None, 1, &[1]),
            (last_put, Some(&[3]), 6, &[3]),
        ] {
            assert_eq!(chosen_threads(shared, asked, cpus).unwrap(), threads, "{asked:?} {cpus}");
        }
        assert_eq!(chosen_threads(true, Some(&[0]), 2), Err(BenchError::Threads(0)));
    }

    #[test]
    fn what_cannot_be_measured_is_refused_in_one_line() {
        let request =
            |request: BenchRequest| run(&request, &|| false, &(), &mut |_| ()).unwrap_err();
        let no_group =
            request(BenchRequest { groups: vec!["nope".into()], ..BenchRequest::default() });
        assert!(no_group.to_string().starts_with("there is no group or scenario 'nope'"));
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = request(BenchRequest { seconds: Some(seconds), ..BenchRequest::default() });
            assert!(error.to_string().contains("more than 0"), "{error}");
        }
    }

    #[test]
    fn a_quick_run_measures_every_scenario_and_counts_its_steps() {
        let progress = Noted::default();
        let request = BenchRequest {
            quick: true,
            threads: Some(vec![1, 2]),
            seconds: Some(0.001),
            ..BenchRequest::default()
        };
        let report = run(&request, &|| false, &progress, &mut |_| ()).unwrap();
        let measured = || report.groups.iter().flat_map(|group| &group.scenarios);
        let known = groups().into_iter().flat_map(|group| group.scenarios).map(|(id, _)| id);
        assert!(measured().map(|scenario| scenario.id.clone()).eq(known));
        progress.assert_complete();
        for scenario in measured() {
            assert_eq!(scenario.points.len(), 2);
            for row in scenario.points.iter().flat_map(|point| &point.rows) {
                assert!(row.ns_per_op.median > 0.0, "{}: {row:?}", scenario.id);
                assert_eq!(row.to_baseline.is_none(), row.variant == scenario.baseline);
            }
        }
        assert_eq!(report.verdicts, [], "its figures are too few to judge a claim by");
    }

    #[test]
    fn an_interrupted_run_tells_what_it_has_and_judges_nothing() {
        let (finished, hears) = std::sync::mpsc::channel();
        let hears = std::sync::Mutex::new((hears, 0));
        let cancelled = || {
            let mut hears = hears.lock().unwrap();
            hears.1 += hears.0.try_iter().count();
            hears.1 >= 2
        };
        let groups = vec!["refs".to_owned()];
        let request = BenchRequest {
            groups,
            threads: Some(vec![1]),
            seconds: Some(0.001),
            ..BenchRequest::default()
        };
        let mut told = Vec::new();
        let mut tell = |report: &BenchReport| {
            let Some(group) = report.groups.last() else { return };
            told.push(group.scenarios.last().unwrap().id.clone());
            finished.send(()).unwrap();
        };
        let report = run(&request, &cancelled, &(), &mut tell).unwrap();
        let scenarios: Vec<_> = report.groups[0].scenarios.iter().map(|one| &one.id).collect();
        assert!(report.interrupted && report.verdicts.is_empty());
        assert_eq!(scenarios.len(), 2, "{scenarios:?}");
        assert_eq!(told.iter().collect::<Vec<_>>(), scenarios);
    }
}
