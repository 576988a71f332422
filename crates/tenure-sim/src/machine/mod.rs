//! Machines: the arrangement of CPUs, and the cost of moving a cache line.
//!
//! A machine is a TOML file; [presets](Machine::preset) are compiled in. Times are in nanoseconds.
//!
//! ```
//! let machine = tenure_sim::Machine::from_toml(
//!     r#"
//!     name = "desk"
//!     about = "One socket of four cores"
//!     sources = ["made up for this example"]
//!
//!     [topology]
//!     sockets = 1
//!     clusters = 1          # groups of cores in a socket that share a cache
//!     cores = 4             # in a cluster
//!     smt = 2               # hardware threads on a core
//!
//!     [latency]             # how long a line takes from one core to another
//!     hit = 1               # a load of a line that the core has
//!     sibling = 8           # between two hardware threads of a core
//!     cluster = [40, 50]    # a range: each transfer draws from it
//!     memory = 90           # a line that no core has
//!
//!     [atomic]
//!     rmw = 6               # a read-modify-write on a line that the core owns
//!     kind = "near"         # or "far", or "reserved" (load-linked, store-conditional)
//!
//!     [contention]
//!     residency = 2         # how long an owner keeps a line that others wait for
//!     "#,
//! )?;
//! assert_eq!(machine.cpus(), 8);
//! # Ok::<(), tenure_sim::SimulationError>(())
//! ```

mod check;
mod open;
mod span;
mod topology;

use crate::error::SimulationError;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

pub use open::{DEFAULT, OpenError, THIS, THIS_FILE, is_file, listed, open, read};
pub use span::TimeRange;
pub(crate) use span::{FOREVER, Ps, ns, ps};
pub(crate) use topology::CoreIndex;
pub use topology::{Distance, Topology};

/// The most CPUs of a machine.
pub const MAX_CPUS: usize = 1024;

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// A simulated machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// Where its figures come from.
    pub sources: Vec<String>,
    /// The arrangement of its CPUs.
    pub topology: Topology,
    /// The cost of moving a line.
    pub latency: Latency,
    /// The cost and the place of read-modify-writes.
    pub atomic: AtomicCost,
    /// Rules for a line that several cores want.
    pub contention: Contention,
    /// The cost of blocking and interrupting.
    #[serde(default)]
    pub kernel: Kernel,
}

/// How long a line takes to arrive if no other CPU wants it, in nanoseconds.
///
/// Core-to-core matrices, which show half of a ping-pong's round trip, are figures to begin with. The simulator's own
/// ping-pong by compare-exchange takes between half of the latency and all of it (0.56 to 0.76 of the published matrix
/// in five of the six comparisons of `docs/validation.md`): each side asks again while the other has the line, so its
/// request waits already (see [`handoff`](Contention::handoff)). By load and store it takes one to two latencies, as
/// the line has to come twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// A load or store that hits the core's own cache.
    pub hit: f64,
    /// Time between hardware threads of one core. Optional if `smt` is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sibling: Option<TimeRange>,
    /// Time between cores of a cluster.
    pub cluster: TimeRange,
    /// Time between clusters of a socket. Optional with one cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<TimeRange>,
    /// Time between sockets. Optional with one socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<TimeRange>,
    /// Time to fetch a line from memory.
    pub memory: TimeRange,
}

/// The cost of a read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtomicCost {
    /// Time on a line that the core owns, in nanoseconds.
    pub rmw: f64,
    /// Where and how it is done.
    pub kind: AtomicKind,
    /// For [`AtomicKind::Far`]: the time of the line's home, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<f64>,
}

/// Where and how a read-modify-write is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomicKind {
    /// In the core's cache, which keeps the line until then (x86; Arm's LSE where the result is used).
    Near,
    /// At the line's home while others want it too, without moving the line; else, and for every compare-exchange, in
    /// the core's cache. Arm's cores do so for additions with unused results (the simulator cannot tell: use `near` for
    /// code that uses results); x86's remote atomics are meant to.
    Far,
    /// By load-linked and store-conditional, which fails if the line was taken in between (POWER, Arm without LSE). The
    /// simulator repeats a failure, and counts it.
    Reserved,
}

/// Rules for a line that several cores want.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// The next core.
    #[serde(default)]
    pub arbitration: Arbitration,
    /// The mean time for which an owner keeps a line that others wait for, in nanoseconds; each stay is drawn evenly
    /// from 0 to twice as much. The access that brought the line is always done, and a read-modify-write that has begun
    /// is finished ([`AtomicKind::Reserved`] excepted).
    pub residency: f64,
    /// The share of a latency that a transfer takes if its request was waiting: the request's own way is over by then.
    #[serde(default = "Contention::default_handoff")]
    pub handoff: f64,
    /// The directory's time for a request that moves no line away, in nanoseconds.
    #[serde(default = "Contention::default_directory")]
    pub directory: f64,
    /// A spin hint, in nanoseconds.
    #[serde(default = "Contention::default_pause")]
    pub pause: f64,
}

