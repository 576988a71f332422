//! Reasons why a process cannot be watched: each a line that says what to do.

use std::fs;
use std::io;

use tenure_debuginfo::Error;

use crate::sys::guard::{self, TrapGuard};
use crate::sys::perf::{PerfEvent, PerfRing};
use crate::sys::process;
use crate::sys::specimen::Specimen;
use crate::sys::tracer::Tracer;

/// Why samples were refused.
pub(crate) fn refused(pid: u32, error: &io::Error) -> Error {
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse().ok());
    Error::new(reason(pid, error, paranoid.unwrap_or(2), is_filtered()))
}

fn reason(pid: u32, error: &io::Error, paranoid: i32, is_filtered: bool) -> String {
    match error.raw_os_error() {
        Some(nix::libc::ENOSYS) => {
            "this kernel has no perf events; `tenure run` needs none".to_owned()
        }
        Some(nix::libc::EMFILE | nix::libc::ENFILE) => {
            "there are too few file descriptors for a sampler for each CPU; raise `ulimit -n`"
                .to_owned()
        }
        Some(nix::libc::ESRCH) => format!("process {pid} has ended"),
        Some(nix::libc::EACCES | nix::libc::EPERM) if paranoid > 2 => format!(
            "the kernel refuses perf events (perf_event_paranoid is {paranoid}); run `tenure` as root, or do `sysctl \
             kernel.perf_event_paranoid=2`"
        ),
        Some(nix::libc::EPERM) if is_filtered => {
            "seccomp refuses perf events, as in Docker's containers; start the container with --cap-add PERFMON"
                .to_owned()
        }
        Some(nix::libc::EACCES | nix::libc::EPERM) => format!(
            "process {pid} may not be watched by this user; run `tenure` as its user or as root"
        ),
        _ => format!("cannot sample process {pid}: {error}"),
    }
}

/// Why a thread could not be traced.
pub(crate) fn untraced(pid: u32, error: &io::Error) -> Error {
    let tracer = process::tracer(pid);
    let scope = read("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    Error::new(match tracer {
        Some(tracer) => traced(pid, tracer),
        None if error.raw_os_error() == Some(nix::libc::EPERM)
            && scope != "0"
            && !scope.is_empty() =>
        {
            format!(
                "virtual machines need ptrace for breakpoints, and ptrace_scope is {scope}; run `tenure` as root, or start \
             the program by `tenure watch -- PROGRAM`"
            )
        }
        None => format!("cannot trace process {pid}: {error}; run `tenure` as root"),
    })
}

fn traced(pid: u32, tracer: u32) -> String {
    format!("process {pid} is traced by process {tracer}, such as a debugger; end that first")
}

/// Refuses a process that is traced already, where watching takes ptrace.
pub(crate) fn untraceable(pid: u32, has_perf: bool) -> Result<(), Error> {
    match process::tracer(pid) {
        Some(tracer) if !has_perf || guard::is_needed() => Err(Error::new(traced(pid, tracer))),
        _ => Ok(()),
    }
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// Whether seccomp filters the system calls of this process.
fn is_filtered() -> bool {
    process::status(std::process::id(), "Seccomp:").is_some_and(|mode| mode == "2")
}

/// Whether perf events work here.
pub(crate) fn perf() -> Result<(), Error> {
    let own = std::process::id();
    let refused = |error| refused(own, &error);
    PerfRing::new(PerfEvent::clock(own, process::cpus()[0], 100).map_err(refused)?, 1)
        .map_err(refused)?;
    Ok(())
}

/// Whether programs can be watched here: a line for each thing that it takes.
///
/// # Errors
///
/// One of them is missing; the error says what to do.
pub fn check() -> Result<Vec<String>, Error> {
    let Err(reason) = perf() else { return check_perf() };
    check_tracer()
        .map_err(|error| Error::new(format!("{reason}; ptrace does not work either: {error}")))?;
    Ok(vec![
        format!("perf events do not work: {reason}"),
        "ptrace works, and takes samples and sets breakpoints in their place".to_owned(),
    ])
}

fn check_perf() -> Result<Vec<String>, Error> {
    let own = std::process::id();
    let mut lines = vec!["perf events take samples".to_owned()];
    let leader = PerfEvent::leader(own).map_err(|error| refused(own, &error))?;
    let word = Box::new(0_u64);
    let address = std::ptr::from_ref(&*word) as u64;
    PerfEvent::breakpoint(own, address & !7, &leader, 1).map_err(|error| {
        Error::new(format!("breakpoints do not work here: {error}; `tenure run` needs none"))
    })?;
    lines.push("perf events set breakpoints".to_owned());
    if guard::is_needed() {
        can_trace()?;
        let guard =
            "in this virtual machine threads with breakpoints are traced as well, which works";
        lines.push(guard.to_owned());
    }
    Ok(lines)
}

/// Sets breakpoints in a child that touches a word.
fn check_tracer() -> io::Result<()> {
    let specimen = Specimen::start()?;
    specimen.touch(true);
    let mut tracer = Tracer::start()?;
    for _ in 0..100 {
        let answer = tracer.probe(&[specimen.line()], &[specimen.pid], 5_000_000)?;
        match answer.errors[0] {
            0 if answer.samples.is_empty() => {}
            0 => return Ok(()),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Err(io::Error::other("no breakpoint was met"))
}

/// Traces a child for a moment.
fn can_trace() -> Result<(), Error> {
    let mut child = std::process::Command::new("sleep")
        .arg("10")
        .spawn()
        .map_err(|error| Error::new(format!("cannot run `sleep`: {error}")))?;
    let mut guard = TrapGuard::default();
    let traced = guard.seize(child.id()).map_err(|error| untraced(child.id(), &error));
    drop(guard);
    // It has ended if this fails.
    let _ = child.kill();
    let _ = child.wait();
    traced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        use nix::libc::{EACCES, EMFILE, EPERM, ESRCH};
        for (number, paranoid, is_filtered, advice) in [
            (EACCES, 4, false, "sysctl kernel.perf_event_paranoid=2"),
            (EPERM, 2, true, "--cap-add PERFMON"),
            (EACCES, 2, false, "run `tenure` as its user or as root"),
            (EMFILE, 2, false, "raise `ulimit -n`"),
            (ESRCH, 2, false, "has ended"),
        ] {
            let error = io::Error::from_raw_os_error(number);
            let line = reason(7, &error, paranoid, is_filtered);
            assert!(line.contains(advice), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }
}
