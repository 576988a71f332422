use super::operations::{CasLoop, PerCore};
use super::{ValidationCheck, ValidationStage};
use crate::scenario::dst::{Lookup, Packet};
use crate::scenario::lazy::{SWITCH_NS, same};
use crate::scenario::refs::{Bare, BareAdd, GetOnly, GetPut};
use crate::scenario::route::{IsolatedRoute, SharedRoute};
use tenure::count::generic::{IncNotZero, RcuRef};
use tenure::revocable::generic::{Counted, On, Scheme, Shootdown};
use tenure_sim::Simulated;

pub(super) struct PublishedFigure {
    /// Still without the simulated figure.
    pub(super) check: ValidationCheck,
    pub(super) simulate: fn(&ValidationStage) -> f64,
}

/// The number of threads, and nanoseconds per operation and thread.
type At = (usize, f64);

struct PublishedCurve {
    family: &'static str,
    what: &'static str,
    machine: &'static str,
    source: &'static str,
    simulate: fn(&ValidationStage) -> f64,
    points: &'static [At],
    /// Numbers of threads to which a parameter of the machine was fitted.
    fitted: &'static [usize],
}

impl PublishedCurve {
    fn figures(&self) -> impl Iterator<Item = PublishedFigure> {
        self.points.iter().map(|&(cpus, ns)| PublishedFigure {
            check: ValidationCheck {
                family: self.family.into(),
                what: self.what.into(),
                machine: self.machine.into(),
                cpus,
                unit: "ns".into(),
                published: [ns, ns],
                source: self.source.into(),
                fitted: self.fitted.contains(&cpus),
                ..ValidationCheck::default()
            },
            simulate: self.simulate,
        })
    }
}

pub(super) fn all() -> Vec<PublishedFigure> {
    let published =
        [retries()].into_iter().chain(switches()).chain(gains()).chain(loops()).chain(cells());
    published
        .chain(padded())
        .chain(matrices())
        .chain(HOST.iter().flat_map(PublishedCurve::figures))
        .collect()
}

type Inz = IncNotZero<Simulated>;
type Rcu = RcuRef<Simulated>;

type SharedInz = SharedRoute<Simulated, Inz, 4>;
type SharedRcu = SharedRoute<Simulated, Rcu, 4>;
type IsolatedInz = IsolatedRoute<Simulated, Inz, 4>;
type IsolatedRcu = IsolatedRoute<Simulated, Rcu, 4>;

const RCUREF: &str = "Gleixner, cover letter of rcuref, 2023";

/// Millions of switches through idle a second, with their work.
fn switches_by<S>(stage: &ValidationStage) -> f64
where
    On<Simulated, S>: Scheme<Memory = Simulated>,
{
    let variant = same::<On<Simulated, S>, SWITCH_NS>("");
    stage.run_on((variant.prepare)(stage.cpus)).mops()
}

/// All CPUs switch through idle, in one address space.
fn switches() -> [PublishedFigure; 2] {
    let figure = |what: &str, published, simulate| PublishedFigure {
        check: ValidationCheck {
            family: "lazy".into(),
            what: what.into(),
            machine: "power8-16s-192".into(),
            cpus: 192,
            unit: "M/s".into(),
            published: [published; 2],
            source: "Piggin, shoot lazy tlbs, 2021".into(),
            ..ValidationCheck::default()
        },
        simulate,
    };
    let counted = "switches through idle, one address space, counted";
    let counted = figure(counted, 1.0, switches_by::<Counted>);
    let mut shootdown = figure("the same, not counted", 118.0, switches_by::<Shootdown>);
    shootdown.check.fitted = true;
    shootdown.check.note =
        "the work of a switch, 1.6 us, was taken from this figure; what is tested is that nothing \
                            is added to it"
            .into();
    [counted, shootdown]
}

fn retries() -> PublishedFigure {
    PublishedFigure {
        check: ValidationCheck {
            family: "retries".into(),
            what: "retries of a get, in a loop of inc_not_zero and dec".into(),
            machine: "xeon-2s-112".into(),
            cpus: 112,
            unit: "retries/op".into(),
            published: [8.0, 8.0],
            source: RCUREF.into(),
            fitted: true,
            ..ValidationCheck::default()
        },
        simulate: |stage| stage.retries::<GetPut<Inz>>(),
    }
}

/// rcuref over inc_not_zero under full contention, on every server preset.
fn gains() -> impl Iterator<Item = PublishedFigure> {
    [("xeon-2s-112", 112), ("epyc-2s-256", 256), ("graviton-64", 64), ("power8-16s-192", 192)]
        .into_iter()
        .map(|(machine, cpus)| PublishedFigure {
            check: ValidationCheck {
                family: "counter".into(),
                what: "get and put: rcuref's throughput over inc_not_zero's".into(),
                machine: machine.into(),
                cpus,
                unit: "x".into(),
                published: [1.2, 4.7],
                source: RCUREF.into(),
                ..ValidationCheck::default()
            },
            simulate: |stage| stage.gain::<GetPut<Inz>, GetPut<Rcu>>(),
        })
}

