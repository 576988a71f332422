//! Reports for tests: a large server and a machine of one CPU.
//!
//! The figures follow a crude model of one contended line, which gives tables and charts realistic shapes.

use crate::result::{
    BenchPoint, BenchReport, BenchRow, Distribution, ResultGroup, ResultScenario, SCHEMA, Settings,
};
use crate::scenario;
use tenure::memory::Native;
use tenure_report::machine::{Cache, HostMachine};
use tenure_report::stats::Estimate;
use tenure_report::verdict::{Outcome, Verdict};

/// One number of threads exceeds the CPUs.
pub(crate) fn xeon() -> BenchReport {
    let threads = [1, 2, 4, 8, 16, 32, 64, 96, 192, 256];
    BenchReport {
        machine: HostMachine {
            cpu: "Intel(R) Xeon(R) Platinum 8468".to_owned(),
            arch: "x86_64".to_owned(),
            cpus: 192,
            cores: 96,
            smt: 2,
            sockets: 2,
            caches: vec![
                Cache { level: 1, bytes: 48 << 10, line_bytes: 64, shared_by: 2 },
                Cache { level: 2, bytes: 2 << 20, line_bytes: 64, shared_by: 2 },
                Cache { level: 3, bytes: 105 << 20, line_bytes: 64, shared_by: 96 },
            ],
            memory_bytes: 540_659_138_560,
            kernel: "Linux 6.1.0-28-amd64".to_owned(),
            virtualisation: "none".to_owned(),
            governor: "performance".to_owned(),
        },
        ..report(&threads, 192)
    }
}

/// One CPU: one number of threads, wide intervals, empty fields.
pub(crate) fn one_cpu() -> BenchReport {
    let mut report = BenchReport {
        machine: HostMachine {
            arch: "aarch64".to_owned(),
            cpus: 1,
            kernel: "Linux 6.6.0".to_owned(),
            ..HostMachine::default()
        },
        ..report(&[1], 1)
    };
    report.settings.quick = true;
    report.verdicts = vec![
        verdict(
            Outcome::NeedsMoreCpus,
            "One unconditional add beats the CAS loop when threads contend",
            "contention needs 2 CPUs and this machine has 1; \
             `tenure sim refs --cpus 1..192` shows it on a simulated machine",
            "refs/get-put",
        ),
        verdict(
            Outcome::NotResolved,
            "Without contention they are equal",
            "0.98x [0.93, 1.04] at 1 thread",
            "refs/get-put",
        ),
    ];
    report
}

/// Every text tries to be markup.
pub(crate) fn hostile() -> BenchReport {
    const TEXT: &str = "</script><script>alert(1)</script><!-- \"'&amp;";
    let mut report = one_cpu();
    report.machine.cpu = TEXT.to_owned();
    report.verdicts[0].claim = TEXT.to_owned();
    let group = &mut report.groups[0];
    group.title = TEXT.to_owned();
    group.name = TEXT.to_owned();
    let scenario = &mut group.scenarios[0];
    scenario.id = TEXT.to_owned();
    scenario.baseline = TEXT.to_owned();
    scenario.points[0].rows[0].variant = TEXT.to_owned();
    report
}

pub(crate) fn degenerate() -> BenchReport {
    let mut report = xeon();
    let scenario = &mut report.groups[0].scenarios[0];
    scenario.baseline = "not there".to_owned();
    scenario.points[0].rows.clear();
    for row in &mut scenario.points[1].rows {
        row.mops = f64::NAN;
        row.ns_per_op = Estimate { median: 0.0, low: f64::NAN, high: f64::INFINITY };
        row.to_baseline = Some(row.ns_per_op);
    }
    for row in &mut scenario.points[2].rows {
        row.mops = 0.0;
        row.retries_per_op = Some(f64::INFINITY);
        row.singles =
            Some(Distribution { median_ns: f64::NAN, max_ns: f64::INFINITY, ..singles(0.0) });
    }
    report.groups[0].scenarios[1].points.clear();
    report.groups[1].scenarios.clear();
    report
}

#[derive(Clone, Copy)]
pub(crate) struct Cost {
    alone: f64,
    each: f64,
    pub(crate) retries: f64,
}

impl Cost {
    pub(crate) fn of(variant: &str) -> Self {
        let (each, retries) = match variant {
            "limit" => (20.0, 0.0),
            name if name.ends_with("inc_not_zero") => (62.0, 0.07),
            name if name.ends_with("rcuref") => (22.0, 0.0),
            _ => (21.5, 0.0),
        };
        Self { alone: 7.6, each: if is_shared(variant) { each * 1.6 } else { each }, retries }
    }

