use super::{Engine, MemberRange, Status};
use crate::error::SimulationError;
use crate::heat::WordHeat;
use crate::machine::{Distance, FOREVER, LINE_BYTES, Ps, ns};
use crate::report::{Fairness, LineHeat, MemberHeat, SimulationReport, Transfers};

impl Engine {
    pub(crate) fn count_failure(&mut self, cpu: usize, address: usize, bytes: usize) {
        let line = self.line_of(address);
        if self.is_measured(self.cpus[cpu].began) {
            self.lines[line as usize].counts.spot(address, bytes).failed += 1;
        }
    }

    pub(crate) fn count_operation(&mut self, cpu: usize) {
        if self.is_measured(self.cpus[cpu].clock) {
            self.cpus[cpu].operations += 1;
        }
    }

    pub(crate) fn core(&self, cpu: usize) -> usize {
        self.cpus[cpu].core as usize
    }

    pub(crate) fn is_running(&self, cpu: usize) -> bool {
        self.cpus[cpu].clock < self.plan.to
    }

    /// Private work, give or take a tenth.
    pub(crate) fn work(&mut self, cpu: usize, ps: Ps) {
        let tenth = ps / 10;
        let spent = self.random.within([ps - tenth, ps.saturating_add(tenth)]);
        self.spend(cpu, spent);
    }

    pub(super) fn spend(&mut self, cpu: usize, ps: Ps) {
        let clock = &mut self.cpus[cpu].clock;
        *clock = clock.saturating_add(ps).min(FOREVER);
    }

    pub(crate) fn pause(&mut self, cpu: usize) {
        self.work(cpu, self.costs.pause);
    }

    pub(super) fn check_limit(&self) -> Result<(), SimulationError> {
        if self.overrun || self.now > self.plan.limit {
            let ns = ns(self.now.max(self.plan.limit));
            return Err(SimulationError::Livelock { ns, waiting: self.told() });
        }
        Ok(())
    }

    pub(super) fn check_finished(&self) -> Result<(), SimulationError> {
        let waiting = self.told();
        if waiting.is_empty() { Ok(()) } else { Err(SimulationError::Deadlock { waiting }) }
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.threads()
            .iter()
            .enumerate()
            .filter(|(_, cpu)| cpu.status != Status::Finished)
            .map(|(index, cpu)| {
                let what = match cpu.status {
                    Status::Blocked(address) => format!("sleeps on {}", self.name(address)),
                    Status::Missing(_) | Status::Draining(_) => {
                        format!("waits for the line of {}", self.name(cpu.touched))
                    }
                    _ if cpu.touched == 0 => "has touched nothing".to_owned(),
                    _ => format!("runs, and touched {} last", self.name(cpu.touched)),
                };
                format!("cpu {index} {what}")
            })
            .collect()
    }

    /// Never the address itself, which differs between runs.
    fn name(&self, address: usize) -> String {
        match self.member(address) {
            Some(member) => member.name.clone(),
            None => match self.places.get(&(address / LINE_BYTES)) {
                Some(line) => format!("line {line} + {}", address % LINE_BYTES),
                None => "something".to_owned(),
            },
        }
    }

    fn member(&self, address: usize) -> Option<&MemberRange> {
        let holds =
            |it: &&MemberRange| address.checked_sub(it.address).is_some_and(|at| at < it.bytes);
        // The smallest that holds it: a member rather than the whole.
        self.plan.members.iter().filter(holds).min_by_key(|member| member.bytes)
    }

    pub(super) fn report(&self) -> SimulationReport {
        let last = self.threads().iter().map(|cpu| cpu.clock).max().unwrap_or(0);
        let by_cpu: Vec<u64> = self.threads().iter().map(|cpu| cpu.operations).collect();
        let mut lines: Vec<LineHeat> = self.lines.iter().filter_map(|l| self.heat(l)).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.transfers.all() + line.far));
        let sum = |of: fn(&MemberHeat) -> u64| -> u64 {
            lines.iter().flat_map(|line| &line.members).map(of).sum()
        };
        SimulationReport {
            machine: self.plan.machine.name.clone(),
            threads: self.plan.threads,
            seed: self.plan.seed,
            ns: ns(last.min(self.plan.to).saturating_sub(self.plan.from)),
            operations: by_cpu.iter().sum(),
            accesses: sum(|it| it.loads + it.stores + it.rmws),
            failed: sum(|it| it.failed),
            lost_reservations: self.lost_reservations,
            far: lines.iter().map(|line| line.far).sum(),
            transfers: lines.iter().fold(Transfers::default(), |sum, line| sum + line.transfers),
            interrupts: self.interrupts,
            fairness: Fairness::of(&by_cpu),
            per_thread: by_cpu,
            lines,
            simulated: self.accesses,
        }
    }

    fn heat(&self, line: &crate::coherence::LineState) -> Option<LineHeat> {
        let counts = &line.counts;
        if counts.spots.is_empty() {
            return None;
        }
        let mut members: Vec<MemberHeat> = Vec::new();
        for spot in &counts.spots {
            let heat = self.member_heat(spot);
            match members.iter_mut().find(|it| it.name == heat.name && it.offset == heat.offset) {
                Some(same) => same.add(&heat),
                None => members.push(heat),
            }
        }
        members.sort_by(|one, other| (one.offset, &one.name).cmp(&(other.offset, &other.name)));
        let [cluster, socket, remote, memory] =
            Distance::ALL.map(|at| counts.transfers[at as usize]);
        Some(LineHeat {
            transfers: Transfers { cluster, socket, remote, memory },
            far: counts.far,
            members,
        })
    }

    fn member_heat(&self, spot: &WordHeat) -> MemberHeat {
        let member = self.member(spot.address);
        let start = member
            .map_or(spot.address, |it| it.address.max(spot.address / LINE_BYTES * LINE_BYTES));
        MemberHeat {
            name: member.map(|it| it.name.clone()),
            offset: start % LINE_BYTES,
            bytes: member.map_or(spot.bytes, |it| it.bytes),
            loads: spot.loads,
            stores: spot.stores,
            rmws: spot.rmws,
            failed: spot.failed,
            misses: spot.misses,
            waited_ns: ns(spot.waited),
        }
    }
}
