//! Times lock-free code on machines that are not at hand.

mod coherence;
mod cpu;
mod engine;
mod error;
mod heat;
pub mod machine;
mod memory;
mod random;
mod report;
mod simulation;
mod watch;

pub use cpu::Cpu;
pub use error::Error;
pub use machine::Machine;
pub use memory::{Field, Int, Simulated, Word};
pub use report::{Fairness, LineHeat, MemberHeat, Report, Transfers};
pub use simulation::Simulation;
