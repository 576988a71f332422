//! The list: what was measured, by whom, and what simulates it.

use super::operations::{CasLoop, CasPair, PerCore};
use super::{Simulated, Stage};
use crate::scenario::dst::Packet;
use crate::scenario::refs::{Bare, BareAdd, GetPut};
use crate::scenario::route::{Isolated, Shared};
use tenure::count::{IncNotZero, RcuRef};

/// A published figure.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) family: &'static str,
    pub(super) what: &'static str,
    pub(super) machine: &'static str,
    pub(super) cpus: usize,
    pub(super) unit: &'static str,
    /// Both ends are the same, or those of a range.
    pub(super) published: [f64; 2],
    pub(super) source: &'static str,
    pub(super) simulate: fn(&Stage) -> f64,
    /// Why it is off, as far as known.
    pub(super) note: &'static str,
}

type Inz = IncNotZero<Simulated>;
type Rcu = RcuRef<Simulated>;
type Neither = Packet<Shared<Simulated, Inz, 4>>;
type Layout = Packet<Isolated<Simulated, Inz, 4>>;
type Counter = Packet<Shared<Simulated, Rcu, 4>>;
type Both = Packet<Isolated<Simulated, Rcu, 4>>;

const RCUREF: &str = "Gleixner, cover letter of rcuref, 2023";
const DOWNS: &str = "Downs, A Concurrency Cost Hierarchy, 2020";
const OBJC: &str = "gnustep/libobjc2, pull request 402, 2026";
const FOLLY: &str = "folly, CoreCachedSharedPtr's benchmark";

/// All figures.
pub(super) fn all() -> Vec<Figure> {
    let mut figures = vec![Figure {
        family: "retries",
        what: "retries of a get, in a loop of inc_not_zero and dec",
        machine: "xeon-2s-112",
        cpus: 112,
        unit: "retries/op",
        published: [8.0, 8.0],
        source: RCUREF,
        simulate: |stage| stage.retries::<GetPut<Inz>>(),
        note: "",
    }];
    figures.extend(gains());
    figures.extend(loops());
    figures.extend(cells());
    figures
}

/// rcuref over inc_not_zero under full contention, on every preset of a server.
fn gains() -> impl Iterator<Item = Figure> {
    [("xeon-2s-112", 112), ("epyc-2s-256", 256), ("graviton-64", 64), ("power8-16s-192", 192)]
        .into_iter()
        .map(|(machine, cpus)| Figure {
            family: "counter",
            what: "get and put: rcuref's throughput over inc_not_zero's, all CPUs on one count",
            machine,
            cpus,
            unit: "x",
            published: [1.2, 4.7],
            source: RCUREF,
            simulate: |stage| stage.gain::<GetPut<Inz>, GetPut<Rcu>>(),
            note: "",
        })
}

/// A figure at a number of threads, in nanoseconds per operation and thread.
type At = (usize, f64);

/// What was measured at several numbers of threads, by one operation.
fn curve(
    family: &'static str,
    what: &'static str,
    machine: &'static str,
    source: &'static str,
    simulate: fn(&Stage) -> f64,
    points: &[At],
) -> Vec<Figure> {
    let figure = |&(cpus, ns): &At| Figure {
        family,
        what,
        machine,
        cpus,
        unit: "ns",
        published: [ns, ns],
        source,
        simulate,
        note: "",
    };
    points.iter().map(figure).collect()
}

/// One word in a loop, by an add and by a compare-exchange loop.
fn loops() -> Vec<Figure> {
    let add: fn(&Stage) -> f64 = |stage| stage.ns::<BareAdd<Simulated>>();
    let cas: fn(&Stage) -> f64 = |stage| stage.ns::<CasLoop>();
    let pair: fn(&Stage) -> f64 = |stage| stage.ns::<Bare<Simulated>>();
    let lock: fn(&Stage) -> f64 = |stage| stage.ns::<GetPut<Inz>>();
    let mut figures = [
        curve(
            "add-cas",
            "one counter, fetch-add",
            "skylake-4",
            DOWNS,
            add,
            &[(1, 7.0), (2, 44.1), (3, 70.0), (4, 96.4)],
        ),
        curve(
            "add-cas",
            "one counter, CAS loop",
            "skylake-4",
            DOWNS,
            cas,
            &[(1, 12.0), (2, 108.6), (3, 226.8), (4, 347.2)],
        ),
        curve(
            "add-cas",
            "one counter, fetch-add",
            "graviton2-16",
            DOWNS,
            add,
            &[(1, 5.3), (2, 17.0), (4, 34.7), (8, 75.5), (16, 150.3)],
        ),
        curve(
            "add-cas",
            "one counter, CAS loop",
            "graviton2-16",
            DOWNS,
            cas,
            &[(1, 8.4), (2, 52.2), (4, 116.5), (8, 323.3), (16, 638.7)],
        ),
        curve("retain", "retain and release, fetch-add", "x86-32", OBJC, pair, &[(24, 1124.0)]),
        curve(
            "retain",
            "retain and release, CAS loops",
            "x86-32",
            OBJC,
            Stage::ns::<CasPair>,
            &[(24, 2143.0)],
        ),
        curve(
            "shared_ptr",
            "weak_ptr::lock",
            "xeon-2s-80",
            FOLLY,
            lock,
            &[(1, 21.2), (4, 288.0), (8, 578.0), (16, 1560.0), (32, 3290.0), (64, 10_900.0)],
        ),
        curve(
            "shared_ptr",
            "copy of one shared_ptr",
            "xeon-2s-80",
            FOLLY,
            pair,
            &[(1, 19.9), (4, 255.0), (8, 489.0), (16, 1080.0), (32, 2250.0), (64, 4920.0)],
        ),
        curve(
            "shared_ptr",
            "copy of a shared_ptr per core",
            "xeon-2s-80",
            FOLLY,
            Stage::ns::<PerCore>,
            &[(1, 21.9), (4, 22.7), (8, 23.5), (16, 25.6), (32, 25.4), (64, 33.9)],
        ),
    ]
    .concat();
    for figure in &mut figures {
        if figure.machine == "graviton2-16" && figure.what.ends_with("fetch-add") && figure.cpus < 8
        {
            figure.note = "its fetch-add throws the result away and does not wait for it; the simulator waits";
        }
    }
    figures
}

/// False sharing and the counter, apart and together.
fn cells() -> impl Iterator<Item = Figure> {
    type Cell = (&'static str, [f64; 2], fn(&Stage) -> f64);
    const CELLS: [Cell; 3] = [
        ("a packet's way: layout mended", [1.16, 2.27], |s| s.gain::<Neither, Layout>()),
        ("a packet's way: counter mended", [1.10, 1.55], |s| s.gain::<Neither, Counter>()),
        ("a packet's way: both mended", [2.08, 3.58], |s| s.gain::<Neither, Both>()),
    ];
    [("xeon-2s-112", 28), ("epyc-2s-256", 64), ("graviton-64", 64)].into_iter().flat_map(
        |(machine, cpus)| {
            CELLS.map(|(what, published, simulate)| Figure {
                family: "false sharing",
                what,
                machine,
                cpus,
                unit: "x",
                published,
                source: RCUREF,
                simulate,
                note: "",
            })
        },
    )
}