impl Contention {
    fn default_handoff() -> f64 {
        0.5
    }
    fn default_directory() -> f64 {
        2.0
    }
    fn default_pause() -> f64 {
        10.0
    }
}

/// The choice of a line's next owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// Any waiter, with equal chances. A compare-exchange loop of N CPUs retries about sqrt(N) times.
    #[default]
    Random,
    /// The first to come. A compare-exchange loop of N CPUs retries N - 1 times.
    Fifo,
}

/// The operating system's costs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kernel {
    /// An empty system call.
    pub system_call: f64,
    /// Time from a wake-up until the woken thread runs.
    pub wake: f64,
    /// What waking a sleeper takes the waker, beside the system call: in a virtual machine, the host's part in the interrupt
    /// to its CPU. The built-in machines have none, as nothing was published for them.
    pub wake_send: f64,
    /// Sending an interrupt to one more CPU.
    pub interrupt_send: f64,
    /// Time from sending an interrupt until its handler runs.
    pub interrupt_latency: f64,
    /// The interrupted CPU's loss.
    pub interrupt_handler: f64,
}

impl Default for Kernel {
    fn default() -> Self {
        Self {
            system_call: 100.0,
            wake: 3_000.0,
            wake_send: 0.0,
            interrupt_send: 50.0,
            interrupt_latency: 800.0,
            interrupt_handler: 500.0,
        }
    }
}

impl Machine {
    /// A built-in machine.
    ///
    /// # Errors
    ///
    /// None has this name; the error lists them.
    pub fn preset(name: &str) -> Result<Self, SimulationError> {
        find(name)
    }

    /// All built-in machines.
    #[must_use]
    pub fn presets() -> Vec<Self> {
        presets().to_vec()
    }

    /// A machine from TOML.
    ///
    /// # Errors
    ///
    /// Not TOML, incomplete, or an invalid machine.
    pub fn from_toml(text: &str) -> Result<Self, SimulationError> {
        let machine: Self =
            toml::from_str(text).map_err(|error| SimulationError::machine_text(&error, text))?;
        machine.check()?;
        Ok(machine)
    }

    /// The text that [`from_toml`](Self::from_toml) reads.
    ///
    /// # Panics
    ///
    /// Never for a machine that [`check`](Self::check) accepts.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a machine is made of numbers and text")
    }

    /// Hardware threads in all.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.topology.cpus()
    }

    /// A line's time over a distance.
    #[must_use]
    pub fn latency(&self, distance: Distance) -> TimeRange {
        let Latency { cluster, socket, remote, memory, .. } = self.latency;
        match distance {
            Distance::Cluster => cluster,
            Distance::Socket => socket.unwrap_or(cluster),
            Distance::Remote => remote.or(socket).unwrap_or(cluster),
            Distance::Memory => memory,
        }
    }
}

const FILES: [&str; 10] = [
    include_str!("../../machines/xeon-2s-112.toml"),
    include_str!("../../machines/epyc-2s-256.toml"),
    include_str!("../../machines/graviton-64.toml"),
    include_str!("../../machines/power8-16s-192.toml"),
    // Those with published measurements, with which the simulator is compared.
    include_str!("../../machines/skylake-4.toml"),
    include_str!("../../machines/graviton2-16.toml"),
    include_str!("../../machines/x86-1s-64.toml"),
    include_str!("../../machines/xeon-2s-80.toml"),
    include_str!("../../machines/epyc-vm-near.toml"),
    include_str!("../../machines/epyc-vm-far.toml"),
];

fn presets() -> &'static [Machine] {
    static ALL: OnceLock<Vec<Machine>> = OnceLock::new();
    let read = |text: &&str| Machine::from_toml(text).expect("a test reads every file");
    ALL.get_or_init(|| FILES.iter().map(read).collect())
}

fn find(name: &str) -> Result<Machine, SimulationError> {
    let found = presets().iter().find(|machine| machine.name == name);
    found.cloned().ok_or_else(|| SimulationError::UnknownMachine {
        name: name.to_owned(),
        known: presets().iter().map(|machine| machine.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_sound_says_its_sources_and_has_a_name_of_its_own() {
        let mut names: Vec<String> = presets()
            .iter()
            .map(|machine| {
                assert!(!machine.sources.is_empty(), "{}", machine.name);
                assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), *machine);
                machine.name.clone()
            })
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FILES.len());
    }
}
