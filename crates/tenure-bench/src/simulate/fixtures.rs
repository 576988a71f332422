//! Reports as simulations would make them, for tests.
//!
//! Most figures follow a crude model of one contended line, so that tables and charts have every shape
//! that they can have; [`simulated`] is the one that was simulated.

use std::sync::OnceLock;

use super::machine::{self, DEFAULT};
use super::result::{
    Check, Group, Line, Machine, Member, Point, Report, Row, SCHEMA, Scenario, Settings, Transfers,
};
use super::run::{self, Request};

/// Two sockets of 28 cores and 112 CPUs, at eight numbers of CPUs, with published figures beside.
pub(crate) fn xeon() -> Report {
    report(&[1, 2, 4, 8, 16, 28, 56, 112], 112)
}

/// A machine of one CPU: no line goes anywhere, and nothing published is about it.
pub(crate) fn one_cpu() -> Report {
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

/// A report in which every text tries to be markup, and some go on for ever.
pub(crate) fn hostile() -> Report {
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

/// A report with figures that no run should make, and no variant that its scenario names.
pub(crate) fn degenerate() -> Report {
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
    let nothing = Member { bytes: 0, ..member("nothing", 0, 0, [0.0; 3], 0.0) };
    let beyond = member("beyond", usize::MAX, usize::MAX, [f64::NAN; 3], f64::NAN);
    row.lines = vec![
        line(f64::MAX, crowded.collect()),
        line(f64::NAN, vec![nothing, beyond]),
        line(1.0, Vec::new()),
    ];
    report.groups[0].scenarios[1].points.clear();
    report.groups.push(Group { scenarios: Vec::new(), ..report.groups[0].clone() });
    let residuals = [0.0, f64::NAN, f64::INFINITY, -1.0, 1e300];
    for (check, residual) in report.validation.iter_mut().zip(residuals) {
        (check.residual, check.simulated, check.published) = (residual, residual, [residual; 2]);
        check.family.clear();
    }
    report
}

/// A short time of some scenarios on the default machine.
pub(crate) fn request(names: &[&str], cpus: &str) -> Request {
    Request {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        cpus: Some(cpus.parse().unwrap()),
        machine: machine::find(DEFAULT).unwrap(),
        measured_us: 20,
        seed: 1,
    }
}

/// All groups, simulated for a short time: the scenarios of each that take the host the least.
pub(crate) fn simulated() -> Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    let names = ["refs", "dst", "pool/in-use-10", "lazy/objects"];
    let simulate = || run::run(&request(&names, "1..192"), &()).unwrap();
    REPORT.get_or_init(simulate).clone()
}

fn rows(report: &mut Report) -> impl Iterator<Item = &mut Row> {
    let scenarios = report.groups.iter_mut().flat_map(|group| &mut group.scenarios);
    scenarios.flat_map(|scenario| &mut scenario.points).flat_map(|point| &mut point.rows)
}

/// A variant of the crude model: time alone, added time for each other CPU, retries for each other
/// CPU, and whether what is read lies on the count's line.
struct Variant {
    name: &'static str,
    alone: f64,
    each: f64,
    retries: f64,
    shared: bool,
}

const fn variant(name: &'static str, alone: f64, each: f64, retries: f64) -> Variant {
    Variant { name, alone, each, retries, shared: false }
}

const fn shared(name: &'static str, alone: f64, each: f64, retries: f64) -> Variant {
    Variant { shared: true, ..variant(name, alone, each, retries) }
}

fn report(counts: &[usize], cpus: usize) -> Report {
    let scenario =
        |id: &str, title: &str, about: &str, variants: &[Variant], base: usize| Scenario {
            id: id.to_owned(),
            title: title.to_owned(),
            about: about.to_owned(),
            baseline: variants[base].name.to_owned(),
            limit: (base > 0).then(|| variants[0].name.to_owned()),
            points: counts.iter().map(|&count| point(count, variants, base)).collect(),
        };
    let groups = vec![
        Group {
            name: "refs".to_owned(),
            title: "Reference counts".to_owned(),
            about:
                "Taking and releasing references to one object. The compare-exchange loop retries \
                    when another CPU was faster; a single add does not."
                    .to_owned(),
            scenarios: vec![
                scenario(
                    "refs/get-put",
                    "get + put on one object",
                    "One operation takes a reference and gives it back.",
                    &[
                        variant("limit", 14.0, 88.0, 0.0),
                        variant("inc_not_zero", 14.6, 391.0, 0.031),
                        variant("rcuref", 15.0, 91.0, 0.0),
                        variant("ticket", 14.8, 88.5, 0.0),
                    ],
                    1,
                ),
                scenario(
                    "refs/get",
                    "get alone on one object",
                    "One operation takes a reference; it is given back elsewhere, unmeasured.",
                    &[
                        variant("limit", 7.0, 44.0, 0.0),
                        variant("inc_not_zero", 7.5, 180.0, 0.025),
                        variant("rcuref", 7.4, 45.0, 0.0),
                    ],
                    1,
                ),
            ],
        },
        Group {
            name: "dst".to_owned(),
            title: "False sharing beside the count".to_owned(),
            about:
                "Linux's route object with the members and offsets of 6.1 (shared: what is read \
                    after every get lies on the count's line) and of 6.4 (isolated), each with the \
                    compare-exchange loop and with a single add."
                    .to_owned(),
            scenarios: vec![scenario(
                "dst/cells",
                "get, read two fields, put",
                "One operation takes a reference, reads lwtstate and rt_genid, and puts it.",
                &[
                    shared("shared + inc_not_zero", 18.0, 520.0, 0.033),
                    variant("isolated + inc_not_zero", 18.0, 395.0, 0.031),
                    shared("shared + rcuref", 18.2, 171.0, 0.0),
                    variant("isolated + rcuref", 18.2, 92.0, 0.0),
                    shared("shared + ticket", 18.1, 168.0, 0.0),
                    variant("isolated + ticket", 18.1, 89.0, 0.0),
                ],
                0,
            )],
        },
    ];
    Report {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        settings: Settings {
            measured_ns: 200_000.0,
            warm_up_ns: 20_000.0,
            seed: 42,
            notes: vec!["192 CPUs were left out: the machine has 112".to_owned()],
        },
        machine: Machine {
            name: "xeon-2s-112".to_owned(),
            about: "Two sockets of 28 cores, two hardware threads each: Intel's server mesh"
                .to_owned(),
            sources: vec![
                "core-to-core matrices of Xeons: sibling 7 to 8 ns, socket 44 to 51, other socket \
                 108 to 136"
                    .to_owned(),
                "latency of an uncontended locked add on the same parts: 18 to 22 cycles"
                    .to_owned(),
            ],
            cpus,
            cores: cpus.div_ceil(2),
            smt: cpus.min(2),
            clusters: cpus.min(2),
            sockets: cpus.min(2),
            toml: "name = \"xeon-2s-112\"\n\n[topology]\nsockets = 2\nclusters = 1\ncores = 28\n\
                   smt = 2\n\n[latency]\nhit = 1.2\nsibling = [7, 8]\ncluster = [44, 51]\n\
                   remote = [108, 136]\nmemory = 90\n"
                .to_owned(),
        },
        groups,
        validation: validation(),
    }
}

// CPUs are few enough for a float.
#[allow(clippy::cast_precision_loss)]
fn point(cpus: usize, variants: &[Variant], base: usize) -> Point {
    let others = (cpus - 1) as f64;
    let time = |variant: &Variant| variant.alone + variant.each * others.powf(0.86);
    let rows = variants.iter().enumerate().map(|(index, variant)| {
        let ns = time(variant);
        let moved = if others > 0.0 { 1.9 + 8.0 * variant.retries } else { 0.0 };
        let read = if variant.shared && others > 0.0 { 0.87 } else { 0.0 };
        let mut members =
            vec![member("refs", 0, 4, [1.2, 0.0, 2.0 + variant.retries * others], ns * 0.55)];
        if variant.shared {
            members.push(member("lwtstate", 16, 8, [1.0, 0.0, 0.0], ns * 0.24 * read));
            members.push(member("rt_genid", 48, 4, [1.0, 0.0, 0.0], ns * 0.12 * read));
        }
        let lines = if others > 0.0 {
            vec![
                line(moved + 2.0 * read, members),
                line(0.004, vec![member("head", 8, 8, [0.004, 0.0, 0.0], 0.3)]),
            ]
        } else {
            Vec::new()
        };
        Row {
            variant: variant.name.to_owned(),
            operations: (200_000.0 / ns * cpus as f64) as u64,
            ns_per_op: Some(ns),
            mops: cpus as f64 * 1e3 / ns,
            retries_per_op: variant.retries * others,
            transfers_per_op: transfers(moved + 2.0 * read, others / (others + 30.0)),
            fairness: 1.0 - variant.retries * others / 20.0,
            to_baseline: (index != base).then(|| ns / time(&variants[base])),
            to_limit: (base > 0 && index > 0).then(|| ns / time(&variants[0])),
            lines,
            ..Row::default()
        }
    });
    Point { cpus, rows: rows.collect() }
}

/// `all` transfers, of which a part came from afar.
fn transfers(all: f64, afar: f64) -> Transfers {
    let near = all * (1.0 - afar);
    Transfers { cluster: near, remote: all * afar, all, ..Transfers::default() }
}

fn line(all: f64, members: Vec<Member>) -> Line {
    Line { transfers_per_op: transfers(all, 0.55), members, ..Line::default() }
}

/// A member with its loads, stores and read-modify-writes.
fn member(name: &str, offset: usize, bytes: usize, done: [f64; 3], waited: f64) -> Member {
    let [loads, stores, rmws] = done;
    Member {
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

/// Checks of three families, some of them off.
fn validation() -> Vec<Check> {
    let check =
        |family: &str, what: &str, cpus, published: [f64; 2], simulated: f64, note: &str| {
            let residual = if simulated < published[0] {
                simulated / published[0]
            } else if simulated > published[1] {
                simulated / published[1]
            } else {
                1.0
            };
            Check {
                family: family.to_owned(),
                what: what.to_owned(),
                machine: "xeon-2s-112".to_owned(),
                cpus,
                unit: match family {
                    "retries" => "retries/op",
                    "add-cas" => "x",
                    _ => "ns",
                }
                .to_owned(),
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
