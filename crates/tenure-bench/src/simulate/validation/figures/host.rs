//! This project's own measurements of machine A of `BENCHMARKS.md`, in its two states: its host puts its two
//! virtual CPUs close together or far apart, and changes that by the minute. The machines were
//! calibrated in each state by loops of bare additions and ping-pong, on another day.

use super::{Curve, Figure};
use crate::scenario::dst::{Lookup, Packet};
use crate::scenario::refs::{Bare, BareAdd, GetOnly, GetPut};
use crate::scenario::route::{Isolated, Shared};
use tenure::count::{IncNotZero, RcuRef};
use tenure_sim::Simulated;

type Inz = IncNotZero<Simulated>;
type Rcu = RcuRef<Simulated>;
type SharedInz = Shared<Simulated, Inz, 4>;
type SharedRcu = Shared<Simulated, Rcu, 4>;
type IsolatedInz = Isolated<Simulated, Inz, 4>;
type IsolatedRcu = Isolated<Simulated, Rcu, 4>;

const NEAR: &str = "BENCHMARKS.md, machine A, run D";
const FAR: &str = "BENCHMARKS.md, machine A, run C";

macro_rules! curves {
    ($($what:literal, $operation:ty: near $near:expr, far $far:expr, fitted $fitted:expr;)*) => {
        [$(
            Curve {
                family: "this project's",
                what: $what,
                machine: "epyc-vm-near",
                source: NEAR,
                simulate: |stage| stage.ns::<$operation>(),
                points: &$near,
                fitted: &$fitted,
            },
            Curve {
                family: "this project's",
                what: $what,
                machine: "epyc-vm-far",
                source: FAR,
                simulate: |stage| stage.ns::<$operation>(),
                points: &$far,
                fitted: &$fitted,
            },
        )*]
    };
}

const CURVES: [Curve; 24] = curves! {
    "get, limit", BareAdd<Simulated>: near [(1, 5.2), (2, 14.3)], far [(2, 16.4)], fitted [1, 2];
    "get, inc_not_zero", GetOnly<Inz>: near [(1, 5.3), (2, 36.7)], far [(2, 23.8)], fitted [];
    "get, rcuref", GetOnly<Rcu>: near [(2, 14.6)], far [(2, 17.0)], fitted [];
    "get and put, limit", Bare<Simulated>: near [(1, 10.5), (2, 29.2)], far [(2, 31.9)], fitted [];
    "get and put, inc_not_zero", GetPut<Inz>: near [(1, 10.5), (2, 56.1)], far [(2, 42.4)], fitted [];
    "get and put, rcuref", GetPut<Rcu>: near [(2, 29.9)], far [(2, 33.2)], fitted [];
    "dst/cells, shared + inc_not_zero", Lookup<SharedInz>: near [(2, 75.5)], far [(2, 44.1)], fitted [];
    "dst/cells, isolated + inc_not_zero", Lookup<IsolatedInz>: near [(2, 60.4)], far [(2, 43.2)], fitted [];
    "dst/cells, shared + rcuref", Lookup<SharedRcu>: near [(2, 48.3)], far [(2, 37.0)], fitted [];
    "dst/cells, isolated + rcuref", Lookup<IsolatedRcu>: near [(2, 31.0)], far [(2, 35.3)], fitted [];
    "dst/packet, shared + inc_not_zero", Packet<SharedInz>: near [(2, 130.0)], far [(2, 225.0)], fitted [];
    "dst/packet, isolated + rcuref", Packet<IsolatedRcu>: near [(2, 75.0)], far [(2, 126.0)], fitted [];
};

pub(super) fn all() -> impl Iterator<Item = Figure> {
    CURVES.iter().flat_map(Curve::figures)
}
