//! Reports for tests.
//!
//! Figures follow a crude model of one contended line, for charts of every shape; [`simulated`] ran in the simulator.

use super::result::{
    LineRow, MemberFigures, SCHEMA, Settings, SimulatedGroup, SimulatedMachine, SimulatedPoint,
    SimulatedReport, SimulatedRow, TransfersPerOp, ValidationCheck,
};
use super::run::{self, SimulateRequest};
use crate::fixtures::{Cost, groups, is_shared};
use crate::scenario::BenchScenario;
use std::sync::OnceLock;
use tenure_sim::machine::{self, DEFAULT};

/// Two sockets, 112 CPUs, eight numbers of CPUs, published figures.
pub(crate) fn xeon() -> SimulatedReport {
    report(&[1, 2, 4, 8, 16, 28, 56, 112], 112)
}

/// One CPU: no line moves, and nothing is published about it.
pub(crate) fn one_cpu() -> SimulatedReport {
    let mut report = report(&[1], 1);
    report.machine.name = "single".to_owned();
    report.machine.about = "One core, one hardware thread".to_owned();
    report.machine.sources.clear();
    report.validation.clear();
    report.settings.notes = vec!["2, 4 and 8 CPUs were left out: the machine has 1".to_owned()];
    for row in rows(&mut report) {
        row.lines.clear();
        row.transfers_per_op = transfers(0.0, 1.0);
    }
    report
}

/// Every text tries to be markup, or never ends.
pub(crate) fn hostile() -> SimulatedReport {
    const TEXT: &str = "</script><script>alert(1)</script><!-- \"'&amp;";
    let long = format!("{TEXT}{}", "inc_not_zero_and_then_some_".repeat(12));
    let mut report = report(&[1, 2, 8], 8);
    report.machine.name = TEXT.to_owned();
    report.machine.about = long.clone();
    report.machine.sources = vec![TEXT.to_owned(), long.clone()];
    report.machine.toml = long.clone();
    report.settings.notes = vec![TEXT.to_owned(), long.clone()];
    for group in &mut report.groups {
        (group.name, group.title, group.about) = (TEXT.to_owned(), long.clone(), TEXT.to_owned());
        for (index, scenario) in group.scenarios.iter_mut().enumerate() {
            scenario.id = format!("{TEXT}{index}");
            scenario.title = long.clone();
            scenario.baseline = long.clone();
            for point in &mut scenario.points {
                point.rows[1].variant = long.clone();
            }
        }
    }
    for member in rows(&mut report).flat_map(|row| &mut row.lines).flat_map(|it| &mut it.members) {
        member.name = Some(long.clone());
    }
    for check in &mut report.validation {
        for text in [
            &mut check.family,
            &mut check.what,
            &mut check.machine,
            &mut check.unit,
            &mut check.note,
        ] {
            *text = long.clone();
        }
        check.source = TEXT.to_owned();
    }
    report
}

pub(crate) fn degenerate() -> SimulatedReport {
    let mut report = xeon();
    report.machine.sources.clear();
    report.machine.toml.clear();
    (report.machine.clusters, report.machine.sockets) = (0, 0);
    let scenario = &mut report.groups[0].scenarios[0];
    scenario.baseline = "not there".to_owned();
    scenario.points[0].rows.clear();
    for row in &mut scenario.points[1].rows {
        (row.ns_per_op, row.operations, row.mops) = (None, 0, 0.0);
        (row.to_baseline, row.to_limit) = (Some(f64::NAN), Some(f64::INFINITY));
    }
    let last = scenario.points.last_mut().unwrap();
    last.rows[0].lines.clear();
    let row = &mut last.rows[1];
    (row.ns_per_op, row.mops) = (Some(f64::NAN), 1e300);
    (row.retries_per_op, row.fairness) = (f64::INFINITY, f64::NAN);
    row.transfers_per_op = transfers(f64::INFINITY, 1.0);
    let crowded = (0..70).map(|offset| member("x", offset, 8, [0.0, 1e18, 0.0], f64::MAX));
    let nothing = MemberFigures { bytes: 0, ..member("nothing", 0, 0, [0.0; 3], 0.0) };
    let beyond = member("beyond", usize::MAX, usize::MAX, [f64::NAN; 3], f64::NAN);
    row.lines = vec![
        line(f64::MAX, crowded.collect()),
        line(f64::NAN, vec![nothing, beyond]),
        line(1.0, Vec::new()),
    ];
    report.groups[0].scenarios[1].points.clear();
    report.groups.push(SimulatedGroup { scenarios: Vec::new(), ..report.groups[0].clone() });
    let residuals = [0.0, f64::NAN, f64::INFINITY, -1.0, 1e300];
    for (check, residual) in report.validation.iter_mut().zip(residuals) {
        (check.residual, check.simulated, check.published) = (residual, residual, [residual; 2]);
        check.family.clear();
    }
    report
}

pub(crate) fn request(names: &[&str], cpus: &str) -> SimulateRequest {
    SimulateRequest {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        cpus: Some(cpus.parse().unwrap()),
        machine: machine::open(DEFAULT).unwrap(),
        measured_us: 20,
        seed: 1,
    }
}

/// The cheapest scenarios of every group, for a short time.
pub(crate) fn simulated() -> SimulatedReport {
    static REPORT: OnceLock<SimulatedReport> = OnceLock::new();
    let names = ["refs", "dst", "pool/in-use-10", "revocable/objects"];
    REPORT.get_or_init(|| run::run(&request(&names, "1..192"), &()).unwrap()).clone()
}

fn rows(report: &mut SimulatedReport) -> impl Iterator<Item = &mut SimulatedRow> {
    let scenarios = report.groups.iter_mut().flat_map(|group| &mut group.scenarios);
    scenarios.flat_map(|scenario| &mut scenario.points).flat_map(|point| &mut point.rows)
}