/// A family: for each operation and site, the times by number of threads.
macro_rules! curves {
    ($family:literal: $($what:literal, $operation:ty, fitted $fitted:expr; $($on:ident $points:expr),+;)*) => {
        [$($(PublishedCurve {
            family: $family,
            what: $what,
            machine: $on.0,
            source: $on.1,
            simulate: |stage| stage.ns::<$operation>(),
            points: &$points,
            fitted: &$fitted,
        },)+)*]
    };
}

type MachineAndSource = (&'static str, &'static str);
const SKYLAKE: MachineAndSource = ("skylake-4", "Downs, A Concurrency Cost Hierarchy, 2020");
const GRAVITON2: MachineAndSource = ("graviton2-16", SKYLAKE.1);
const X86: MachineAndSource = ("x86-32", "gnustep/libobjc2, pull request 402, 2026");
const XEON: MachineAndSource = ("xeon-2s-80", "folly, CoreCachedSharedPtr's benchmark");

const COUNTERS: [PublishedCurve; 4] = curves! { "add-cas":
    "one counter, fetch-add", BareAdd<Simulated>, fitted [1];
        SKYLAKE [(1, 7.0), (2, 44.1), (3, 70.0), (4, 96.4)];
    "one counter, CAS loop", CasLoop, fitted [];
        SKYLAKE [(1, 12.0), (2, 108.6), (3, 226.8), (4, 347.2)];
    "one counter, fetch-add", BareAdd<Simulated>, fitted [1, 8, 16];
        GRAVITON2 [(1, 5.3), (2, 17.0), (4, 34.7), (8, 75.5), (16, 150.3)];
    "one counter, CAS loop", CasLoop, fitted [8, 16];
        GRAVITON2 [(1, 8.4), (2, 52.2), (4, 116.5), (8, 323.3), (16, 638.7)];
};

const RETAINS: [PublishedCurve; 2] = curves! { "retain":
    "retain and release, fetch-add", Bare<Simulated>, fitted [24];
        X86 [(24, 1124.0)];
    "retain and release, CAS loops", CasLoop<true>, fitted [24];
        X86 [(24, 2143.0)];
};

const SHARED_PTRS: [PublishedCurve; 3] = curves! { "shared_ptr":
    "weak_ptr::lock", GetPut<Inz>, fitted [4, 8, 16, 32, 64];
        XEON [(1, 21.2), (4, 288.0), (8, 578.0), (16, 1560.0), (32, 3290.0), (64, 10_900.0)];
    "copy of one shared_ptr", Bare<Simulated>, fitted [1];
        XEON [(1, 19.9), (4, 255.0), (8, 489.0), (16, 1080.0), (32, 2250.0), (64, 4920.0)];
    "copy of a shared_ptr per core", PerCore, fitted [1];
        XEON [(1, 21.9), (4, 22.7), (8, 23.5), (16, 25.6), (32, 25.4), (64, 33.9)];
};

fn loops() -> impl Iterator<Item = PublishedFigure> {
    let curves = [&COUNTERS[..], &RETAINS, &SHARED_PTRS].into_iter().flatten();
    curves.flat_map(PublishedCurve::figures).map(|mut figure| {
        let ValidationCheck { machine, what, cpus, note, .. } = &mut figure.check;
        if machine == GRAVITON2.0 && what.ends_with("fetch-add") && (2..8).contains(cpus) {
            *note =
                "its fetch-add throws the result away and need not wait for it; the simulator waits"
                    .into();
        }
        figure
    })
}

