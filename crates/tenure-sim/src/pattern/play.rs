//! A pattern at work: each simulated thread does the steps of its role.

use super::check::Effort;
use super::{Copies, Operation, Pattern, PatternAccess};
use crate::cpu::Cpu;
use crate::error::SimulationError;
use crate::heat::HeatKind;
use crate::random::Random;
use crate::report::SimulationReport;
use crate::simulation::Simulation;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What a pattern takes on a machine.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// One for each role, in their order.
    pub roles: Vec<RoleTime>,
    /// The figures of all of them. Its operations are iterations.
    pub report: SimulationReport,
}

/// What the threads of a role take.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RoleTime {
    /// The role's name.
    pub name: String,
    /// How many threads it had.
    pub threads: usize,
    /// Their iterations in the measured time.
    pub iterations: u64,
    /// Nanoseconds of an iteration; infinite if none ended.
    pub ns_per_iteration: f64,
}

/// Iterations that the slowest role shall have time for ...
const ITERATIONS: f64 = 20.0;
/// ... unless all threads together would do more accesses than this.
const MAX_ACCESSES: f64 = 4e6;
/// Accesses from which on a throughput may have settled, ...
const MIN_SETTLED_ACCESSES: f64 = 16e3;
/// ... which it has where twice the time changes it by no more.
const SETTLED: f64 = 0.01;
/// The longest job.
const MAX_JOB_NS: f64 = 1e10;
/// Words whose names reports know.
const MAX_NAMES: usize = 1024;

impl Pattern {
    /// Simulates it with a thread on each of the simulation's CPUs, or on fewer if no role grows with them. Where the
    /// simulation's time is short for a role's iterations, it is made longer, in bounds.
    ///
    /// # Errors
    ///
    /// The pattern cannot be simulated or needs more CPUs, or as [`Simulation::run`]: locks can be taken in a deadly
    /// order.
    pub fn simulate(&self, simulation: Simulation) -> Result<Prediction, SimulationError> {
        let roles = self.staffed(&simulation)?;
        let simulation = self.timed(simulation, &roles);
        self.predicted(simulation, &roles)
    }

    /// As [`simulate`](Self::simulate), in fewer accesses: it begins with a short time, and takes longer ones until two in
    /// a row give the same throughput within 1 %, or the next might do more than `most_accesses`. Where the threads of a role
    /// have then not done as many operations as they are, it goes on as long as [`simulate`](Self::simulate), unless that is too
    /// short for one.
    ///
    /// # Errors
    ///
    /// As [`simulate`](Self::simulate).
    pub fn simulate_until_settled(
        &self,
        simulation: Simulation,
        most_accesses: u64,
    ) -> Result<Prediction, SimulationError> {
        let roles = self.staffed(&simulation)?;
        let accesses_per_ns = self.accesses_per_ns(&simulation, &roles);
        let simulation = self.timed(simulation, &roles);
        let (warm_up, whole) = (simulation.unmeasured_ns(), simulation.measured_ns());
        let efforts = self.efforts(&simulation);
        let mut part =
            (MIN_SETTLED_ACCESSES / 4.0 / (accesses_per_ns * (warm_up + whole))).min(1.0);
        let mut before = 0.0;
        loop {
            let timed = simulation.clone().warm_up_ns(warm_up * part).duration_ns(whole * part);
            let prediction = self.predicted(timed, &roles)?;
            let now = &prediction.report;
            let (mops, accesses) = (now.mops(), now.simulated as f64);
            // The total says nothing of a rare role beside others that have done much.
            let mut of_roles = prediction.roles.iter().zip(&efforts);
            let has_begun = of_roles.all(|(role, effort)| {
                role.iterations >= role.threads as u64 || effort.ns > warm_up + whole
            });
            let is_settled =
                accesses >= MIN_SETTLED_ACCESSES && (mops - before).abs() <= SETTLED * mops;
            let most = if has_begun { most_accesses as f64 } else { MAX_ACCESSES };
            if part >= 1.0 || (has_begun && is_settled) || accesses * 2.0 > most {
                return Ok(prediction);
            }
            before = mops;
            // Where threads wait for each other, the first time was short.
            part = (part * (MIN_SETTLED_ACCESSES / accesses).clamp(2.0, 16.0)).min(1.0);
        }
    }

    fn predicted(
        &self,
        simulation: Simulation,
        roles: &[usize],
    ) -> Result<Prediction, SimulationError> {
        let report = self.run(simulation, roles, u64::MAX)?;
        let times = self.roles.iter().enumerate().map(|(role, it)| {
            let threads = || roles.iter().zip(&report.per_thread).filter(|(its, _)| **its == role);
            let iterations = threads().map(|(_, &operations)| operations).sum();
            let count = threads().count();
            RoleTime {
                name: it.name.clone(),
                threads: count,
                iterations,
                ns_per_iteration: report.ns * count as f64 / iterations as f64,
            }
        });
        Ok(Prediction { roles: times.collect(), report })
    }

