//! The published figures, from `figures.toml`, and what simulates each of them.

use super::operations::{CasLoop, PerCore};
use super::{ValidationCheck, ValidationStage};
use crate::scenario::dst::{Lookup, Packet};
use crate::scenario::refs::{Bare, BareAdd, GetOnly, GetPut};
use crate::scenario::revocable::{SWITCH_NS, same};
use crate::scenario::route::{IsolatedRoute, SharedRoute};
use serde::Deserialize;
use std::collections::HashMap;
use tenure::count::generic::{IncNotZero, RcuRef};
use tenure::revocable::generic::{Counted, On, Scheme, Shootdown};
use tenure_sim::Simulated;

pub(super) struct PublishedFigure {
    /// Still without the simulated figure.
    pub(super) check: ValidationCheck,
    operation: String,
}

#[derive(Deserialize)]
struct PublishedFigures {
    sources: HashMap<String, String>,
    notes: HashMap<String, String>,
    family: Vec<PublishedFamily>,
}

#[derive(Deserialize)]
struct PublishedFamily {
    name: String,
    curves: Vec<PublishedCurve>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedCurve {
    what: String,
    /// Names what [`PublishedFigure::simulated`] does.
    operation: String,
    machine: String,
    source: String,
    unit: Option<String>,
    points: Vec<PublishedPoint>,
    #[serde(default)]
    fitted: Vec<usize>,
    note: Option<String>,
}

/// A number of threads, with the figure or with the ends of its range.
#[derive(Deserialize)]
#[serde(untagged)]
enum PublishedPoint {
    Value(usize, f64),
    Range(usize, f64, f64),
}

pub(super) fn all() -> Vec<PublishedFigure> {
    let all: PublishedFigures =
        toml::from_str(include_str!("figures.toml")).expect("a test reads the file");
    let mut figures = Vec::new();
    for family in &all.family {
        for curve in &family.curves {
            figures.extend(curve.points.iter().map(|point| all.figure(family, curve, point)));
        }
    }
    figures
}

impl PublishedFigures {
    fn figure(
        &self,
        family: &PublishedFamily,
        curve: &PublishedCurve,
        point: &PublishedPoint,
    ) -> PublishedFigure {
        let (cpus, published) = match *point {
            PublishedPoint::Value(cpus, figure) => (cpus, [figure; 2]),
            PublishedPoint::Range(cpus, low, high) => (cpus, [low, high]),
        };
        PublishedFigure {
            check: ValidationCheck {
                family: family.name.clone(),
                what: curve.what.clone(),
                machine: curve.machine.clone(),
                cpus,
                unit: curve.unit.clone().unwrap_or_else(|| "ns".to_owned()),
                published,
                source: self.sources[&curve.source].clone(),
                fitted: curve.fitted.contains(&cpus),
                note: curve.note.as_ref().map_or_else(String::new, |note| self.notes[note].clone()),
                ..ValidationCheck::default()
            },
            operation: curve.operation.clone(),
        }
    }
}

type Inz = IncNotZero<Simulated>;
type Rcu = RcuRef<Simulated>;

type SharedInz = SharedRoute<Simulated, Inz, 4>;
type SharedRcu = SharedRoute<Simulated, Rcu, 4>;
type IsolatedInz = IsolatedRoute<Simulated, Inz, 4>;
type IsolatedRcu = IsolatedRoute<Simulated, Rcu, 4>;

impl PublishedFigure {
    pub(super) fn simulated(&self, stage: &ValidationStage) -> f64 {
        // Two operations: how many times faster the second is.
        if let Some((old, new)) = self.operation.split_once(" / ") {
            let scenario = old.split_once(", ").map_or("", |(scenario, _)| scenario);
            return time(old, stage) / time(&format!("{scenario}, {new}"), stage);
        }
        match self.operation.as_str() {
            "retries" => stage.run::<GetPut<Inz>>().retries_per_op(),
            "switch, counted" => switches_by::<Counted>(stage),
            "switch, shootdown" => switches_by::<Shootdown>(stage),
            "padding" => stage.padding_gain(),
            "ping-pong" => stage.one_way_ns(),
            operation => time(operation, stage),
        }
    }
}

/// Nanoseconds of an operation on each thread.
fn time(operation: &str, stage: &ValidationStage) -> f64 {
    match operation {
        "add" => stage.ns::<BareAdd<Simulated>>(),
        "add and subtract" => stage.ns::<Bare<Simulated>>(),
        "add and subtract, per core" => stage.ns::<PerCore>(),
        "CAS loop" => stage.ns::<CasLoop>(),
        "two CAS loops" => stage.ns::<CasLoop<true>>(),
        "get, inc_not_zero" => stage.ns::<GetOnly<Inz>>(),
        "get, rcuref" => stage.ns::<GetOnly<Rcu>>(),
        "get and put, inc_not_zero" => stage.ns::<GetPut<Inz>>(),
        "get and put, rcuref" => stage.ns::<GetPut<Rcu>>(),
        "dst/cells, shared + inc_not_zero" => stage.ns::<Lookup<SharedInz>>(),
        "dst/cells, isolated + inc_not_zero" => stage.ns::<Lookup<IsolatedInz>>(),
        "dst/cells, shared + rcuref" => stage.ns::<Lookup<SharedRcu>>(),
        "dst/cells, isolated + rcuref" => stage.ns::<Lookup<IsolatedRcu>>(),
        "dst/packet, shared + inc_not_zero" => stage.ns::<Packet<SharedInz>>(),
        "dst/packet, isolated + inc_not_zero" => stage.ns::<Packet<IsolatedInz>>(),
        "dst/packet, shared + rcuref" => stage.ns::<Packet<SharedRcu>>(),
        "dst/packet, isolated + rcuref" => stage.ns::<Packet<IsolatedRcu>>(),
        other => unreachable!("a test simulates every figure, and none is '{other}'"),
    }
}

/// Millions of switches through idle a second, with their work.
fn switches_by<S>(stage: &ValidationStage) -> f64
where
    On<Simulated, S>: Scheme<Memory = Simulated>,
{
    let variant = same::<On<Simulated, S>, SWITCH_NS>("");
    stage.run_on((variant.prepare)(stage.cpus)).mops()
}
