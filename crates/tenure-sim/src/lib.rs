//! Times lock-free code on machines that are not at hand.
//!
//! Code generic over [`tenure::memory::Memory`] runs unchanged on the real machine, on a model checker, and on
//! [`Simulated`] memory, where each access takes the time that a cache-coherence protocol needs on the chosen
//! [`Machine`]. Values are real, addresses decide which words share a line, and a [`SimulationReport`] says how long an operation
//! takes, how often it is retried, how many lines move, and which member of which struct is to blame. It is to
//! performance what loom is to correctness.
//!
//! # From a slow counter to a fast one
//!
//! Two counters, generic over their memory; users get `Stats = StatsIn<Native>`. On a server with 112 CPUs, four of
//! eight threads count hits, the others misses:
//!
//! ```
//! use std::sync::Arc;
//! use tenure::memory::{Atomic, Memory, Native, Ordering::Relaxed};
//! use tenure_sim::{Machine, Simulated};
//!
//! pub struct StatsIn<M: Memory> {
//!     hits: M::AtomicU64,
//!     misses: M::AtomicU64,
//! }
//!
//! pub type Stats = StatsIn<Native>;
//!
//! impl<M: Memory> StatsIn<M> {
//!     pub fn new() -> Self {
//!         Self { hits: Atomic::new(0), misses: Atomic::new(0) }
//!     }
//!
//!     pub fn hit(&self) {
//!         Self::add_one(&self.hits);
//!     }
//!
//!     pub fn miss(&self) {
//!         Self::add_one(&self.misses);
//!     }
//!
//!     fn add_one(counter: &M::AtomicU64) {
//!         let mut seen = counter.load(Relaxed);
//!         while let Err(now) = counter.compare_exchange(seen, seen + 1, Relaxed, Relaxed) {
//!             seen = now;
//!         }
//!     }
//! }
//!
//! Stats::new().hit(); // outside of a simulation
//!
//! let stats = Arc::new(StatsIn::<Simulated>::new());
//! let simulation = Machine::preset("xeon-2s-112")?
//!     .simulation(8)
//!     .duration_ns(50_000.0)
//!     .member("hits", &stats.hits)
//!     .member("misses", &stats.misses);
//! let report = simulation.run(move |cpu| {
//!     while cpu.running() {
//!         if cpu.index() % 2 == 0 { stats.hit() } else { stats.miss() }
//!         cpu.done();
//!     }
//! })?;
//!
//! assert!(report.ns_per_op() > 200.0); // 1.2 ns and an atomic of 6 ns, alone
//! assert!(report.retries_per_op() > 0.3);
//! assert_eq!(report.lines[0].members.len(), 2); // both counters are on one line
//! # Ok::<(), tenure_sim::SimulationError>(())
//! ```
//!
//! Both counters are on the hottest line: threads that count hits wait for threads that count misses (*false sharing*).
//! So each gets a line of its own. And a thread that loses the line between its load and its compare-exchange begins
//! again; an unconditional `fetch_add` cannot fail:
//!
//! ```
//! use std::sync::Arc;
//! use tenure::memory::{Atomic, Memory, Ordering::Relaxed};
//! use tenure_sim::{Machine, Simulated};
//!
//! #[repr(align(64))]
//! struct OwnLine<T>(T);
//!
//! struct StatsIn<M: Memory> {
//!     hits: OwnLine<M::AtomicU64>,
//!     misses: OwnLine<M::AtomicU64>,
//! }
//!
//! type Add = fn(&<Simulated as Memory>::AtomicU64);
//!
//! let time = |add: Add| {
//!     let stats = Arc::new(StatsIn::<Simulated> {
//!         hits: OwnLine(Atomic::new(0)),
//!         misses: OwnLine(Atomic::new(0)),
//!     });
//!     let simulation = Machine::preset("xeon-2s-112")?.simulation(8).duration_ns(50_000.0);
//!     simulation.run(move |cpu| {
//!         while cpu.running() {
//!             add(if cpu.index() % 2 == 0 { &stats.hits.0 } else { &stats.misses.0 });
//!             cpu.done();
//!         }
//!     })
//! };
//! let padded = time(|counter| {
//!     let mut seen = counter.load(Relaxed);
//!     while let Err(now) = counter.compare_exchange(seen, seen + 1, Relaxed, Relaxed) {
//!         seen = now;
//!     }
//! })?;
//! let added = time(|counter| {
//!     counter.fetch_add(1, Relaxed);
//! })?;
//!
//! assert_eq!(padded.lines.len(), 2);
//! assert!(padded.retries_per_op() > 0.0);
//! assert_eq!(added.failed, 0);
//! assert!(added.ns_per_op() < padded.ns_per_op());
//! # Ok::<(), tenure_sim::SimulationError>(())
//! ```
//!
//! The line still moves from core to core. Only a counter per CPU avoids that.
//!
//! # Code to be simulated
//!
//! - It is generic over [`Memory`](tenure::memory::Memory): atomics are `M::AtomicU32` and `M::AtomicU64`, shared
//!   fields without atomics are `M::Plain<T>`, and loops that wait call `M::spin_hint()`. What is private to a thread
//!   costs only what [`Cpu::work`] says.
//! - Objects are made outside, and shared by an `Arc`. A closure that captures a struct itself captures the *fields*
//!   that it uses one by one, and lays them out anew.
//! - The closure runs on every CPU. It loops [while the CPU is running](Cpu::running) or a fixed number of times, calls
//!   [`done`](Cpu::done) after each operation, and returns.
//! - Simulated threads are fibers of one thread of the host and take turns at accesses to simulated memory. Do not hold
//!   a host lock, a `RefCell` borrow, or a borrow of a thread-local across one: the next thread to want it would wait
//!   forever, or panic.
//! - Blocking goes by [`Cpu::wait`] and [`Cpu::wake`].
//! - If a simulation [fails](SimulationError), each thread is unwound from its last access, as if that had panicked. Unsafe code
//!   between two accesses has to allow for that. (With `panic = "abort"`, threads are left as they are.)
//!
//! # Reading a report
//!
//! | if | then | what helps |
//! |---|---|---|
//! | [`retries_per_op`](SimulationReport::retries_per_op) grows with the threads | compare-exchanges lose the line to each other | an operation that cannot fail; back-off |
//! | [`transfers_per_op`](SimulationReport::transfers_per_op) is 1 or more | every operation waits for a line | fewer lines per operation; a copy per CPU |
//! | a [line](SimulationReport::lines) has a hot member that is written and another that is only read | readers miss because of a neighbour | move one of them |
//! | two hot members of a line belong to different operations | false sharing | a line each |
//! | a member's [`waited_ns`](MemberHeat::waited_ns) is most of the threads' time | this is the bottleneck | begin there |
//! | [`fairness.jain`](Fairness::jain) is far below 1 | near cores or owners get everything | look at the slowest, not at the mean |
//! | [`lost_reservations`](SimulationReport::lost_reservations) is high | store-conditionals fail | a machine with real atomics; fewer writers |
//!
//! [`ns_per_op`](SimulationReport::ns_per_op) is one thread's time for an operation while all others do the same;
//! [`mops`](SimulationReport::mops) is the whole machine's throughput. If doubling the threads doubles the one and leaves the
//! other, the code does not scale.
//!
//! # Names
//!
//! [`Simulation::member`] names a part of an object, [`Simulation::member_at`] an address, for the heat of lines and
//! for errors ("cpu 3 waits for the line of head"). Where parts overlap, the smallest counts: name the whole, then the
//! members of interest.
//!
//! # The same every time
//!
//! A report depends on the machine, the program, the [seed](Simulation::seed), and where objects lie *on their lines*;
//! not on the host, its load or clock, other simulations, or addresses as such. Objects that are not aligned, or are
//! allocated during the simulation, may meet on one line in one run only, as in reality. A program that asks for the
//! time, random numbers, or the order of a `HashMap` differs from run to run itself.
//!
//! # What the model leaves out
//!
//! The model is of lines on their way between cores. Figures that depend on anything below are wrong:
//!
//! - **Memory ordering.** Simulated memory is sequentially consistent; all orderings cost the same. loom finds wrong
//!   ones.
//! - **Store buffers**, except in [patterns](pattern). A store to simulated memory waits for its line; on hardware later
//!   loads overtake it.
//! - **Overlap.** Each CPU does one access after the other; hardware has several misses under way.
//! - **Capacity and associativity.** A line leaves a cache only when another core wants it: working sets beyond the
//!   cache look faster than they are.
//! - **Prefetchers**, including that of the adjacent line, for which one pads to 128 bytes.
//! - **Address translation, frequency, bandwidth, and the homes' places** (NUMA).
//! - **Instructions.** Between accesses only [`Cpu::work`] takes time.
//! - **Hardware threads** of one core share its cache and nothing else.
//! - **A scheduler.** Each thread has a CPU of its own throughout.

mod coherence;
mod cpu;
mod engine;
mod error;
mod heat;
pub mod machine;
mod memory;
pub mod pattern;
mod random;
mod report;
mod simulation;

pub use cpu::Cpu;
pub use error::SimulationError;
pub use machine::Machine;
pub use memory::{Int, Simulated, SimulatedField, SimulatedWord};
pub use report::{Fairness, LineHeat, MemberHeat, SimulationReport, Transfers};
pub use simulation::Simulation;
