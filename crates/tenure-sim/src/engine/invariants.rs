//! Invariants after each event, for any machine and program.
//!
//! Lists of actions instead of fibers drive the engine: all of its state is visible after each event.

use super::{Engine, EngineEvent, EnginePlan, FiberStep, Granted, Status, StoreBuffer};
use crate::coherence::LineHolder;
use crate::engine::events::Delivery;
use crate::heat::HeatKind;
use crate::machine::{
    Arbitration, AtomicCost, AtomicKind, Contention, Kernel, LINE_BYTES, Latency, Machine, Ps,
    TimeRange, Topology,
};
use crate::random::Random;

#[derive(Debug, Clone, Copy)]
enum Action {
    Access(usize, HeatKind),
    Work(Ps),
    Membarrier,
    Sleep(usize),
    Wake(usize, usize),
}

#[derive(Debug, Clone, Copy, Default)]
struct Effects {
    read: Ps,
    written: Ps,
}

struct Test {
    engine: Engine,
    programs: Vec<Vec<Action>>,
    at: Vec<usize>,
    effects: Vec<Effects>,
}

fn some_machine(random: &mut Random) -> Machine {
    let span = |random: &mut Random| {
        let most = [2, 300, 40_000, 300_000][random.below(4)];
        let low = random.within([1, most]) as f64 / 1e3;
        let more = random.within([0, most]) as f64 / 1e3;
        if random.below(2) == 0 {
            TimeRange::Fixed(low)
        } else {
            TimeRange::Range([low, low + more])
        }
    };
    let kind = [AtomicKind::Near, AtomicKind::Far, AtomicKind::Reserved][random.below(3)];
    let time = |random: &mut Random, least: Ps| {
        let most = [least, 1_000, 20_000, 100_000][random.below(4)].max(least);
        random.within([least, most]) as f64 / 1e3
    };
    let rmw = time(random, 1);
    let least = if kind == AtomicKind::Reserved { rmw * 0.7 + 0.1 } else { 0.0 };
    let machine = Machine {
        name: "any".to_owned(),
        about: String::new(),
        sources: Vec::new(),
        topology: Topology {
            sockets: 1 + random.below(3),
            clusters: 1 + random.below(2),
            cores: 1 + random.below(3),
            smt: 1 + random.below(3),
        },
        latency: Latency {
            hit: time(random, 1),
            sibling: Some(span(random)),
            cluster: span(random),
            socket: Some(span(random)),
            remote: Some(span(random)),
            memory: span(random),
        },
        atomic: AtomicCost { rmw, kind, home: Some(time(random, 1)) },
        contention: Contention {
            arbitration: [Arbitration::Fifo, Arbitration::Random][random.below(2)],
            residency: time(random, 0).max(least),
            handoff: [0.0, 0.25, 0.5, 1.0][random.below(4)],
            directory: time(random, 0),
            pause: 1.0,
        },
        kernel: Kernel {
            system_call: time(random, 0),
            wake: time(random, 0),
            wake_send: time(random, 0),
            interrupt_send: time(random, 0),
            interrupt_latency: time(random, 0),
            interrupt_handler: time(random, 0),
        },
    };
    assert_eq!(machine.check(), Ok(()));
    machine
}

fn some_action(random: &mut Random, lines: usize) -> Action {
    let line = random.below(lines);
    match random.below(40) {
        0 => Action::Membarrier,
        1 => Action::Sleep(line),
        2 | 3 => Action::Wake(line, 1 + random.below(2)),
        4..8 => {
            let most = [10, 5_000, 100_000][random.below(3)];
            Action::Work(random.within([0, most]))
        }
        8..20 => Action::Access(line, HeatKind::Load),
        20..23 => Action::Access(line, HeatKind::Store),
        23..26 => Action::Access(line, HeatKind::Buffered),
        26..34 => Action::Access(line, HeatKind::Add),
        _ => Action::Access(line, HeatKind::Exchange),
    }
}

