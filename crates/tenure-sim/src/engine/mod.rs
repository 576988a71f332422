//! The machine at work: CPUs, lines, and the next event.
//!
//! Simulated threads are fibers of one thread of the host ([`context`]). One runs until it misses, or touches memory at
//! a time that has not come yet; then the earliest event is next. Nothing depends on the host's time or addresses, so
//! every run is the same.
//!
//! A hit on a line that no CPU asks for may be ahead of the earliest event by the shortest way of a request: a CPU that
//! asks at that event arrives no sooner. This saves switches between fibers and changes no result.

mod accounts;
mod blocking;
mod buffer;
pub(crate) mod context;
mod directory;
mod events;
#[cfg(test)]
mod invariants;

use crate::coherence::{Costs, LineHolder, LineRequest, LineState, Sharers, Want, distance};
use crate::heat::{HeatKind, WordHeat};
use crate::machine::{AtomicKind, CoreIndex, LINE_BYTES, Machine, Ps};
use crate::random::Random;
use buffer::StoreBuffer;
use events::{EngineEvent, Events};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct EnginePlan {
    pub(crate) machine: Machine,
    pub(crate) threads: usize,
    /// Measured from here ...
    pub(crate) from: Ps,
    /// ... to here, when threads are asked to end.
    pub(crate) to: Ps,
    pub(crate) limit: Ps,
    pub(crate) seed: u64,
    pub(crate) stack_bytes: usize,
    pub(crate) members: Vec<MemberRange>,
    /// Lines begin with a copy for each thread, and not in memory.
    pub(crate) warm: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct MemberRange {
    pub(crate) name: String,
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    Missing(u32),
    /// Sleeps on this address.
    Blocked(usize),
    /// Goes on when its store buffer has no more stores than this.
    Draining(usize),
    Finished,
}

#[derive(Debug, Clone, Copy)]
enum Granted {
    /// The line. The access that asked comes first, before another CPU can take it away.
    Own,
    /// The value at delivery: the line may have gone on already.
    Read,
    /// The result of a far read-modify-write, after this way back.
    Far(Ps),
}

#[derive(Debug)]
pub(crate) struct Cpu {
    core: CoreIndex,
    pub(crate) clock: Ps,
    pub(crate) status: Status,
    granted: Option<Granted>,
    /// When the access that waits for a line began.
    asked_at: Option<Ps>,
    /// When its last access took effect.
    began: Ps,
    /// The last address, to explain a simulation that does not end.
    touched: usize,
    /// Taken by interrupts, and not yet spent.
    stolen: Ps,
    /// Another simulated thread is on its core.
    crowded: bool,
    pub(crate) operations: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FiberStep {
    Done,
    Wait,
    Again,
}

#[derive(Debug)]
pub(crate) struct Engine {
    plan: EnginePlan,
    costs: Costs,
    random: Random,
    events: Events,
    now: Ps,
    /// Those of the threads, then the store buffer of each: see [`buffer`].
    pub(crate) cpus: Vec<Cpu>,
    buffers: Vec<StoreBuffer>,
    lines: Vec<LineState>,
    places: FxHashMap<usize, u32>,
    /// Sleepers and their addresses, the first asleep first.
    sleepers: VecDeque<(usize, usize)>,
    lost_reservations: u64,
    interrupts: u64,
    accesses: u64,
    /// A CPU went beyond the limit.
    overrun: bool,
}

impl Engine {
    pub(crate) fn new(plan: EnginePlan) -> Self {
        let costs = Costs::of(&plan.machine);
        let mut random = Random::new(plan.seed);
        let topology = plan.machine.topology;
        let cores = topology.cores_in_all();
        let cpu = |thread: usize, clock, status| Cpu {
            core: topology.core_of(thread),
            clock,
            status,
            granted: None,
            asked_at: None,
            began: 0,
            touched: 0,
            stolen: 0,
            crowded: thread + cores < plan.threads || thread >= cores,
            operations: 0,
        };
        let mut events = Events::default();
        let mut cpus = Vec::with_capacity(2 * plan.threads);
        for thread in 0..plan.threads {
            let clock = random.within([0, 100_000]);
            cpus.push(cpu(thread, clock, Status::Running));
            events.announce(clock, EngineEvent::Resume(thread));
        }
        cpus.extend((0..plan.threads).map(|thread| cpu(thread, 0, Status::Finished)));
        Self {
            buffers: vec![StoreBuffer::default(); plan.threads],
            plan,
            costs,
            random,
            events,
            now: 0,
            cpus,
            lines: Vec::new(),
            places: FxHashMap::default(),
            sleepers: VecDeque::new(),
            lost_reservations: 0,
            interrupts: 0,
            accesses: 0,
            overrun: false,
        }
    }

    /// Goes on until a CPU runs; none if no event is left.
    pub(crate) fn advance(&mut self) -> Option<usize> {
        loop {
            let (at, event) = self.events.take()?;
            if let Some(cpu) = self.happen(at, event) {
                return Some(cpu);
            }
        }
    }

    /// Returns the CPU that runs then, if any.
    fn happen(&mut self, at: Ps, event: EngineEvent) -> Option<usize> {
        debug_assert!(self.now <= at, "time goes on");
        self.now = at;
        match event {
            EngineEvent::Resume(cpu) => return self.run(cpu),
            EngineEvent::Arrive(line, request) => self.arrive(line, request),
            EngineEvent::Grant(line) => self.grant(line),
            EngineEvent::Free(line) => {
                self.lines[line as usize].busy = false;
                self.schedule(line);
            }
            EngineEvent::Deliver(line, cpu, delivery) => {
                self.deliver(line, cpu, delivery);
                return self.run(cpu);
            }
        }
        None
    }

    fn line_of(&mut self, address: usize) -> u32 {
        let (lines, cpus) = (&mut self.lines, &self.cpus[..self.plan.threads]);
        let is_warm = self.plan.warm;
        *self.places.entry(address / LINE_BYTES).or_insert_with(|| {
            let mut line = LineState::new();
            if is_warm {
                let mut sharers = Sharers::of(cpus[0].core);
                cpus.iter().for_each(|cpu| sharers.insert(cpu.core));
                line.holder = LineHolder::Shared(sharers, cpus[0].core);
            }
            lines.push(line);
            u32::try_from(lines.len() - 1).expect("fewer lines than a host has memory for")
        })
    }

    /// One attempt of an access within a line.
    pub(crate) fn step(
        &mut self,
        cpu: usize,
        address: usize,
        bytes: usize,
        kind: HeatKind,
    ) -> FiberStep {
        let id = self.line_of(address);
        let Cpu { core, clock, granted, crowded, .. } = self.cpus[cpu];
        if let Some(granted) = granted {
            return self.take(cpu, granted, id, address, bytes, kind);
        }
        if clock > self.plan.limit {
            self.overrun = true;
            return FiberStep::Wait;
        }
        let clock = self.serve_interrupts(cpu);
        let line = &self.lines[id as usize];
        let hit = line.is_hit(core, kind != HeatKind::Load, clock);
        // Events of one time happen in the order of announcement, and may take the line away. A CPU whose turn it is at
        // this time was announced itself.
        // Nor is a buffer ahead of its thread, or a thread of its buffer.
        let is_ahead = hit && !crowded && line.is_quiet() && self.is_without_stores(cpu);
        let is_due = |next| match is_ahead {
            true => next + self.costs.lookahead < clock,
            false => next < clock + Ps::from(self.now < clock),
        };
        if self.events.next_at().is_some_and(is_due) {
            self.events.announce(clock, EngineEvent::Resume(cpu));
            return FiberStep::Wait;
        }
        if let Some(step) = self.step_behind_stores(cpu, id, address, bytes, kind, hit) {
            return step;
        }
        if !hit {
            self.ask(cpu, id, address, kind);
            return FiberStep::Wait;
        }
        self.hit(cpu, id, address, bytes, kind)
    }

    fn hit(
        &mut self,
        cpu: usize,
        id: u32,
        address: usize,
        bytes: usize,
        kind: HeatKind,
    ) -> FiberStep {
        let line = &mut self.lines[id as usize];
        let start = self.cpus[cpu].clock.max(line.locked_until);
        let user = cpu % self.plan.threads;
        let mut cost = match kind {
            _ if kind.is_rmw() => self.costs.rmw,
            _ if user != cpu => self.costs.drain,
            _ => self.costs.hit,
        };
        if self.cpus[cpu].crowded && line.user != user {
            let other = self.cpus.get(line.user).map(|user| user.core);
            if other == Some(self.cpus[cpu].core) && (line.was_written || kind != HeatKind::Load) {
                cost = cost.max(self.costs.sibling(&mut self.random));
            }
            line.user = user;
            line.was_written = false;
        }
        line.was_written |= kind != HeatKind::Load;
        self.cpus[cpu].clock = start + cost;
        if kind.is_rmw() {
            if self.costs.kind == AtomicKind::Reserved {
                let leaves_at = line.grant_at.unwrap_or(line.held_until);
                if !line.queue.is_empty() && leaves_at < start + cost {
                    self.lost_reservations += u64::from(self.is_measured(start));
                    self.schedule(id);
                    return FiberStep::Again;
                }
            } else {
                line.locked_until = start + cost;
            }
            line.modifier = Some(self.cpus[cpu].core);
        }
        self.schedule(id);
        self.count(cpu, id, address, bytes, kind, start);
        FiberStep::Done
    }

    fn ask(&mut self, cpu: usize, id: u32, address: usize, kind: HeatKind) {
        let Cpu { core, clock, .. } = self.cpus[cpu];
        let line = &mut self.lines[id as usize];
        let want = match kind {
            HeatKind::Load => Want::Read,
            HeatKind::Store | HeatKind::Buffered => Want::Own,
            HeatKind::Add
                if self.costs.kind == AtomicKind::Far
                    && !(line.is_quiet() && line.modifier.is_none_or(|last| last == core)) =>
            {
                Want::Far
            }
            HeatKind::Add | HeatKind::Exchange => Want::Own,
        };
        let distance = distance(&self.plan.machine, &line.holder, core, want);
        let leg = self.costs.request(distance, &mut self.random);
        line.coming += 1;
        // Unless it was here before, and has to come again.
        self.cpus[cpu].asked_at.get_or_insert(clock);
        self.cpus[cpu].touched = address;
        self.cpus[cpu].status = Status::Missing(id);
        self.events.announce(clock + leg, EngineEvent::Arrive(id, LineRequest { cpu, want }));
    }

    fn take(
        &mut self,
        cpu: usize,
        granted: Granted,
        id: u32,
        address: usize,
        bytes: usize,
        kind: HeatKind,
    ) -> FiberStep {
        self.cpus[cpu].granted = None;
        let start = self.cpus[cpu].clock;
        match granted {
            Granted::Own
                if self.lines[id as usize].holder == LineHolder::Owner(self.cpus[cpu].core) =>
            {
                return self.hit(cpu, id, address, bytes, kind);
            }
            // The core's other thread was faster, and the line has gone on.
            Granted::Own => return FiberStep::Again,
            Granted::Read => {}
            Granted::Far(back) => self.cpus[cpu].clock += back,
        }
        self.count(cpu, id, address, bytes, kind, start);
        FiberStep::Done
    }

    /// Adds the time of interrupts to a CPU's clock, and returns that.
    fn serve_interrupts(&mut self, cpu: usize) -> Ps {
        let cpu = &mut self.cpus[cpu];
        cpu.clock += std::mem::take(&mut cpu.stolen);
        cpu.clock
    }

    fn is_measured(&self, at: Ps) -> bool {
        (self.plan.from..self.plan.to).contains(&at)
    }

    fn count(
        &mut self,
        cpu: usize,
        id: u32,
        address: usize,
        bytes: usize,
        kind: HeatKind,
        start: Ps,
    ) {
        let state = &mut self.cpus[cpu];
        state.touched = address;
        state.began = start;
        self.accesses += 1;
        let asked_at = state.asked_at.take();
        if !self.is_measured(start) {
            return;
        }
        let spot: &mut WordHeat = self.lines[id as usize].counts.spot(address, bytes);
        match kind {
            HeatKind::Load => spot.loads += 1,
            HeatKind::Store | HeatKind::Buffered => spot.stores += 1,
            HeatKind::Add | HeatKind::Exchange => spot.rmws += 1,
        }
        if let Some(asked_at) = asked_at {
            spot.misses += 1;
            // Nothing waits for a buffer, unless it is full.
            let waits = cpu < self.plan.threads;
            spot.waited += if waits { start - asked_at } else { 0 };
        }
    }
}
