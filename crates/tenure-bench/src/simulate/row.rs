use super::result::{LineRow, MemberFigures, SimulatedRow, TransfersPerOp};
use crate::scenario::{Looped, ThreadPlace, Variant};
use tenure_sim::{LineHeat, Machine, MemberHeat, Simulation, SimulationError, SimulationReport};

/// Fixed, so that runs can be compared.
pub const DEFAULT_SEED: u64 = 1;

#[derive(Debug, Clone, Copy)]
pub(super) struct SimulationPlan {
    pub(super) warm_up_ns: f64,
    pub(super) measured_ns: f64,
    pub(super) seed: u64,
}

pub(super) fn simulate(
    variant: &Variant,
    machine: &Machine,
    cpus: usize,
    plan: SimulationPlan,
) -> Result<SimulatedRow, SimulationError> {
    let report = report((variant.prepare)(cpus), machine, cpus, plan)?;
    Ok(row(variant.name, &report))
}

pub(super) fn simulation(machine: &Machine, cpus: usize, plan: SimulationPlan) -> Simulation {
    let simulation = machine.simulation(cpus).warm_up_ns(plan.warm_up_ns);
    simulation.duration_ns(plan.measured_ns).seed(plan.seed)
}

pub(super) fn report(
    object: Box<dyn Looped>,
    machine: &Machine,
    cpus: usize,
    plan: SimulationPlan,
) -> Result<SimulationReport, SimulationError> {
    let mut simulation = simulation(machine, cpus, plan);
    for member in object.members() {
        simulation = simulation.member_at(member.name, member.address, member.bytes);
    }
    simulation.run(move |cpu| {
        let place = ThreadPlace { thread: cpu.index(), of: cpus };
        let mut steps = 0;
        while cpu.running() {
            object.step(place);
            cpu.done();
            steps += 1;
        }
        object.settle(steps);
    })
}

pub(super) fn row(variant: &str, report: &SimulationReport) -> SimulatedRow {
    let moved = |line: &&LineHeat| line.transfers.all() + line.far > 0;
    SimulatedRow {
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
        roles: Vec::new(),
        lines: listed(report.lines.iter().filter(moved).map(|heat| line(report, heat)).collect()),
    }
}

/// Listed one by one: a walk has thousands, all alike.
const MAX_LISTED_LINES: usize = 16;
/// Ends the name of the member that stands for all others.
const REST: &str = " more lines";

/// Whether the member stands for lines that are not listed.
pub(super) fn is_rest(name: &str) -> bool {
    name.ends_with(REST)
}

fn listed(mut lines: Vec<LineRow>) -> Vec<LineRow> {
    if lines.len() > MAX_LISTED_LINES + 1 {
        let rest = lines.split_off(MAX_LISTED_LINES);
        let name = format!("{}{REST}", rest.len());
        let mut transfers_per_op = TransfersPerOp::default();
        rest.iter().for_each(|line| transfers_per_op += line.transfers_per_op);
        let members = rest.iter().flat_map(|line| &line.members);
        let all = members.fold(None, |sum, member| Some(together(sum, member)));
        lines.push(LineRow {
            transfers_per_op,
            far_per_op: rest.iter().map(|line| line.far_per_op).sum(),
            members: all.map(|all| MemberFigures { name: Some(name), ..all }).into_iter().collect(),
        });
    }
    lines
}

fn transfers(report: &SimulationReport, of: &tenure_sim::Transfers) -> TransfersPerOp {
    TransfersPerOp {
        cluster: report.per_op(of.cluster),
        socket: report.per_op(of.socket),
        remote: report.per_op(of.remote),
        memory: report.per_op(of.memory),
        all: report.per_op(of.all()),
    }
}

fn line(report: &SimulationReport, heat: &LineHeat) -> LineRow {
    LineRow {
        transfers_per_op: transfers(report, &heat.transfers),
        far_per_op: report.per_op(heat.far),
        members: members(heat.members.iter().map(|heat| member(report, heat))),
    }
}

/// All members without a name are one.
fn members(all: impl Iterator<Item = MemberFigures>) -> Vec<MemberFigures> {
    let (named, nameless): (Vec<_>, Vec<_>) = all.partition(|member| member.name.is_some());
    let nameless = nameless.iter().fold(None, |sum, member| Some(together(sum, member)));
    let mut members: Vec<MemberFigures> = named.into_iter().chain(nameless).collect();
    members.sort_by_key(|member| member.offset);
    members
}

fn together(sum: Option<MemberFigures>, member: &MemberFigures) -> MemberFigures {
    let Some(sum) = sum else { return member.clone() };
    let offset = sum.offset.min(member.offset);
    let end = (sum.offset + sum.bytes).max(member.offset + member.bytes);
    MemberFigures {
        name: sum.name,
        offset,
        bytes: end - offset,
        loads_per_op: sum.loads_per_op + member.loads_per_op,
        stores_per_op: sum.stores_per_op + member.stores_per_op,
        rmws_per_op: sum.rmws_per_op + member.rmws_per_op,
        failed_per_op: sum.failed_per_op + member.failed_per_op,
        misses_per_op: sum.misses_per_op + member.misses_per_op,
        waited_ns_per_op: sum.waited_ns_per_op + member.waited_ns_per_op,
    }
}

fn member(report: &SimulationReport, heat: &MemberHeat) -> MemberFigures {
    MemberFigures {
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

pub(super) fn compare(rows: &mut [SimulatedRow], baseline: &str, limit: Option<&str>) {
    let time = |rows: &[SimulatedRow], name: &str| {
        rows.iter().find(|row| row.variant == name).and_then(|row| row.ns_per_op)
    };
    let baseline_ns = time(rows, baseline);
    let limit_ns = limit.and_then(|limit| time(rows, limit));
    for row in rows {
        let to = |name: Option<&str>, other: Option<f64>| {
            (name != Some(&row.variant)).then_some(row.ns_per_op? / other?)
        };
        let ratios = (to(Some(baseline), baseline_ns), to(limit, limit_ns));
        (row.to_baseline, row.to_limit) = ratios;
    }
}