impl Test {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let machine = some_machine(&mut random);
        let threads = 1 + random.below(machine.cpus().min(9));
        let lines = 1 + random.below(3);
        let length = 1 + random.below(60);
        let programs = (0..threads)
            .map(|_| (0..length).map(|_| some_action(&mut random, lines)).collect())
            .collect();
        let plan = EnginePlan {
            machine,
            threads,
            from: 0,
            to: 1 << 40,
            limit: 1 << 40,
            seed,
            stack_bytes: 0,
            members: Vec::new(),
            warm: false,
        };
        let engine = Engine::new(plan);
        Self { engine, programs, at: vec![0; threads], effects: vec![Effects::default(); lines] }
    }

    fn run(&mut self) {
        let mut happened = 0;
        while let Some((at, event)) = self.engine.events.take() {
            happened += 1;
            assert!(happened < 1_000_000, "no end: {:?}", self.engine.told());
            assert!(at >= self.engine.now, "time goes on");
            let buffers = self.engine.buffers.clone();
            if let Some(cpu) = self.engine.happen(at, event) {
                self.go_on(cpu);
            }
            self.check_drained(&buffers);
            self.check();
        }
        assert!(!self.engine.overrun);
        for (cpu, state) in self.engine.cpus.iter().enumerate() {
            let ends = matches!(state.status, Status::Finished | Status::Blocked(_));
            assert!(ends, "cpu {cpu} is {:?} for ever", state.status);
        }
        let report = self.engine.report();
        for member in report.lines.iter().flat_map(|line| &line.members) {
            let accesses = member.loads + member.stores + member.rmws;
            assert!(member.misses <= accesses, "{member:?}");
        }
    }

    /// Until it has to wait.
    fn go_on(&mut self, cpu: usize) {
        while let Some(&action) = self.programs[cpu].get(self.at[cpu]) {
            match action {
                Action::Access(line, kind) => {
                    let granted = self.engine.cpus[cpu].granted;
                    match self.engine.step(cpu, (line + 1) * LINE_BYTES, 8, kind) {
                        FiberStep::Done => self.check_effect(cpu, line, kind, granted),
                        FiberStep::Again => continue,
                        FiberStep::Wait => return,
                    }
                }
                Action::Work(ps) => self.engine.work(cpu, ps),
                Action::Membarrier | Action::Wake(..) if !self.engine.is_in_turn(cpu) => return,
                Action::Membarrier => _ = self.engine.interrupt_others(cpu),
                Action::Wake(line, most) => {
                    self.engine.wake(cpu, line, most);
                }
                Action::Sleep(line) => {
                    self.engine.block(cpu, line);
                    self.at[cpu] += 1;
                    return;
                }
            }
            self.at[cpu] += 1;
        }
        self.engine.cpus[cpu].status = Status::Finished;
    }

    /// What has left the store buffers was written by the line's owner.
    fn check_drained(&mut self, before: &[StoreBuffer]) {
        for (thread, before) in before.iter().enumerate() {
            let left = self.engine.buffers[thread].0.len();
            // Stores may have come, but the thread's and its buffer's turns are different events.
            let gone = before.0.len().saturating_sub(left);
            if let Some((address, _)) = gone.checked_sub(1).map(|last| before.0[last]) {
                let buffer = thread + self.engine.plan.threads;
                self.check_effect(buffer, address / LINE_BYTES - 1, HeatKind::Store, None);
            }
        }
    }

    /// One writer or many readers, in the order of simulated time.
    fn check_effect(&mut self, cpu: usize, line: usize, kind: HeatKind, granted: Option<Granted>) {
        let engine = &self.engine;
        let is_behind = |buffer: &StoreBuffer| buffer.holds((line + 1) * LINE_BYTES, 8);
        if engine.buffers.get(cpu).is_some_and(is_behind) {
            assert!(
                matches!(kind, HeatKind::Load | HeatKind::Buffered),
                "{kind:?} overtakes a store"
            );
            return;
        }
        let id = engine.places[&(line + 1)];
        let (core, holder) = (engine.cpus[cpu].core, &engine.lines[id as usize].holder);
        let is_there = match granted {
            Some(Granted::Read) => kind == HeatKind::Load,
            Some(Granted::Far(_)) => kind == HeatKind::Add && *holder == LineHolder::Home,
            None | Some(Granted::Own) => match holder {
                LineHolder::Owner(owner) => *owner == core,
                LineHolder::Shared(sharers, _) => kind == HeatKind::Load && sharers.contains(core),
                _ => false,
            },
        };
        assert!(is_there, "{kind:?} by cpu {cpu} on core {core} of {holder:?}, {granted:?}");
        if matches!(granted, Some(Granted::Read)) {
            // A copy that was on its way while the line went on shows the value at its arrival.
            return;
        }
        let began = engine.cpus[cpu].began;
        let seen = &mut self.effects[line];
        assert!(began >= seen.written, "cpu {cpu} sees at {began} what comes later: {seen:?}");
        if kind == HeatKind::Load {
            seen.read = seen.read.max(began);
        } else {
            assert!(
                began >= seen.read,
                "cpu {cpu} writes at {began} what was read later: {seen:?}"
            );
            seen.written = began;
        }
    }

    /// Every CPU waits for one thing, and every line will serve its waiters.
    fn check(&self) {
        let Self { engine, .. } = self;
        let mut waits = vec![0; engine.cpus.len()];
        let mut comes = vec![0; engine.lines.len()];
        let mut works = vec![0; engine.lines.len()];
        let mut moves = vec![0; engine.lines.len()];
        let mut grants = vec![0; engine.lines.len()];
        for (at, event) in engine.events.all() {
            assert!(at >= engine.now, "{event:?} at {at} is over at {}", engine.now);
            match event {
                EngineEvent::Resume(cpu) => {
                    waits[cpu] += 1;
                    assert_eq!(engine.cpus[cpu].status, Status::Running);
                }
                EngineEvent::Arrive(line, request) => {
                    waits[request.cpu] += 1;
                    comes[line as usize] += 1;
                    assert_eq!(engine.cpus[request.cpu].status, Status::Missing(line));
                }
                EngineEvent::Grant(line) => {
                    grants[line as usize] += 1;
                    assert_eq!(engine.lines[line as usize].grant_at, Some(at));
                }
                EngineEvent::Free(line) => works[line as usize] += 1,
                EngineEvent::Deliver(line, cpu, delivery) => {
                    waits[cpu] += 1;
                    // A copy on its way still reads the line's value.
                    comes[line as usize] += u32::from(delivery == Delivery::Copy);
                    works[line as usize] += u32::from(delivery != Delivery::Copy);
                    moves[line as usize] += u32::from(delivery == Delivery::Own);
                    assert_eq!(engine.cpus[cpu].status, Status::Missing(line));
                    assert!(engine.cpus[cpu].granted.is_none());
                }
            }
        }
        for (id, line) in engine.lines.iter().enumerate() {
            for request in &line.queue {
                waits[request.cpu] += 1;
                let state = &engine.cpus[request.cpu];
                assert_eq!(state.status, Status::Missing(u32::try_from(id).unwrap()));
                assert!(state.granted.is_none());
            }
            assert_eq!(line.coming, comes[id]);
            assert_eq!(u32::from(line.busy), works[id], "{line:?}");
            assert_eq!(usize::from(line.grant_at.is_some()), grants[id], "{line:?}");
            let is_moving = line.holder == LineHolder::Moving;
            let is_owned = matches!(line.holder, LineHolder::Owner(_));
            assert!(
                if is_moving { moves[id] == 1 } else { moves[id] == 0 || is_owned },
                "{line:?}"
            );
            let is_served = line.queue.is_empty() || line.busy || line.grant_at.is_some();
            assert!(is_served, "no request is served on {line:?}");
        }
        for (thread, buffer) in engine.buffers.iter().enumerate() {
            let drains = engine.cpus[thread + engine.plan.threads].status != Status::Finished;
            assert_eq!(drains, !buffer.0.is_empty());
            let is_short = |left| buffer.0.len() <= left;
            let goes_on =
                !matches!(engine.cpus[thread].status, Status::Draining(left) if is_short(left));
            assert!(goes_on, "cpu {thread} waits for its buffer for ever");
        }
        for (cpu, waits) in waits.into_iter().enumerate() {
            let status = engine.cpus[cpu].status;
            let rests =
                matches!(status, Status::Blocked(_) | Status::Finished | Status::Draining(_));
            assert_eq!(waits, usize::from(!rests), "cpu {cpu} is {status:?}");
            let sleeps = engine.sleepers.iter().filter(|sleeper| sleeper.0 == cpu).count();
            assert_eq!(sleeps, usize::from(matches!(status, Status::Blocked(_))), "cpu {cpu}");
        }
    }
}

#[test]
fn lines_have_one_writer_or_many_readers_and_nobody_is_forgotten() {
    for seed in 0..4_000 {
        let run = std::panic::catch_unwind(|| Test::new(seed).run());
        assert!(run.is_ok(), "seed {seed}");
    }
}