/// False sharing and the counter, apart and together. The letter names neither processors nor numbers of threads; here
/// all cores of one socket work.
fn cells() -> impl Iterator<Item = PublishedFigure> {
    type Cell = (&'static str, [f64; 2], fn(&ValidationStage) -> f64);
    const CELLS: [Cell; 3] = [
        ("a packet's way: layout fixed", [1.16, 2.27], |s| {
            s.gain::<Packet<SharedInz>, Packet<IsolatedInz>>()
        }),
        ("a packet's way: counter fixed", [1.10, 1.55], |s| {
            s.gain::<Packet<SharedInz>, Packet<SharedRcu>>()
        }),
        ("a packet's way: both fixed", [2.08, 3.58], |s| {
            s.gain::<Packet<SharedInz>, Packet<IsolatedRcu>>()
        }),
    ];
    [("xeon-2s-112", 28), ("epyc-2s-256", 64), ("graviton-64", 64)].into_iter().flat_map(
        |(machine, cpus)| {
            CELLS.map(|(what, published, simulate)| PublishedFigure {
                check: ValidationCheck {
                    family: "false sharing".into(),
                    what: what.into(),
                    machine: machine.into(),
                    cpus,
                    unit: "x".into(),
                    published,
                    source: RCUREF.into(),
                    ..ValidationCheck::default()
                },
                simulate,
            })
        },
    )
}

/// linear_regression's array of arguments, padded to lines.
fn padded() -> impl Iterator<Item = PublishedFigure> {
    const CHOICE: &str = "the machine of the paper is not among ours. With 16 threads x86-32 gains 4.6, epyc-2s-256 4.5, \
                          xeon-2s-80 3.4. The work, a nanosecond for each sum, is a multiplication or a load, and was not fitted";
    [(2, 2.0), (4, 4.1), (8, 5.4), (16, 6.7)].into_iter().map(|(cpus, gain)| PublishedFigure {
        check: ValidationCheck {
            family: "false sharing".into(),
            what: "linear_regression: speed-up by padding its array".into(),
            machine: "xeon-2s-112".into(),
            cpus,
            unit: "x".into(),
            published: [gain; 2],
            source: "Liu and Liu, Cheetah, CGO 2016".into(),
            note: if cpus == 2 { CHOICE } else { "" }.into(),
            ..ValidationCheck::default()
        },
        simulate: ValidationStage::padding_gain,
    })
}

const VIENNOT: &str = "Viennot et al., core-to-core-latency";
const NOTE: &str = "the simulated loop asks again at once after each failure, so that its request waits when the \
                    line is free; a real one has branches to go through first";

/// Core-to-core matrices: one way of a ball that two cores play by compare-exchange.
///
/// Both sides spin by compare-exchange, so the waiting side has already asked for the line. A machine's latencies are
/// those of a line that no other CPU asks for, so they are not simply returned.
fn matrices() -> impl Iterator<Item = PublishedFigure> {
    type Row = (&'static str, &'static str, usize, [f64; 2]);
    const ROWS: [Row; 6] = [
        ("xeon-2s-112", "one way of a ping-pong, same socket", 1, [44.0, 51.0]),
        ("xeon-2s-112", "one way of a ping-pong, other socket", 28, [108.0, 136.0]),
        ("epyc-2s-256", "one way of a ping-pong, same complex", 1, [23.0, 23.0]),
        ("epyc-2s-256", "one way of a ping-pong, same socket", 8, [107.0, 107.0]),
        ("epyc-2s-256", "one way of a ping-pong, other socket", 64, [197.0, 197.0]),
        ("graviton-64", "one way of a ping-pong", 1, [47.0, 47.0]),
    ];
    ROWS.into_iter().map(|(machine, what, other, published)| PublishedFigure {
        check: ValidationCheck {
            family: "core to core".into(),
            what: what.into(),
            machine: machine.into(),
            // The first and the last play.
            cpus: other + 1,
            unit: "ns".into(),
            published,
            source: VIENNOT.into(),
            note: NOTE.into(),
            ..ValidationCheck::default()
        },
        simulate: ValidationStage::one_way_ns,
    })
}

/// This project's measurements of machine A of `BENCHMARKS.md`, whose host puts its two virtual CPUs close together or
/// far apart, and changes that by the minute. Both states were calibrated by loops of bare additions and ping-pong, on
/// another day.
const NEAR: MachineAndSource = ("epyc-vm-near", "BENCHMARKS.md, machine A, run D");
const FAR: MachineAndSource = ("epyc-vm-far", "BENCHMARKS.md, machine A, run C");
const HOST: [PublishedCurve; 24] = curves! { "this project's":
    "get, limit", BareAdd<Simulated>, fitted [1, 2]; NEAR [(1, 5.2), (2, 14.3)], FAR [(2, 16.4)];
    "get, inc_not_zero", GetOnly<Inz>, fitted []; NEAR [(1, 5.3), (2, 36.7)], FAR [(2, 23.8)];
    "get, rcuref", GetOnly<Rcu>, fitted []; NEAR [(2, 14.6)], FAR [(2, 17.0)];
    "get and put, limit", Bare<Simulated>, fitted []; NEAR [(1, 10.5), (2, 29.2)], FAR [(2, 31.9)];
    "get and put, inc_not_zero", GetPut<Inz>, fitted []; NEAR [(1, 10.5), (2, 56.1)], FAR [(2, 42.4)];
    "get and put, rcuref", GetPut<Rcu>, fitted []; NEAR [(2, 29.9)], FAR [(2, 33.2)];
    "dst/cells, shared + inc_not_zero", Lookup<SharedInz>, fitted []; NEAR [(2, 75.5)], FAR [(2, 44.1)];
    "dst/cells, isolated + inc_not_zero", Lookup<IsolatedInz>, fitted []; NEAR [(2, 60.4)], FAR [(2, 43.2)];
    "dst/cells, shared + rcuref", Lookup<SharedRcu>, fitted []; NEAR [(2, 48.3)], FAR [(2, 37.0)];
    "dst/cells, isolated + rcuref", Lookup<IsolatedRcu>, fitted []; NEAR [(2, 31.0)], FAR [(2, 35.3)];
    "dst/packet, shared + inc_not_zero", Packet<SharedInz>, fitted []; NEAR [(2, 130.0)], FAR [(2, 225.0)];
    "dst/packet, isolated + rcuref", Packet<IsolatedRcu>, fitted []; NEAR [(2, 75.0)], FAR [(2, 126.0)];
};