    pub(crate) fn time(self, others: f64) -> f64 {
        self.alone + self.each * others.powf(0.9)
    }
}

pub(crate) fn is_shared(variant: &str) -> bool {
    variant.starts_with("shared")
}

/// refs/get-put, refs/get and dst/cells, with a point for each of `at`.
pub(crate) fn groups<P>(
    at: &[usize],
    mut point: impl FnMut(&scenario::BenchScenario, usize) -> P,
) -> Vec<ResultGroup<P>> {
    let group = |(group, scenarios): (scenario::BenchGroup, usize)| {
        let scenarios = group.scenarios.iter().take(scenarios);
        let measured = scenarios
            .map(|it| ResultScenario::of(it, at.iter().map(|&at| point(it, at)).collect()))
            .collect();
        ResultGroup::of(&group, measured)
    };
    std::iter::zip(scenario::groups::<Native>(), [2, 1]).map(group).collect()
}

fn report(threads: &[usize], cpus: usize) -> BenchReport {
    let mut noise = fastrand::Rng::with_seed(7);
    BenchReport {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        started: "2026-01-15T09:30:00Z".to_owned(),
        seconds: 131.4,
        interrupted: false,
        settings: Settings { quick: false, seconds: 1.0, seed: 42 },
        machine: HostMachine { cpus, ..HostMachine::default() },
        groups: groups(threads, |scenario, threads| point(scenario, threads, cpus, &mut noise)),
        verdicts: verdicts(),
    }
}

fn verdict(outcome: Outcome, claim: &str, detail: &str, scenario: &str) -> Verdict {
    let [claim, detail, scenario] = [claim, detail, scenario].map(str::to_owned);
    Verdict { claim, outcome, detail, scenario }
}

fn verdicts() -> Vec<Verdict> {
    vec![
        verdict(
            Outcome::Holds,
            "One unconditional add beats the CAS loop when all CPUs contend",
            "rcuref takes 0.36x [0.35, 0.37] of the time of inc_not_zero at 192 threads",
            "refs/get-put",
        ),
        verdict(
            Outcome::NotResolved,
            "Without contention rcuref costs what the CAS loop costs",
            "0.98x [0.94, 1.02] at 1 thread",
            "refs/get-put",
        ),
        verdict(
            Outcome::Holds,
            "The count on a line of its own speeds up the lookup by 20 % to 120 %",
            "rcuref: 1.64x [1.58, 1.69] the operations per second at 192 threads",
            "dst/cells",
        ),
        verdict(
            Outcome::DoesNotHold,
            "A get without a loop is faster at any number of threads",
            "1.01x [1.005, 1.02] at 1 thread: the put is one instruction longer",
            "refs/get",
        ),
    ]
}

fn singles(median_ns: f64) -> Distribution {
    Distribution {
        operations: 120_000,
        median_ns,
        p90_ns: median_ns * 1.25,
        p99_ns: median_ns * 2.0,
        p999_ns: median_ns * 9.0,
        max_ns: median_ns * 240.0,
    }
}

#[allow(clippy::cast_precision_loss)]
fn point(
    scenario: &scenario::BenchScenario,
    threads: usize,
    cpus: usize,
    noise: &mut fastrand::Rng,
) -> BenchPoint {
    let others = (threads - 1) as f64;
    let spread = if cpus == 1 { 0.06 } else { 0.015 };
    let mut estimate = |median: f64| {
        let median = median * (1.0 + spread * (noise.f64() - 0.5));
        Estimate {
            median,
            low: median * (1.0 - spread * (0.5 + noise.f64())),
            high: median * (1.0 + spread * (0.5 + noise.f64())),
        }
    };
    let rows = scenario.variants.iter().zip(0..).map(|(variant, index)| {
        let cost = Cost::of(variant.name);
        let ns_per_op = estimate(cost.time(others));
        let mut against = |other: &str| {
            let ratio = cost.time(others) / Cost::of(other).time(others);
            (other != variant.name).then(|| estimate(ratio))
        };
        BenchRow {
            variant: variant.name.to_owned(),
            ns_per_op,
            mops: threads as f64 * 1e3 / ns_per_op.median,
            retries_per_op: (cost.retries > 0.0).then_some(cost.retries * others),
            to_baseline: against(scenario.baseline),
            to_limit: scenario.limit.and_then(against),
            slices: 400,
            dropped: if cpus == 1 { 0 } else { index * 3 },
            singles: (scenario.id == "refs/get-put").then(|| singles(cost.time(others))),
            ..BenchRow::default()
        }
    });
    let rows = rows.collect();
    BenchPoint {
        threads,
        oversubscribed: threads > cpus,
        batches: 11,
        rows,
        ..BenchPoint::default()
    }
}
