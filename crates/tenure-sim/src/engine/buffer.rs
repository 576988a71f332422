//! Store buffers: a CPU goes on while its stores wait for their lines.
//!
//! Only what [`HeatKind::Buffered`] says waits here, which is what patterns store. Words of
//! [`Simulated`](crate::Simulated) memory have values, and are sequentially consistent: their stores wait.
//!
//! A buffer drains in order, as on x86, one line at a time. To the lines it is another CPU of the same core, whose number
//! is its CPU's plus the number of threads. A load of what is in the buffer takes a hit; a read-modify-write waits until
//! the buffer is empty.

use super::events::EngineEvent;
use super::{Engine, FiberStep, Status};
use crate::heat::HeatKind;
use std::collections::VecDeque;

/// As Intel's cores have had since Skylake; others have 44 to 72.
const CAPACITY: usize = 56;

/// Addresses and lengths, the oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct StoreBuffer(pub(super) VecDeque<(usize, usize)>);

impl StoreBuffer {
    /// Whether a load finds all that it asks for in one of the stores.
    pub(super) fn holds(&self, address: usize, bytes: usize) -> bool {
        let holds = |&(from, length)| from <= address && address + bytes <= from + length;
        self.0.iter().any(holds)
    }
}

impl Engine {
    /// Of the threads, without their buffers.
    pub(super) fn threads(&self) -> &[super::Cpu] {
        &self.cpus[..self.plan.threads]
    }

    /// Returns the CPU if it is a thread's, which runs; a buffer drains.
    pub(super) fn run(&mut self, cpu: usize) -> Option<usize> {
        let Some(thread) = cpu.checked_sub(self.plan.threads) else { return Some(cpu) };
        while let Some(&(address, bytes)) = self.buffers[thread].0.front() {
            match self.step(cpu, address, bytes, HeatKind::Store) {
                FiberStep::Done => _ = self.buffers[thread].0.pop_front(),
                FiberStep::Wait => return None,
                FiberStep::Again => {}
            }
            self.go_on(thread, self.cpus[cpu].clock);
        }
        self.cpus[cpu].status = Status::Finished;
        None
    }

    fn go_on(&mut self, thread: usize, at: u64) {
        let stores = self.buffers[thread].0.len();
        let state = &mut self.cpus[thread];
        if matches!(state.status, Status::Draining(left) if stores <= left) {
            state.clock = state.clock.max(at);
            state.status = Status::Running;
            self.events.announce(state.clock, EngineEvent::Resume(thread));
        }
    }

    /// Whether this is a thread, and none of its stores waits.
    pub(super) fn is_without_stores(&self, cpu: usize) -> bool {
        self.buffers.get(cpu).is_some_and(|buffer| buffer.0.is_empty())
    }

    /// What an access does because of stores that wait, or is such a store, if anything.
    pub(super) fn step_behind_stores(
        &mut self,
        cpu: usize,
        line: u32,
        address: usize,
        bytes: usize,
        kind: HeatKind,
        hit: bool,
    ) -> Option<FiberStep> {
        let buffer = self.buffers.get(cpu)?;
        match kind {
            _ if buffer.0.is_empty() => {
                let waits = kind == HeatKind::Buffered && !hit;
                waits.then(|| self.buffer(cpu, line, address, bytes))
            }
            HeatKind::Load if buffer.holds(address, bytes) => {
                let start = self.cpus[cpu].clock;
                self.spend(cpu, self.costs.hit);
                self.count(cpu, line, address, bytes, kind, start);
                Some(FiberStep::Done)
            }
            HeatKind::Load => None,
            HeatKind::Buffered if buffer.0.len() < CAPACITY => {
                Some(self.buffer(cpu, line, address, bytes))
            }
            HeatKind::Buffered => Some(self.drain(cpu, CAPACITY - 1)),
            HeatKind::Store | HeatKind::Add | HeatKind::Exchange => Some(self.drain(cpu, 0)),
        }
    }

