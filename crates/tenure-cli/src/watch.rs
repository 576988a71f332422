//! `tenure watch`: its options.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::found::ReportOptions;
use crate::values::{count, duration, probes, process, rate, run_line};

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod live;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod screen;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use live::{doctor, run};

/// Watch a running process, unmodified, and say where it loses time: contended cache lines, locks, waits
///
/// No rebuild, no restart, no performance counters. A clock samples running threads, right after the instruction that
/// waited for a line. Breakpoints in the other threads show who else touches it. Lines are ranked by the processor time that they cost at most. Predictions of what
/// each change would give follow the findings; Ctrl-C skips them. A program named after -- is started, and watched until it ends or
/// the time given is over.
#[derive(Debug, Args)]
#[command(
    override_usage = "tenure watch [OPTIONS] <--pid N | -- PROGRAM...>",
    after_help = "Examples:\n  \
                  tenure watch --pid $(pidof server) --for 30s\n  \
                  tenure watch --pid 1234 --html watch.html --json watch.json\n  \
                  tenure watch -- ./server --port 8080\n  \
                  tenure doctor    # whether programs can be watched here\n\n\
                  Exit status: 0, or that of a program that was started, unless --stop ended it; 1 if a check failed or, \
                  with --diff, a finding is new or worse; 2 on wrong usage, or if the program cannot be watched."
)]
pub(crate) struct WatchArgs {
    /// Watch the process with this number
    #[arg(long, value_name = "N", value_parser = process, conflicts_with = "command")]
    pid: Option<u32>,

    /// Watch for this long, such as `30s`, `500ms` or `2m` [default: to the program's end, or to Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// End the program with SIGTERM when the time of --for is over
    #[arg(long, requires = "time", conflicts_with = "pid")]
    stop: bool,

    /// Sample each running thread N times a second
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = rate)]
    rate: u64,

    /// Probe lines at most N times a second: set breakpoints on one for some milliseconds
    #[arg(long, value_name = "N", default_value_t = 20.0, value_parser = probes)]
    probes: f64,

    /// Report at most N findings
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count)]
    top: usize,

    /// Assume cache lines of so many bytes: 64 or 128
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = run_line)]
    line: u32,

    #[command(flatten)]
    found: ReportOptions,

    /// Start and watch this program, with its arguments
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Say what works on this machine
///
/// Whether programs can be watched here, with perf events or with ptrace, and what is in the way.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn doctor(_: &DoctorArgs) -> Result<(), crate::failure::EarlyEnd> {
    Err(crate::failure::EarlyEnd::input(
        "programs can be watched on Linux on x86-64 and aarch64 only",
    ))
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) fn run(_: &WatchArgs) -> Result<(), crate::failure::EarlyEnd> {
    Err(crate::failure::EarlyEnd::input(
        "programs can be watched on Linux on x86-64 and aarch64 only; use `tenure run`, or watch there",
    ))
}