fn report(counts: &[usize], cpus: usize) -> SimulatedReport {
    let two = cpus.min(2);
    SimulatedReport {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        settings: Settings {
            measured_ns: 200_000.0,
            warm_up_ns: 20_000.0,
            seed: 42,
            notes: vec!["192 CPUs were left out: the machine has 112".to_owned()],
        },
        machine: SimulatedMachine {
            cpus,
            cores: cpus.div_ceil(2),
            smt: two,
            clusters: two,
            sockets: two,
            // A real machine's sources have addresses, which the checks of pages take for requests.
            sources: vec!["core-to-core matrices of Xeons".to_owned()],
            toml: "name = \"xeon-2s-112\"\n\n[topology]\nsockets = 2\n".to_owned(),
            ..SimulatedMachine::from(&machine::open(DEFAULT).unwrap())
        },
        groups: groups(counts, point),
        repairs: Vec::new(),
        validation: validation(),
    }
}

#[allow(clippy::cast_precision_loss)]
fn point(scenario: &BenchScenario, cpus: usize) -> SimulatedPoint {
    let others = (cpus - 1) as f64;
    let rows = scenario.variants.iter().map(|variant| {
        let (cost, name) = (Cost::of(variant.name), variant.name);
        let (ns, retries) = (cost.time(others), cost.retries * others);
        let moved = if others > 0.0 { 1.9 + 8.0 * cost.retries } else { 0.0 };
        let read = if is_shared(name) && others > 0.0 { 0.87 } else { 0.0 };
        let mut members = vec![member("refs", 0, 4, [1.2, 0.0, 2.0 + retries], ns * 0.55)];
        if is_shared(name) {
            members.push(member("lwtstate", 16, 8, [1.0, 0.0, 0.0], ns * 0.24 * read));
            members.push(member("rt_genid", 48, 4, [1.0, 0.0, 0.0], ns * 0.12 * read));
        }
        let mut lines = vec![
            line(moved + 2.0 * read, members),
            line(0.004, vec![member("head", 8, 8, [0.004, 0.0, 0.0], 0.3)]),
        ];
        lines.retain(|_| others > 0.0);
        let against = |other: &str| (other != name).then(|| ns / Cost::of(other).time(others));
        SimulatedRow {
            variant: name.to_owned(),
            operations: (200_000.0 / ns * cpus as f64) as u64,
            ns_per_op: Some(ns),
            mops: cpus as f64 * 1e3 / ns,
            retries_per_op: retries,
            transfers_per_op: transfers(moved + 2.0 * read, others / (others + 30.0)),
            fairness: 1.0 - retries / 20.0,
            to_baseline: against(scenario.baseline),
            to_limit: scenario.limit.and_then(against),
            lines,
            ..SimulatedRow::default()
        }
    });
    SimulatedPoint { cpus, rows: rows.collect() }
}

fn transfers(all: f64, afar: f64) -> TransfersPerOp {
    let near = all * (1.0 - afar);
    TransfersPerOp { cluster: near, remote: all * afar, all, ..TransfersPerOp::default() }
}

fn line(all: f64, members: Vec<MemberFigures>) -> LineRow {
    LineRow { transfers_per_op: transfers(all, 0.55), members, ..LineRow::default() }
}

fn member(name: &str, offset: usize, bytes: usize, done: [f64; 3], waited: f64) -> MemberFigures {
    let [loads, stores, rmws] = done;
    MemberFigures {
        name: Some(name.to_owned()),
        offset,
        bytes,
        loads_per_op: loads,
        stores_per_op: stores,
        rmws_per_op: rmws,
        failed_per_op: (rmws - 2.0).max(0.0),
        misses_per_op: if waited > 0.0 { (loads + rmws) * 0.87 } else { 0.0 },
        waited_ns_per_op: waited,
    }
}

fn validation() -> Vec<ValidationCheck> {
    let check =
        |family: &str, what: &str, cpus, published: [f64; 2], simulated: f64, note: &str| {
            let residual = simulated / simulated.clamp(published[0], published[1]);
            let unit = match family {
                "retries" => "retries/op",
                "add-cas" => "x",
                _ => "ns",
            };
            ValidationCheck {
                family: family.to_owned(),
                what: what.to_owned(),
                machine: DEFAULT.to_owned(),
                cpus,
                unit: unit.to_owned(),
                published,
                source: "rcuref: Introduce, the kernel's log of 6.4".to_owned(),
                simulated,
                residual,
                within: (1.0 / 1.5..=1.5).contains(&residual),
                fitted: cpus == 112 && family == "retries",
                note: note.to_owned(),
            }
        };
    vec![
        check("retries", "Retries of the loop, all CPUs on one count", 112, [3.3, 3.3], 3.44, ""),
        check("retries", "Retries of the loop, one socket", 56, [1.2, 1.6], 1.5, ""),
        check(
            "retries",
            "Retries of the loop, two CPUs",
            2,
            [0.08, 0.08],
            0.031,
            "The published loop reads the count first; ours reads it in the get alone.",
        ),
        check("add-cas", "Loop against add, all CPUs", 112, [4.2, 5.0], 4.43, ""),
        check("add-cas", "Loop against add, one socket", 56, [3.5, 3.5], 4.4, ""),
        check(
            "add-cas",
            "Loop against add, four CPUs",
            4,
            [1.4, 1.4],
            7.7,
            "Unknown: the model of four CPUs on one cluster is too kind to the add.",
        ),
        check("core to core", "A line from the other socket", 2, [108.0, 136.0], 121.0, ""),
    ]
}