    /// Puts a store in the buffer. It is counted when it reaches its line.
    fn buffer(&mut self, cpu: usize, line: u32, address: usize, bytes: usize) -> FiberStep {
        let buffer = cpu + self.plan.threads;
        if self.cpus[buffer].status == Status::Finished {
            let clock = self.cpus[cpu].clock;
            self.cpus[buffer].clock = clock;
            self.cpus[buffer].status = Status::Running;
            self.events.announce(clock, EngineEvent::Resume(buffer));
        }
        self.buffers[cpu].0.push_back((address, bytes));
        let state = &mut self.cpus[cpu];
        state.touched = address;
        let start = state.clock;
        if let Some(asked_at) = state.asked_at.take().filter(|_| self.is_measured(start)) {
            self.lines[line as usize].counts.spot(address, bytes).waited += start - asked_at;
        }
        self.spend(cpu, self.costs.hit);
        FiberStep::Done
    }

    /// Waits until no more than `left` stores are in the buffer.
    fn drain(&mut self, cpu: usize, left: usize) -> FiberStep {
        let state = &mut self.cpus[cpu];
        state.asked_at.get_or_insert(state.clock);
        state.status = Status::Draining(left);
        FiberStep::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::{Cpu, SimulationReport};

    #[repr(align(64))]
    struct Line([u8; 64]);

    /// Two CPUs, and the addresses of two lines.
    fn of(does: impl Fn(&Cpu, [usize; 2]) + Send + 'static) -> SimulationReport {
        let lines = Box::leak(Box::new([Line([0; 64]), Line([0; 64])]));
        let at = [0, 1].map(|line| lines[line].0.as_ptr().addr());
        let simulation = Machine::preset("xeon-2s-112").unwrap().simulation(2).warm_up_ns(0.0);
        simulation.run(move |cpu| does(cpu, at)).unwrap()
    }

    /// Nanoseconds of CPU 0, while CPU 1 writes both lines all the time.
    fn beside_a_writer(does: impl Fn(&Cpu, [usize; 2]) + Send + 'static) -> f64 {
        let (taken, takes) = std::sync::mpsc::channel();
        of(move |cpu, at| {
            if cpu.index() == 1 {
                while cpu.now_ns() < 20_000.0 {
                    cpu.access(at[0] + 8, 8, HeatKind::Add);
                    cpu.access(at[1] + 8, 8, HeatKind::Add);
                }
                return;
            }
            cpu.work(2_000.0);
            let start = cpu.now_ns();
            does(cpu, at);
            taken.send(cpu.now_ns() - start).unwrap();
        });
        takes.recv().unwrap()
    }

    #[test]
    fn a_cpu_waits_for_its_stores_when_the_buffer_is_full_and_no_sooner() {
        let stores = |most: usize| {
            beside_a_writer(move |cpu, at| {
                for turn in 0..most {
                    cpu.access(at[turn % 2], 8, HeatKind::Buffered);
                }
            })
        };
        let hit = Machine::preset("xeon-2s-112").unwrap().latency.hit;
        assert!(stores(CAPACITY) <= CAPACITY as f64 * hit + 0.1, "{}", stores(CAPACITY));
        assert!(stores(CAPACITY + 2) > (CAPACITY + 2) as f64 * hit + 5.0);
    }

    #[test]
    fn a_load_finds_what_is_buffered_and_a_read_modify_write_waits_for_it() {
        let after_a_store = |offset: usize, kind| {
            beside_a_writer(move |cpu, at| {
                cpu.access(at[0], 8, HeatKind::Buffered);
                cpu.access(at[0], 8, HeatKind::Buffered);
                cpu.access(at[1], 8, HeatKind::Buffered);
                cpu.access(at[0] + offset, 8, kind);
            })
        };
        let hit = Machine::preset("xeon-2s-112").unwrap().latency.hit;
        assert!(after_a_store(0, HeatKind::Load) <= 4.0 * hit + 0.1);
        assert!(after_a_store(16, HeatKind::Load) > 10.0 * hit);
        assert!(after_a_store(0, HeatKind::Add) > 10.0 * hit);
    }

    #[test]
    fn every_store_reaches_its_line_in_the_end() {
        let report = of(|cpu, at| {
            for turn in 0..100 {
                cpu.access(at[turn % 2] + 8 * cpu.index(), 8, HeatKind::Buffered);
            }
        });
        let stores: u64 =
            report.lines.iter().flat_map(|line| &line.members).map(|member| member.stores).sum();
        assert_eq!(stores, 200);
    }
}
