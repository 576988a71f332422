use crate::cpu::Cpu;
use crate::engine::context::{self, Beat};
use crate::engine::{EnginePlan, MemberRange};
use crate::error::SimulationError;
use crate::machine::{FOREVER, Machine, Ps, ps};
use crate::report::SimulationReport;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Made by [`Machine::simulation`].
#[derive(Debug, Clone)]
pub struct Simulation {
    machine: Machine,
    threads: usize,
    warm_up_ns: f64,
    duration_ns: f64,
    limit_ns: Option<f64>,
    seed: u64,
    stack_bytes: usize,
    patience: Duration,
    members: Vec<MemberRange>,
    warm: bool,
}

impl Machine {
    /// A simulation of `threads` threads, each on a CPU of its own.
    #[must_use]
    pub fn simulation(&self, threads: usize) -> Simulation {
        Simulation {
            machine: self.clone(),
            threads,
            warm_up_ns: 20_000.0,
            duration_ns: 200_000.0,
            limit_ns: None,
            seed: 1,
            stack_bytes: 256 << 10,
            patience: Duration::from_secs(10),
            members: Vec::new(),
            warm: false,
        }
    }

    /// Runs `thread` on `threads` CPUs for 200 simulated microseconds after a warm-up of 20; see [`Simulation::run`].
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`].
    pub fn run(
        &self,
        threads: usize,
        thread: impl Fn(&Cpu) + Send + 'static,
    ) -> Result<SimulationReport, SimulationError> {
        self.simulation(threads).run(thread)
    }
}

impl Simulation {
    /// The measured time in simulated nanoseconds, after which [`Cpu::running`] is false. Default: 200,000.
    #[must_use]
    pub fn duration_ns(mut self, ns: f64) -> Self {
        self.duration_ns = ns;
        self
    }

    /// Simulated nanoseconds before the measurement. Default: 20,000.
    #[must_use]
    pub fn warm_up_ns(mut self, ns: f64) -> Self {
        self.warm_up_ns = ns;
        self
    }

    /// When to give up, in simulated nanoseconds. Default: 20 times the duration after the end, at least a millisecond.
    #[must_use]
    pub fn limit_ns(mut self, ns: f64) -> Self {
        self.limit_ns = Some(ns);
        self
    }

    /// Begins with every line in the caches of all threads, as if each had read everything. Otherwise all are in memory.
    #[must_use]
    pub fn warm(mut self) -> Self {
        self.warm = true;
        self
    }

    /// The seed of everything random: the same seed, the same report. Default: 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Bytes of each simulated thread's stack, at least 64 KiB. Default: 256 KiB. An overflow ends the process.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes.max(64 << 10);
        self
    }

    /// How long, in real time, a simulated thread may compute without touching simulated memory before it counts as an
    /// endless loop. Default: 10 s.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Names a part of an object, for the report's heat and for errors. Where parts overlap, the smallest counts. The
    /// object must stay where it is.
    #[must_use]
    pub fn member<T: ?Sized>(self, name: impl Into<String>, part: &T) -> Self {
        let address = (&raw const *part).cast::<()>().addr();
        self.member_at(name, address, size_of_val(part))
    }

    /// [`member`](Self::member), by address and size.
    #[must_use]
    pub fn member_at(mut self, name: impl Into<String>, address: usize, bytes: usize) -> Self {
        self.members.push(MemberRange { name: name.into(), address, bytes });
        self
    }

    /// Runs `thread` on every CPU, to the end.
    ///
    /// All simulated threads are fibers of one host thread, made for this run: they share its thread-locals, and must
    /// not wait for host locks and channels. A loop runs [while the CPU is running](Cpu::running), and calls
    /// [`done`](Cpu::done) after each operation.
    ///
    /// A simulated thread may run another simulation, which takes no time of this one and has to end within its
    /// [patience](Self::patience).
    ///
    /// In the end all that `thread` owned is dropped, unless a runaway holds it. Costs some 10 ns of real time for each
    /// access that hits, and ten times as much for one that does not.
    ///
    /// # Errors
    ///
    /// - The machine is invalid, or has fewer CPUs than `threads`.
    /// - No thread can go on ([`SimulationError::Deadlock`]), or time goes on and they do not end ([`SimulationError::Livelock`]); both say
    ///   who waits for what.
    /// - A thread computes for longer than the [patience](Self::patience) and never touches simulated memory
    ///   ([`SimulationError::Runaway`]). Its host thread cannot be stopped and is left behind.
    /// - There is no memory for the threads' stacks.
    ///
    /// # Panics
    ///
    /// If `thread` does, with its panic. The others are unwound first.
    pub fn run(
        self,
        thread: impl Fn(&Cpu) + Send + 'static,
    ) -> Result<SimulationReport, SimulationError> {
        self.machine.check()?;
        let cpus = self.machine.cpus();
        if self.threads == 0 || self.threads > cpus {
            let machine = self.machine.name.clone();
            return Err(SimulationError::Threads { threads: self.threads, machine, cpus });
        }
        let patience = self.patience;
        let plan = self.plan();
        let beat = Beat::new();
        let (sender, receiver) = mpsc::sync_channel(1);
        let its_beat = beat.clone();
        let worker = std::thread::spawn(move || {
            // After the patience there is no receiver.
            let _ = sender
                .send(context::run(plan, its_beat, move |context| thread(&Cpu::new(context))));
        });
        let mut seen = (beat.count(), Instant::now());
        loop {
            match receiver.recv_timeout(patience.min(Duration::from_millis(500))) {
                Ok(result) => {
                    // The report is there; the thread still drops what it was given.
                    if let Err(panic) = worker.join() {
                        std::panic::resume_unwind(panic);
                    }
                    return result;
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => unreachable!("the worker sends before it ends"),
                },
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let count = beat.count();
                    if count != seen.0 {
                        seen = (count, Instant::now());
                    } else if seen.1.elapsed() >= patience {
                        return Err(SimulationError::Runaway { cpu: beat.cpu(), after: patience });
                    }
                }
            }
        }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    pub(crate) fn unmeasured_ns(&self) -> f64 {
        self.warm_up_ns
    }

    pub(crate) fn measured_ns(&self) -> f64 {
        self.duration_ns
    }

    pub(crate) fn seed_of(&self) -> u64 {
        self.seed
    }

    fn plan(self) -> EnginePlan {
        let from = time(self.warm_up_ns);
        let to = from.saturating_add(time(self.duration_ns));
        let limit = match self.limit_ns {
            Some(ns) => time(ns),
            None => to.saturating_add(time(self.duration_ns).saturating_mul(20).max(time(1e6))),
        };
        EnginePlan {
            machine: self.machine,
            threads: self.threads,
            from,
            to,
            limit,
            seed: self.seed,
            stack_bytes: self.stack_bytes,
            members: self.members,
            warm: self.warm,
        }
    }
}

/// Negative times and NaN are 0; infinite ones are cut.
fn time(ns: f64) -> Ps {
    ps(ns.max(0.0)).min(FOREVER / 64)
}