    /// Simulated nanoseconds until every thread has done so many iterations: a job of equal parts. At most ten
    /// seconds.
    ///
    /// # Errors
    ///
    /// As [`simulate`](Self::simulate).
    pub fn job_ns(&self, simulation: Simulation, iterations: u64) -> Result<f64, SimulationError> {
        let roles = self.staffed(&simulation)?;
        let simulation = simulation.warm_up_ns(0.0).duration_ns(MAX_JOB_NS);
        Ok(self.run(simulation, &roles, iterations)?.ns)
    }

    /// The role of each thread.
    fn staffed(&self, simulation: &Simulation) -> Result<Vec<usize>, SimulationError> {
        self.check()?;
        let (cpus, roles) = (simulation.threads(), self.least_cpus());
        if cpus < roles {
            let what = format!("it has {roles} roles and needs as many CPUs, not {cpus}");
            return Err(SimulationError::Pattern { line: None, what });
        }
        Ok(self.assigned(cpus))
    }

    fn run(
        &self,
        simulation: Simulation,
        roles: &[usize],
        iterations: u64,
    ) -> Result<SimulationReport, SimulationError> {
        let simulation = simulation.with_threads(roles.len());
        let stage = RoleStage::new(self, roles, simulation.seed_of());
        let simulation = stage.named(self, simulation);
        let (pattern, roles) = (self.clone(), roles.to_vec());
        simulation.run(move |cpu| stage.play(&pattern, &roles, iterations, cpu))
    }

    /// With time for the slowest role's iterations, unless all threads together would do too many accesses.
    fn timed(&self, simulation: Simulation, roles: &[usize]) -> Simulation {
        let efforts = self.efforts(&simulation);
        let longest = efforts.iter().map(|effort| effort.ns).fold(0.0, f64::max);
        let most = MAX_ACCESSES / self.accesses_per_ns(&simulation, roles);
        let ns = simulation.measured_ns();
        simulation.duration_ns(ns.max((ITERATIONS * longest).min(most)))
    }

    /// What an iteration of each role costs at least.
    fn efforts(&self, simulation: &Simulation) -> Vec<Effort> {
        let machine = simulation.machine();
        let (hit, rmw) = (machine.latency.hit, machine.atomic.rmw);
        self.roles.iter().map(|role| self.effort(&role.steps, hit, rmw)).collect()
    }

    /// What all threads do together at most.
    fn accesses_per_ns(&self, simulation: &Simulation, roles: &[usize]) -> f64 {
        let efforts = self.efforts(simulation);
        roles.iter().map(|&role| efforts[role].accesses / efforts[role].ns).sum()
    }
}

/// Addresses and values.
struct RoleStage {
    bases: Vec<usize>,
    /// Of each thread and object: its place among the threads that use the object.
    ranks: Vec<Vec<usize>>,
    /// Threads that use each object.
    users: Vec<usize>,
    /// How often each word was written, by address: what a compare-exchange compares.
    written: RefCell<FxHashMap<usize, u64>>,
    /// The states of locks.
    locks: RefCell<FxHashMap<usize, SimulatedLock>>,
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum SimulatedLock {
    #[default]
    Free,
    Held,
    /// Others may sleep on it.
    Wanted,
}

/// A step of one thread.
struct RoleStep<'a> {
    access: &'a PatternAccess,
    /// Fraction of the next time that has accumulated.
    due: f64,
    inside: Vec<RoleStep<'a>>,
}

impl<'a> RoleStep<'a> {
    fn all(steps: &'a [PatternAccess], phase: &mut impl FnMut() -> f64) -> Vec<Self> {
        // Steps that are done equally often are done in the same iterations.
        let mut phases: FxHashMap<u64, f64> = FxHashMap::default();
        let mut due = |times: f64| {
            let is_whole = times.fract() == 0.0;
            if is_whole { 0.0 } else { *phases.entry(times.to_bits()).or_insert_with(&mut *phase) }
        };
        let step =
            |access: &'a PatternAccess| Self { access, due: due(access.times), inside: Vec::new() };
        let mut all: Vec<Self> = steps.iter().map(step).collect();
        for step in &mut all {
            step.inside = Self::all(step.access.operation.inside(), phase);
        }
        all
    }

    /// How often to do it now.
    fn times(&mut self) -> u64 {
        self.due += self.access.times;
        let whole = self.due.floor();
        self.due -= whole;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e5")]
        let times = whole as u64;
        times
    }
}

