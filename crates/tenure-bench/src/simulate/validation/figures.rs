//! The list: what was measured, by whom, and what simulates it.

use super::operations::{CasLoop, CasPair, PerCore};
use super::{Simulated, Stage};
use crate::scenario::dst::Packet;
use crate::scenario::refs::{Bare, BareAdd, GetPut};
use crate::scenario::route::{Isolated, Shared};
use tenure::count::{IncNotZero, RcuRef};

/// A published figure.
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
    let mut figures = vec![
        Figure {
            family: "retries",
            what: "retries of a get, in a loop of inc_not_zero and dec",
            machine: "xeon-2s-112",
            cpus: 112,
            unit: "retries/op",
            published: [8.0, 8.0],
            source: RCUREF,
            simulate: |stage| stage.retries::<GetPut<Inz>>(),
            note: "",
        },
    ];
    figures.extend(gains());
    figures.extend(loops());
    figures.extend(cells());
    figures
}

/// rcuref over inc_not_zero under full contention, on every preset of a server.
fn gains() -> impl Iterator<Item = Figure> {
    [("xeon-2s-112", 112), ("epyc-2s-256", 256), ("graviton-64", 64), ("power8-16s-192", 192)].into_iter().map(
        |(machine, cpus)| Figure {
            family: "counter",
            what: "get and put: rcuref's throughput over inc_not_zero's, all CPUs on one count",
            machine,
            cpus,
            unit: "x",
            published: [1.2, 4.7],
            source: RCUREF,
            simulate: |stage| stage.gain::<GetPut<Inz>, GetPut<Rcu>>(),
            note: "",
        },
    )
}

/// One word in a loop, by an add and by a compare-exchange loop.
fn loops() -> Vec<Figure> {
    let row = |family, what, machine, cpus, ns: f64, source, simulate| Figure {
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
    vec![
        row("add-cas", "one counter, fetch-add", "skylake-4", 4, 96.0, DOWNS, |s| s.ns::<BareAdd<Simulated>>()),
        row("add-cas", "one counter, CAS loop", "skylake-4", 4, 347.0, DOWNS, |s| s.ns::<CasLoop>()),
        row("add-cas", "one counter, fetch-add", "graviton2-16", 16, 150.0, DOWNS, |s| s.ns::<BareAdd<Simulated>>()),
        row("add-cas", "one counter, CAS loop", "graviton2-16", 16, 639.0, DOWNS, |s| s.ns::<CasLoop>()),
        row("retain", "retain and release, fetch-add", "objc-32", 24, 1124.0, OBJC, |s| s.ns::<Bare<Simulated>>()),
        row("retain", "retain and release, CAS loops", "objc-32", 24, 2143.0, OBJC, |s| s.ns::<CasPair>()),
        row("shared_ptr", "weak_ptr::lock", "folly-64", 64, 10_900.0, FOLLY, |s| s.ns::<GetPut<Inz>>()),
        row("shared_ptr", "copy of one shared_ptr", "folly-64", 64, 4_900.0, FOLLY, |s| s.ns::<Bare<Simulated>>()),
        row("shared_ptr", "copy of a shared_ptr per core", "folly-64", 64, 34.0, FOLLY, |s| s.ns::<PerCore>()),
    ]
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
