//! From a simulation to a row.

use super::result::{Line, Member, Row, Transfers};
use crate::scenario::{Looped, Place, Scenario, Variant};
use tenure_sim::{Error, LineHeat, Machine, MemberHeat, Report};

/// How long a row is simulated, and from which seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) warm_up_ns: f64,
    pub(super) measured_ns: f64,
    pub(super) seed: u64,
}

/// Runs `variant` on so many CPUs of the machine.
pub(super) fn simulate(
    variant: &Variant,
    machine: &Machine,
    cpus: usize,
    plan: Plan,
) -> Result<Row, Error> {
    let report = report((variant.prepare)(cpus), machine, cpus, plan)?;
    Ok(row(variant.name, &report))
}

/// Every CPU does the operation on `object`, again and again.
pub(super) fn report(
    object: Box<dyn Looped>,
    machine: &Machine,
    cpus: usize,
    plan: Plan,
) -> Result<Report, Error> {
    let mut simulation = machine
        .simulation(cpus)
        .warm_up_ns(plan.warm_up_ns)
        .duration_ns(plan.measured_ns)
        .seed(plan.seed);
    for member in object.members() {
        simulation = simulation.member_at(member.name, member.address, member.bytes);
    }
    simulation.run(move |cpu| {
        let place = Place { thread: cpu.index(), of: cpus };
        let mut steps = 0;
        while cpu.running() {
            object.step(place);
            cpu.done();
            steps += 1;
        }
        object.settle(steps);
    })
}

fn row(variant: &str, report: &Report) -> Row {
    let moved = |line: &&LineHeat| line.transfers.all() + line.far > 0;
    Row {
        variant: variant.to_owned(),
        operations: report.operations,
        ns_per_op: (report.operations > 0).then(|| report.ns_per_op()),
        mops: report.mops(),
        retries_per_op: report.retries_per_op(),
        transfers_per_op: transfers(report, &report.transfers),
        far_per_op: report.per_op(report.far),
        lost_reservations_per_op: report.per_op(report.lost_reservations),
        fairness: report.fairness.jain,
        to_baseline: None,
        to_limit: None,
        lines: report.lines.iter().filter(moved).map(|heat| line(report, heat)).collect(),
    }
}

fn transfers(report: &Report, of: &tenure_sim::Transfers) -> Transfers {
    Transfers {
        cluster: report.per_op(of.cluster),
        socket: report.per_op(of.socket),
        remote: report.per_op(of.remote),
        memory: report.per_op(of.memory),
        all: report.per_op(of.all()),
    }
}

fn line(report: &Report, heat: &LineHeat) -> Line {
    Line {
        transfers_per_op: transfers(report, &heat.transfers),
        far_per_op: report.per_op(heat.far),
        members: heat.members.iter().map(|heat| member(report, heat)).collect(),
    }
}

fn member(report: &Report, heat: &MemberHeat) -> Member {
    Member {
        name: heat.name.clone(),
        offset: heat.offset,
        bytes: heat.bytes,
        loads_per_op: report.per_op(heat.loads),
        stores_per_op: report.per_op(heat.stores),
        rmws_per_op: report.per_op(heat.rmws),
        failed_per_op: report.per_op(heat.failed),
        misses_per_op: report.per_op(heat.misses),
        waited_ns_per_op: if report.operations == 0 {
            0.0
        } else {
            heat.waited_ns / report.operations as f64
        },
    }
}

/// Fills in the ratios of a point's rows.
pub(super) fn compare(rows: &mut [Row], scenario: &Scenario) {
    let time = |rows: &[Row], name: &str| {
        rows.iter().find(|row| row.variant == name).and_then(|row| row.ns_per_op)
    };
    let baseline = time(rows, scenario.baseline);
    let limit = scenario.limit.and_then(|limit| time(rows, limit));
    for row in rows {
        let to = |name: Option<&str>, other: Option<f64>| {
            (name != Some(&row.variant)).then_some(row.ns_per_op? / other?)
        };
        let ratios = (to(Some(scenario.baseline), baseline), to(scenario.limit, limit));
        (row.to_baseline, row.to_limit) = ratios;
    }
}