impl RoleStage {
    fn new(pattern: &Pattern, roles: &[usize], seed: u64) -> Self {
        let uses: Vec<Vec<bool>> =
            (0..pattern.roles.len()).map(|role| pattern.uses(role)).collect();
        let mut users = vec![0; pattern.objects.len()];
        let mut ranks = Vec::with_capacity(roles.len());
        for &role in roles {
            ranks.push(users.clone());
            for (count, used) in users.iter_mut().zip(&uses[role]) {
                *count += usize::from(*used);
            }
        }
        Self {
            bases: pattern.bases(roles.len()),
            ranks,
            users,
            written: RefCell::default(),
            locks: RefCell::default(),
            seed,
        }
    }

    /// Names the words for the report, each by one name in all copies.
    fn named(&self, pattern: &Pattern, mut simulation: Simulation) -> Simulation {
        let copies = |object| pattern.copies(object, self.users[object]);
        let mut left = MAX_NAMES;
        for copy in 0..MAX_NAMES {
            for (at, word) in pattern.words.iter().enumerate() {
                if left > 0 && copy < copies(word.object) {
                    let address = self.address(pattern, at, copy);
                    simulation = simulation.member_at(&*word.name, address, word.bytes);
                    left -= 1;
                }
            }
        }
        simulation
    }

    fn address(&self, pattern: &Pattern, word: usize, copy: usize) -> usize {
        let word = &pattern.words[word];
        self.bases[word.object] + copy * pattern.objects[word.object].stride + word.offset
    }

