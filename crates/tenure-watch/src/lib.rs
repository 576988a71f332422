//! Watches a running process, unmodified, and finds the cache lines that its threads contend for.
//!
//! It takes no performance counters and no other build. A clock interrupts running threads, right after an instruction that
//! waited for a line, and breakpoints in the other threads say who else touches it. `docs/watch.md` describes the method and its limits.
//!
//! It works on Linux on x86-64. On aarch64 it has run on an emulated machine, and not on hardware. Elsewhere this crate is empty.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod arch;
mod backend;
mod breakpoints;
mod callers;
mod check;
mod code;
mod cost;
mod goroutines;
mod heap;
mod jit;
mod lanes;
mod launch;
mod lines;
mod own;
mod report;
mod session;
mod sys;
mod waits;
mod walk;

use std::ffi::OsString;
use std::time::Duration;

pub use check::check;
pub use launch::{Started, watch};
pub use report::report;
pub use session::Session;
pub use tenure_analyze::Programs;
pub use tenure_debuginfo::Error;
use tenure_model::Coverage;
use tenure_model::recording::Recording;

/// What to watch, and how.
#[derive(Debug, Clone)]
pub struct WatchRequest {
    /// The process, or a program to start.
    pub target: WatchTarget,
    /// How long; to the program's end if there is none.
    pub duration: Option<Duration>,
    /// How often.
    pub options: WatchOptions,
}

/// How often threads are sampled, and lines probed.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchOptions {
    /// Samples a second of each thread that runs.
    pub rate: u64,
    /// Probes by breakpoints a second, at most.
    pub probes: f64,
    /// Probes may take so much of the program's processor time, as a part of it, and as much again of the time of its CPUs for
    /// themselves. What a breakpoint and a hit take of the program was measured at the start.
    pub share: f64,
    /// Bytes of a line: 64 or 128.
    pub line_bytes: u32,
    /// Functions that are passed over to those who call them, as wrappers of locks are: see [`Programs::through`].
    pub through: Vec<String>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { rate: 100, probes: 20.0, share: 0.005, line_bytes: 64, through: Vec::new() }
    }
}

/// The program to watch.
#[derive(Debug, Clone)]
pub enum WatchTarget {
    /// One that runs.
    Process(u32),
    /// One to start, with its arguments.
    Command(Vec<OsString>),
}

/// What was watched.
#[derive(Debug)]
pub struct WatchOutcome {
    /// What threads did, estimated from samples and hits.
    pub recording: Recording,
    /// The program, as a reader calls it.
    pub name: String,
    /// What watching did.
    pub counts: WatchCounts,
    /// How much of the program could be seen.
    pub coverage: Coverage,
    /// What that took of the program each time.
    pub cost: Cost,
    /// Processor time that watching took in other processes than the program.
    pub own: Duration,
    /// Whether ptrace did all, since the kernel refuses perf events.
    pub is_traced: bool,
    /// The program, if it was started and still runs.
    pub started: Option<Started>,
}

/// What watching takes of a thread that runs, in seconds, as measured on this machine at the start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// A sample.
    pub sample_s: f64,
    /// Breakpoints that are set and taken away.
    pub arm_s: f64,
    /// A hit.
    pub trap_s: f64,
}

/// What watching did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchCounts {
    /// Samples.
    pub samples: u64,
    /// Samples whose access is known.
    pub attributed: u64,
    /// Samples that accessed memory at an address that is lost.
    pub unaddressed: u64,
    /// Probes of lines by breakpoints.
    pub probes: u64,
    /// Threads that had breakpoints, in all probes together.
    pub armed: u64,
    /// Breakpoints that were hit.
    pub traps: u64,
    /// Signals that would have ended the program, since the hypervisor lost a trap's reason.
    pub kept: u64,
    /// Samples that found no room.
    pub lost: u64,
    /// Threads that were not sampled, since there were too many.
    pub left_out: u64,
    /// Probes that waited, since those before had taken as much as probes may.
    pub held: u64,
    /// Probes that could set no breakpoint.
    pub unarmed: u64,
    /// Samples of processes that the program has started, which are not watched.
    pub foreign: u64,
}
