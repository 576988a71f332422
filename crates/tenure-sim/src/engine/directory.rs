//! A line's home: requests arrive and are granted one after the other, then delivered.

use super::events::{Delivery, EngineEvent};
use super::{Engine, Granted, Status};
use crate::coherence::{LineHolder, LineRequest, Sharers, Want, distance};
use crate::machine::{CoreIndex, Distance};

impl Engine {
    pub(super) fn arrive(&mut self, id: u32, request: LineRequest) {
        let core = self.cpus[request.cpu].core;
        let line = &mut self.lines[id as usize];
        line.coming -= 1;
        // As the CPU will decide: two answers would have it ask again and again.
        if line.is_hit(core, request.want != Want::Read, self.now) {
            // The core's other thread brought it meanwhile.
            self.resume(request.cpu);
        } else {
            line.queue.push(request);
            self.schedule(id);
        }
    }

    pub(super) fn resume(&mut self, cpu: usize) {
        self.cpus[cpu].clock = self.now;
        self.cpus[cpu].status = Status::Running;
        self.events.announce(self.now, EngineEvent::Resume(cpu));
    }

    pub(super) fn schedule(&mut self, id: u32) {
        let line = &mut self.lines[id as usize];
        if line.busy || line.grant_at.is_some() || line.queue.is_empty() {
            return;
        }
        let at = match line.holder {
            LineHolder::Owner(_) => self.now.max(line.held_until).max(line.locked_until),
            _ => self.now,
        };
        line.grant_at = Some(at);
        self.events.announce(at, EngineEvent::Grant(id));
    }

    pub(super) fn grant(&mut self, id: u32) {
        let line = &mut self.lines[id as usize];
        line.grant_at = None;
        if matches!(line.holder, LineHolder::Owner(_)) && line.locked_until > self.now {
            line.grant_at = Some(line.locked_until);
            self.events.announce(line.locked_until, EngineEvent::Grant(id));
            return;
        }
        if line.queue.is_empty() {
            return;
        }
        let request = line.queue.remove(self.costs.next(line.queue.len(), &mut self.random));
        let core = self.cpus[request.cpu].core;
        if line.holder == LineHolder::Owner(core) {
            line.busy = true;
            self.events.announce(self.now, EngineEvent::Deliver(id, request.cpu, Delivery::Own));
            return;
        }
        let distance = distance(&self.plan.machine, &line.holder, core, request.want);
        let mut leg = self.costs.delivery(distance, &mut self.random);
        if request.want == Want::Far {
            // What other cores have comes home first.
            leg = if line.holder == LineHolder::Home { 0 } else { leg } + self.costs.home;
        }
        line.busy = true;
        let delivery = match (request.want, &mut line.holder) {
            (Want::Read, LineHolder::Shared(sharers, last)) => {
                sharers.insert(core);
                *last = core;
                // It reads the value on arrival: no hit may be ahead of that.
                line.coming += 1;
                self.events.announce(self.now + self.costs.directory, EngineEvent::Free(id));
                Delivery::Copy
            }
            (Want::Read, holder @ LineHolder::Owner(_)) => {
                let LineHolder::Owner(owner) = *holder else { unreachable!("it was just matched") };
                *holder = LineHolder::Shared(Sharers::of(owner), owner);
                Delivery::Share
            }
            (Want::Far, holder) => {
                *holder = LineHolder::Home;
                Delivery::Far
            }
            // A line that no CPU has is the reader's alone (MESI's E).
            (Want::Read | Want::Own, holder) => {
                *holder = LineHolder::Moving;
                Delivery::Own
            }
        };
        self.events.announce(self.now + leg, EngineEvent::Deliver(id, request.cpu, delivery));
        if self.is_measured(self.now) {
            let counts = &mut self.lines[id as usize].counts;
            match request.want {
                Want::Far => counts.far += 1,
                _ => counts.transfers[distance as usize] += 1,
            }
        }
    }

    pub(super) fn deliver(&mut self, id: u32, cpu: usize, delivery: Delivery) {
        let core = self.cpus[cpu].core;
        let line = &mut self.lines[id as usize];
        let state = &mut self.cpus[cpu];
        state.clock = self.now;
        state.status = Status::Running;
        match delivery {
            Delivery::Copy => {
                line.coming -= 1;
                state.granted = Some(Granted::Read);
            }
            Delivery::Share => {
                let LineHolder::Shared(sharers, last) = &mut line.holder else {
                    unreachable!("a busy line stays as it is, and this is {:?}", line.holder)
                };
                sharers.insert(core);
                *last = core;
                line.busy = false;
                state.granted = Some(Granted::Read);
            }
            Delivery::Own => {
                line.holder = LineHolder::Owner(core);
                line.busy = false;
                line.user = cpu % self.plan.threads;
                line.was_written = false;
                line.held_until = self.now + self.costs.stay(&mut self.random);
                state.granted = Some(Granted::Own);
            }
            Delivery::Far => {
                let back = self.costs.delivery(Distance::Socket, &mut self.random);
                line.modifier = Some(core);
                line.busy = false;
                state.granted = Some(Granted::Far(back));
            }
        }
        self.answer_siblings(id, core, delivery);
        if delivery != Delivery::Own {
            self.schedule(id);
        }
    }

    /// An arriving line also answers the core's other threads.
    fn answer_siblings(&mut self, id: u32, core: CoreIndex, delivery: Delivery) {
        let mut at = 0;
        while at < self.lines[id as usize].queue.len() {
            let LineRequest { cpu, want } = self.lines[id as usize].queue[at];
            let granted = match (delivery, want) {
                (Delivery::Own, Want::Read | Want::Own) => Granted::Own,
                (Delivery::Copy | Delivery::Share, Want::Read) => Granted::Read,
                _ => {
                    at += 1;
                    continue;
                }
            };
            if self.cpus[cpu].core == core {
                self.lines[id as usize].queue.remove(at);
                self.cpus[cpu].granted = Some(granted);
                self.resume(cpu);
            } else {
                at += 1;
            }
        }
    }
}