    /// What one thread does until the time is over, or it has done so many iterations.
    fn play(&self, pattern: &Pattern, roles: &[usize], iterations: u64, cpu: &Cpu) {
        let thread = cpu.index();
        let role = &pattern.roles[roles[thread]];
        let mut random =
            Random::new(self.seed ^ (thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut steps =
            RoleStep::all(&role.steps, &mut || random.below(1 << 20) as f64 / f64::from(1 << 20));
        let used = pattern.uses(roles[thread]);
        let copied = used.iter().enumerate().filter(|(_, used)| **used).map(|(object, _)| object);
        let copied: Vec<usize> = copied.collect();
        let mut player =
            Player { pattern, stage: self, cpu, chosen: vec![0; pattern.objects.len()] };
        let mut iteration = 0;
        while cpu.running() && iteration < iterations {
            for &object in &copied {
                let rank = self.ranks[thread][object];
                player.chosen[object] = match pattern.objects[object].copies {
                    Copies::Once => 0,
                    Copies::PerThread => rank,
                    Copies::Random(copies) => random.below(copies),
                    Copies::InTurn(copies) => {
                        // Threads begin as far from each other as they can.
                        (rank * copies / self.users[object] + (iteration % copies as u64) as usize)
                            % copies
                    }
                };
            }
            if player.all(&mut steps, true) {
                cpu.done();
            }
            iteration += 1;
        }
    }
}

struct Player<'a> {
    pattern: &'a Pattern,
    stage: &'a RoleStage,
    cpu: &'a Cpu,
    /// The copy of each object that this iteration uses.
    chosen: Vec<usize>,
}

impl Player<'_> {
    /// Does `steps` once; if they may be left unfinished, until the time is over. Returns whether all are done.
    fn all(&self, steps: &mut [RoleStep<'_>], may_stop: bool) -> bool {
        for step in steps {
            for _ in 0..step.times() {
                if may_stop && !self.cpu.running() {
                    return false;
                }
                self.one(step);
            }
        }
        true
    }

    fn one(&self, step: &mut RoleStep<'_>) {
        let at = |word: usize| {
            let copy = self.chosen[self.pattern.words[word].object];
            (self.stage.address(self.pattern, word, copy), self.pattern.words[word].bytes)
        };
        match step.access.operation {
            Operation::Work(ns) => self.cpu.work(ns),
            Operation::Load(word) => self.access(at(word), HeatKind::Load),
            Operation::LoadAll(word) => {
                let object = self.pattern.words[word].object;
                let bytes = self.pattern.words[word].bytes;
                for copy in 0..self.pattern.copies(object, self.stage.users[object]) {
                    let address = self.stage.address(self.pattern, word, copy);
                    self.access((address, bytes), HeatKind::Load);
                }
            }
            Operation::Store(word) => self.write(at(word), HeatKind::Buffered),
            Operation::Add(word) => self.write(at(word), HeatKind::Add),
            Operation::CompareExchange(word) => self.compare_exchange(at(word)),
            Operation::Lock(word, _) => {
                self.lock(at(word));
                self.all(&mut step.inside, false);
                self.unlock(at(word));
            }
        }
    }

    fn access(&self, (address, bytes): (usize, usize), kind: HeatKind) {
        self.cpu.access(address, bytes, kind);
    }

    fn write(&self, at: (usize, usize), kind: HeatKind) {
        self.access(at, kind);
        *self.stage.written.borrow_mut().entry(at.0).or_default() += 1;
    }

    fn compare_exchange(&self, at: (usize, usize)) {
        let written = || self.stage.written.borrow().get(&at.0).copied();
        self.access(at, HeatKind::Load);
        let mut seen = written();
        loop {
            self.access(at, HeatKind::Exchange);
            let now = written();
            if now == seen {
                *self.stage.written.borrow_mut().entry(at.0).or_default() += 1;
                return;
            }
            self.cpu.failed(at.0, at.1);
            seen = now;
        }
    }

    /// As std's `Mutex` on a futex does it.
    fn lock(&self, at: (usize, usize)) {
        if self.exchange(at, SimulatedLock::Free, SimulatedLock::Held) {
            return;
        }
        // A thread that has waited cannot know of others, and leaves the lock marked as wanted.
        let mut mark = SimulatedLock::Held;
        loop {
            match self.spin(at) {
                SimulatedLock::Free => return self.take(at, mark),
                SimulatedLock::Held
                    if self.swap(at, SimulatedLock::Wanted) == SimulatedLock::Free =>
                {
                    return;
                }
                SimulatedLock::Held | SimulatedLock::Wanted => {}
            }
            self.cpu.wait_at(at.0, || {
                self.access(at, HeatKind::Load);
                self.state(at) == SimulatedLock::Wanted
            });
            mark = SimulatedLock::Wanted;
        }
    }

    /// Takes a lock that a spinning thread has just seen free. The owner seldom comes first: processors ask for the line of an
    /// atomic instruction that is foreseen, so the spinner's read brings the line for it as well. Of std's `Mutex`, two threads
    /// that do nothing else sleep once in 1,600 times on an Intel Xeon.
    fn take(&self, at: (usize, usize), to: SimulatedLock) {
        self.stage.locks.borrow_mut().insert(at.0, to);
        self.access(at, HeatKind::Exchange);
    }

    fn unlock(&self, at: (usize, usize)) {
        if self.swap(at, SimulatedLock::Free) == SimulatedLock::Wanted {
            self.cpu.wake_at(at.0, 1);
        }
    }

    /// Waits a while for the owner to unlock, unless others sleep already.
    fn spin(&self, at: (usize, usize)) -> SimulatedLock {
        for _ in 0..100 {
            self.access(at, HeatKind::Load);
            let seen = self.state(at);
            if seen != SimulatedLock::Held {
                return seen;
            }
            self.cpu.pause();
        }
        SimulatedLock::Held
    }

    fn state(&self, at: (usize, usize)) -> SimulatedLock {
        self.stage.locks.borrow().get(&at.0).copied().unwrap_or_default()
    }

    fn swap(&self, at: (usize, usize), to: SimulatedLock) -> SimulatedLock {
        self.access(at, HeatKind::Add);
        self.stage.locks.borrow_mut().insert(at.0, to).unwrap_or_default()
    }

    fn exchange(&self, at: (usize, usize), from: SimulatedLock, to: SimulatedLock) -> bool {
        self.access(at, HeatKind::Exchange);
        let is_equal = self.state(at) == from;
        if is_equal {
            self.stage.locks.borrow_mut().insert(at.0, to);
        } else {
            self.cpu.failed(at.0, at.1);
        }
        is_equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::pattern::{PatternObject, PatternRole};

    #[test]
    fn steps_that_are_done_equally_often_are_done_in_the_same_iterations() {
        // Once in ten iterations a thread adds to one word and stores to the other, on one line.
        let of = |times: f64| {
            let mut pattern = Pattern::new("p");
            let object = pattern.object(PatternObject::once("it"));
            let words = [0, 8].map(|at| pattern.word(object, format!("w{at}"), at, 8));
            pattern.role(
                PatternRole::pool("worker")
                    .does(1.0, Operation::Work(100.0))
                    .does(0.1, Operation::Add(words[0]))
                    .does(times, Operation::Store(words[1])),
            );
            let machine = Machine::preset("xeon-2s-112").unwrap();
            let simulation = machine.simulation(16).duration_ns(50_000.0);
            pattern.simulate(simulation).unwrap().report.transfers_per_op()
        };
        // The second access finds the line that the first has fetched.
        let (together, apart) = (of(0.1), of(0.099));
        assert!(apart > 1.25 * together, "{together} and {apart} transfers per iteration");
    }
}
