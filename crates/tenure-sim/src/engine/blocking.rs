use super::{Engine, EngineEvent, Status};

impl Engine {
    /// Whether everything earlier than this CPU's time has happened; if not, it waits. Effects of one CPU on another
    /// happen in turn, so that none reaches a CPU that is behind.
    pub(crate) fn is_in_turn(&mut self, cpu: usize) -> bool {
        let clock = self.serve_interrupts(cpu);
        if clock > self.plan.limit {
            self.overrun = true;
            return false;
        }
        let is_in_turn = self.events.next_at().is_none_or(|next| next >= clock);
        if !is_in_turn {
            self.events.announce(clock, EngineEvent::Resume(cpu));
        }
        is_in_turn
    }

    pub(crate) fn block(&mut self, cpu: usize, address: usize) {
        self.system_call(cpu);
        self.cpus[cpu].touched = address;
        self.cpus[cpu].status = Status::Blocked(address);
        self.sleepers.push_back((cpu, address));
    }

    pub(crate) fn system_call(&mut self, cpu: usize) {
        self.spend(cpu, self.costs.system_call);
    }

    /// Wakes up to `most` sleepers, in their order. Returns how many.
    pub(crate) fn wake(&mut self, cpu: usize, address: usize, most: usize) -> usize {
        self.system_call(cpu);
        let at = self.cpus[cpu].clock + self.costs.wake;
        let mut woken = 0;
        let mut left = std::mem::take(&mut self.sleepers);
        left.retain(|&(sleeper, its)| {
            if its != address || woken == most {
                return true;
            }
            woken += 1;
            // It has slept since before this call: it is this CPU's turn.
            self.cpus[sleeper].clock = at.max(self.cpus[sleeper].clock);
            self.cpus[sleeper].status = Status::Running;
            self.events.announce(self.cpus[sleeper].clock, EngineEvent::Resume(sleeper));
            false
        });
        self.sleepers = left;
        self.spend(cpu, self.costs.wake_send * woken as u64);
        woken
    }

    /// Interrupts every other running CPU, and waits until all have served it. Returns how many. For the costs see
    /// [`Cpu::membarrier`](crate::Cpu::membarrier).
    pub(crate) fn interrupt_others(&mut self, cpu: usize) -> usize {
        let mut interrupted = 0;
        for other in 0..self.plan.threads {
            let is_awake = match self.cpus[other].status {
                Status::Running | Status::Missing(_) | Status::Draining(_) => true,
                Status::Blocked(_) => false,
                Status::Finished => self.cpus[other].clock > self.cpus[cpu].clock,
            };
            if other != cpu && is_awake {
                self.cpus[other].stolen += self.costs.interrupt_handler;
                interrupted += 1;
            }
        }
        let mut cost = self.costs.system_call;
        if interrupted > 0 {
            cost += self.costs.interrupt_send * interrupted as u64
                + self.costs.interrupt_latency
                + self.costs.interrupt_handler;
        }
        if self.is_measured(self.cpus[cpu].clock) {
            self.interrupts += interrupted as u64;
        }
        self.spend(cpu, cost);
        interrupted
    }
}
