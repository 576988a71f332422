//! Watches a program that runs, as it is, and finds the cache lines that its threads contend for.
//!
//! It takes no performance counters and no other build. The clock interrupts threads where they wait for a line, and
//! breakpoints in the other threads tell who else touches it. `docs/watch.md` describes the method and its limits.
//!
//! It works on Linux on x86-64. On aarch64 it has run on an emulated machine, and not on hardware.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arm;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod backend;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod callers;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod check;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod cost;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod goroutines;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod heap;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod jit;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod lanes;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod launch;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod lines;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod own;
mod report;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod session;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod sys;
mod walk;

use std::ffi::OsString;
use std::time::Duration;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use own::Session;
pub use report::report;
pub use tenure_analyze::Programs;
use tenure_model::recording::Recording;
pub use tenure_types::Error;

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

/// How often threads are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchOptions {
    /// Samples a second of each thread that runs.
    pub rate: u64,
    /// Looks by breakpoints a second, at most.
    pub arms: f64,
    /// Looks may take so much of the program's processor time, as a part of it. What they take was measured at the start.
    pub share: f64,
    /// Bytes of a line: 64 or 128.
    pub line_bytes: u32,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { rate: 100, arms: 20.0, share: 0.005, line_bytes: 64 }
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
    /// Processor time that watching took for itself.
    pub own: Duration,
    /// Whether ptrace did all, since the kernel refuses perf events.
    pub is_traced: bool,
    /// The program, if it was started and still runs.
    pub started: Option<Started>,
}

/// A program that was started.
#[derive(Debug)]
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    expect(dead_code)
)]
pub struct Started {
    child: std::process::Child,
    /// Many programs take a second request as one to end at once.
    is_asked: bool,
}

/// What watching takes of a thread that runs, in seconds, as measured on this machine at the start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// A sample.
    pub sample: f64,
    /// Breakpoints that are set and taken away.
    pub arm: f64,
    /// A hit.
    pub trap: f64,
}

/// What watching did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchCounts {
    /// Samples.
    pub samples: u64,
    /// Of those, the ones whose access is known.
    pub attributed: u64,
    /// Of those, the ones that accessed memory at a place that is not known any more.
    pub unaddressed: u64,
    /// Looks at lines by breakpoints.
    pub looks: u64,
    /// Threads that had breakpoints, in all looks together.
    pub armed: u64,
    /// Breakpoints that were hit.
    pub traps: u64,
    /// Signals that would have ended the program, since the hypervisor lost a trap's reason.
    pub kept: u64,
    /// Samples that found no room.
    pub lost: u64,
    /// Threads that were not sampled, since there were too many.
    pub left_out: u64,
    /// Looks that waited, since those before had taken as much as looks may.
    pub held: u64,
    /// Looks that could set no breakpoint.
    pub unarmed: u64,
    /// Samples of processes that the program has started, which are not watched.
    pub foreign: u64,
}

/// How much of a program could be seen, and what that excludes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coverage {
    /// Processor time of the program while it was watched, in seconds.
    pub cpu_seconds: f64,
    /// Of that, the part in the kernel, where accesses are not seen.
    pub kernel_seconds: f64,
    /// No line beside those that were recorded costs more than this share of the time that could be seen, with 95 % confidence.
    pub excludes: f64,
    /// Memory that it can write and that other processes may have mapped as well: the files' names.
    pub shared: Vec<String>,
}

/// How far it has come.
pub struct Snapshot<'a> {
    /// Since the beginning.
    pub elapsed: Duration,
    /// What watching did so far.
    pub counts: WatchCounts,
    now: &'a dyn Fn() -> WatchOutcome,
}

impl Snapshot<'_> {
    /// What was watched so far.
    #[must_use]
    pub fn watched(&self) -> WatchOutcome {
        (self.now)()
    }
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { elapsed, counts, now: _ } = self;
        out.debug_struct("Progress")
            .field("elapsed", elapsed)
            .field("counts", counts)
            .finish_non_exhaustive()
    }
}

/// Watches until the time is over, the program ends, or `is_stopped` says so, which is asked some twenty times a second.
///
/// # Errors
///
/// The process does not exist or is of a kind that cannot be watched; the kernel refuses; the program cannot be
/// started; this is not Linux on x86-64 or aarch64. The error says what to do.
pub fn watch(
    request: &WatchRequest,
    is_stopped: &dyn Fn(&Snapshot<'_>) -> bool,
) -> Result<WatchOutcome, Error> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        launch::watch(request, is_stopped)
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        let _ = (request, is_stopped);
        Err(elsewhere())
    }
}

/// Whether programs can be watched here: a line for each thing that it takes.
///
/// # Errors
///
/// One of them is missing; the error says what to do.
pub fn check() -> Result<Vec<String>, Error> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        check::check()
    }
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        Err(elsewhere())
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn elsewhere() -> Error {
    Error::new(
        "programs can be watched on Linux on x86-64 and aarch64 only; use `tenure run`, or watch there",
    )
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Started {
    /// The number of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        0
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        true
    }

    /// Asks it to end.
    pub fn ask_to_end(&mut self) {}

    /// Waits for the program's end.
    pub fn wait(&mut self, _: &dyn Fn() -> bool) -> tenure_model::Ended {
        tenure_model::Ended::Unknown
    }
}
