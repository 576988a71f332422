//! Reports as runs would make them, for tests: a large server and a machine of one CPU.
//!
//! The figures follow a crude model of one contended line, so that tables and charts have the
//! shapes they will have; they were not measured.

use crate::result::{Distribution, Group, Point, Report, Row, SCHEMA, Scenario, Settings};
use tenure_report::machine::{Cache, Machine};
use tenure_report::stats::Estimate;
use tenure_report::verdict::{Outcome, Verdict};

/// A server of two sockets, 96 cores and 192 CPUs, at ten numbers of threads of which one is more
/// than it has.
pub(crate) fn xeon() -> Report {
    let threads = [1, 2, 4, 8, 16, 32, 64, 96, 192, 256];
    Report {
        machine: Machine {
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

/// A virtual machine of one CPU: one number of threads, wide intervals, and fields left empty.
pub(crate) fn one_cpu() -> Report {
    let mut report = Report {
        machine: Machine {
            arch: "aarch64".to_owned(),
            cpus: 1,
            kernel: "Linux 6.6.0".to_owned(),
            ..Machine::default()
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

/// A report in which every text tries to be markup.
pub(crate) fn hostile() -> Report {
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

/// A report with figures that no run should make, and no variant that its scenario names.
pub(crate) fn degenerate() -> Report {
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

fn report(threads: &[usize], cpus: usize) -> Report {
    let mut noise = fastrand::Rng::with_seed(7);
    let mut scenario =
        |id: &str, title: &str, about: &str, variants: &[Variant], limit: bool| Scenario {
            id: id.to_owned(),
            title: title.to_owned(),
            about: about.to_owned(),
            baseline: variants[0].0.to_owned(),
            limit: limit.then(|| variants[variants.len() - 1].0.to_owned()),
            points: threads
                .iter()
                .map(|&threads| point(threads, cpus, variants, limit, &mut noise))
                .collect(),
        };
    let groups = vec![
        Group {
            name: "refs".to_owned(),
            title: "Reference counts".to_owned(),
            about: "Every thread takes a reference to one object and gives it back. The baseline is a \
                    compare-exchange loop that refuses a dead object; the counts of Tenure add once, \
                    without a condition, and repair the rare overflow later."
                .to_owned(),
            scenarios: vec![
                scenario(
                    "refs/get-put",
                    "Get and put",
                    "One get and one put of a reference to an object that all threads share.",
                    &[
                        ("inc-not-zero", 7.8, 62.0, Some(0.07)),
                        ("inc-not-zero, read first", 7.9, 55.0, Some(0.05)),
                        ("rcuref", 7.6, 22.0, None),
                        ("ticket", 7.7, 21.5, None),
                        ("fetch-add + fetch-sub", 7.4, 20.0, None),
                    ],
                    true,
                ),
                scenario(
                    "refs/upgrade",
                    "Upgrade of a weak reference",
                    "One upgrade of a Weak and the drop of the Arc it yields.",
                    &[
                        ("std::sync::Weak", 9.1, 61.0, Some(0.06)),
                        ("tenure::Weak", 9.2, 24.0, None),
                    ],
                    false,
                ),
            ],
        },
        Group {
            name: "dst".to_owned(),
            title: "False sharing beside the count".to_owned(),
            about: "A route's count and its read-mostly fields on one cache line or on two, with \
                    either count: layout and counter are separate wins, so all four cells are measured."
                .to_owned(),
            scenarios: vec![scenario(
                "dst/cells",
                "Four cells",
                "One lookup that reads three fields of the entry and takes and drops a reference.",
                &[
                    ("inc-not-zero, shared line", 12.0, 94.0, Some(0.08)),
                    ("inc-not-zero, own line", 11.9, 70.0, Some(0.07)),
                    ("rcuref, shared line", 11.8, 41.0, None),
                    ("rcuref, own line", 11.7, 25.0, None),
                    ("ticket, own line", 11.7, 24.0, None),
                ],
                false,
            )],
        },
    ];
    Report {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        started: "2026-01-15T09:30:00Z".to_owned(),
        seconds: 131.4,
        interrupted: false,
        settings: Settings { quick: false, seconds: 1.0, seed: 42 },
        machine: Machine { cpus, ..Machine::default() },
        groups,
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
            "rcuref takes 0.36x [0.35, 0.37] of the time of inc-not-zero at 192 threads",
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
            "Weak::upgrade without a loop is faster at any number of threads",
            "1.01x [1.005, 1.02] at 1 thread: the put is one instruction longer",
            "refs/upgrade",
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

/// A variant of the crude model: time alone, added time for each other thread, retries for each
/// other thread.
type Variant = (&'static str, f64, f64, Option<f64>);

// Threads are few enough for a float.
#[allow(clippy::cast_precision_loss)]
fn point(
    threads: usize,
    cpus: usize,
    variants: &[Variant],
    limit: bool,
    noise: &mut fastrand::Rng,
) -> Point {
    let oversubscribed = threads > cpus;
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
    let time = |&(_, alone, each, _): &Variant| alone + each * others.powf(1.02);
    let last = variants.len() - 1;
    let rows = variants
        .iter()
        .enumerate()
        .map(|(index, variant)| {
            let ns_per_op = estimate(time(variant));
            Row {
                variant: variant.0.to_owned(),
                ns_per_op,
                mops: threads as f64 * 1e3 / ns_per_op.median,
                retries_per_op: variant.3.map(|retries| retries * others),
                to_baseline: (index > 0).then(|| estimate(time(variant) / time(&variants[0]))),
                to_limit: (limit && index < last)
                    .then(|| estimate(time(variant) / time(&variants[last]))),
                slices: 400,
                dropped: if cpus == 1 { 0 } else { index * 3 },
                singles: limit.then(|| singles(time(variant))),
                ..Row::default()
            }
        })
        .collect();
    Point { threads, oversubscribed, batches: 11, rows, ..Point::default() }
}
