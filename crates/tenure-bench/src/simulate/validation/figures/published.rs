//! Figures of others: whole curves where they published them.

use super::super::Stage;
use super::super::operations::{CasLoop, CasPair, PerCore};
use super::{Curve, Figure};
use crate::scenario::dst::Packet;
use crate::scenario::lazy::{SWITCH_NS, Same, Workers};
use crate::scenario::refs::{Bare, BareAdd, GetPut};
use crate::scenario::route::{Isolated, Shared};
use tenure::count::{IncNotZero, RcuRef};
use tenure::lazy::{Counted, Shootdown};
use tenure_sim::Simulated;

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

pub(super) fn all() -> impl Iterator<Item = Figure> {
    [retries()].into_iter().chain(switches()).chain(gains()).chain(loops()).chain(cells())
}

/// A switch through idle, with its work.
type Switch<S> = Workers<Same<S, Simulated, SWITCH_NS>>;

/// All CPUs switch through idle, of one address space.
fn switches() -> [Figure; 2] {
    let figure = |what, published, simulate| Figure {
        family: "lazy",
        what,
        machine: "power8-16s-192",
        cpus: 192,
        unit: "M/s",
        published: [published; 2],
        source: "Piggin, shoot lazy tlbs, 2021",
        simulate,
        fitted: false,
        note: "",
    };
    let counted =
        figure("switches through idle, one address space, counted", 1.0, |stage: &Stage| {
            stage.run_placed::<Switch<Counted>>().mops()
        });
    let shootdown = figure("the same, not counted", 118.0, |stage: &Stage| {
        stage.run_placed::<Switch<Shootdown>>().mops()
    });
    let note = "the work of a switch, 1.6 us, was taken from this figure; what is tested is that nothing is added to it";
    [counted, Figure { fitted: true, note, ..shootdown }]
}

fn retries() -> Figure {
    Figure {
        family: "retries",
        what: "retries of a get, in a loop of inc_not_zero and dec",
        machine: "xeon-2s-112",
        cpus: 112,
        unit: "retries/op",
        published: [8.0, 8.0],
        source: RCUREF,
        simulate: |stage| stage.retries::<GetPut<Inz>>(),
        fitted: true,
        note: "",
    }
}

/// rcuref over inc_not_zero under full contention, on every preset of a server.
fn gains() -> impl Iterator<Item = Figure> {
    [("xeon-2s-112", 112), ("epyc-2s-256", 256), ("graviton-64", 64), ("power8-16s-192", 192)]
        .into_iter()
        .map(|(machine, cpus)| Figure {
            family: "counter",
            what: "get and put: rcuref's throughput over inc_not_zero's",
            machine,
            cpus,
            unit: "x",
            published: [1.2, 4.7],
            source: RCUREF,
            simulate: |stage| stage.gain::<GetPut<Inz>, GetPut<Rcu>>(),
            fitted: false,
            note: "",
        })
}

const CURVES: [Curve; 9] = [
    Curve {
        family: "add-cas",
        what: "one counter, fetch-add",
        machine: "skylake-4",
        source: DOWNS,
        simulate: |stage| stage.ns::<BareAdd<Simulated>>(),
        points: &[(1, 7.0), (2, 44.1), (3, 70.0), (4, 96.4)],
        fitted: &[1],
    },
    Curve {
        family: "add-cas",
        what: "one counter, CAS loop",
        machine: "skylake-4",
        source: DOWNS,
        simulate: |stage| stage.ns::<CasLoop>(),
        points: &[(1, 12.0), (2, 108.6), (3, 226.8), (4, 347.2)],
        fitted: &[],
    },
    Curve {
        family: "add-cas",
        what: "one counter, fetch-add",
        machine: "graviton2-16",
        source: DOWNS,
        simulate: |stage| stage.ns::<BareAdd<Simulated>>(),
        points: &[(1, 5.3), (2, 17.0), (4, 34.7), (8, 75.5), (16, 150.3)],
        fitted: &[1, 8, 16],
    },
    Curve {
        family: "add-cas",
        what: "one counter, CAS loop",
        machine: "graviton2-16",
        source: DOWNS,
        simulate: |stage| stage.ns::<CasLoop>(),
        points: &[(1, 8.4), (2, 52.2), (4, 116.5), (8, 323.3), (16, 638.7)],
        fitted: &[8, 16],
    },
    Curve {
        family: "retain",
        what: "retain and release, fetch-add",
        machine: "x86-32",
        source: OBJC,
        simulate: |stage| stage.ns::<Bare<Simulated>>(),
        points: &[(24, 1124.0)],
        fitted: &[24],
    },
    Curve {
        family: "retain",
        what: "retain and release, CAS loops",
        machine: "x86-32",
        source: OBJC,
        simulate: |stage| stage.ns::<CasPair>(),
        points: &[(24, 2143.0)],
        fitted: &[24],
    },
    Curve {
        family: "shared_ptr",
        what: "weak_ptr::lock",
        machine: "xeon-2s-80",
        source: FOLLY,
        simulate: |stage| stage.ns::<GetPut<Inz>>(),
        points: &[(1, 21.2), (4, 288.0), (8, 578.0), (16, 1560.0), (32, 3290.0), (64, 10_900.0)],
        fitted: &[4, 8, 16, 32, 64],
    },
    Curve {
        family: "shared_ptr",
        what: "copy of one shared_ptr",
        machine: "xeon-2s-80",
        source: FOLLY,
        simulate: |stage| stage.ns::<Bare<Simulated>>(),
        points: &[(1, 19.9), (4, 255.0), (8, 489.0), (16, 1080.0), (32, 2250.0), (64, 4920.0)],
        fitted: &[1],
    },
    Curve {
        family: "shared_ptr",
        what: "copy of a shared_ptr per core",
        machine: "xeon-2s-80",
        source: FOLLY,
        simulate: |stage| stage.ns::<PerCore>(),
        points: &[(1, 21.9), (4, 22.7), (8, 23.5), (16, 25.6), (32, 25.4), (64, 33.9)],
        fitted: &[1],
    },
];

fn loops() -> impl Iterator<Item = Figure> {
    CURVES.iter().flat_map(Curve::figures).map(|mut figure| {
        if figure.machine == "graviton2-16" && figure.what.ends_with("fetch-add") && (2..8).contains(&figure.cpus)
        {
            figure.note =
                "its fetch-add throws the result away and need not wait for it; the simulator waits";
        }
        figure
    })
}

/// False sharing and the counter, apart and together. The letter names neither the processors nor the
/// number of threads; here all cores of one socket are at work.
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
                fitted: false,
                note: "",
            })
        },
    )
}
