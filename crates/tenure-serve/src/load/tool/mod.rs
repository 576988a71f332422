//! Other generators on `PATH`, and how to read their output.

mod memtier;
mod wrk;

use std::io;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use tenure_report::Progress;

use super::Error;
use super::cpu::CpuTimes;
use super::outcome::{Cpu, Outcome};
use super::settings::{Generator, Length, Settings};

const LOOK: Duration = Duration::from_millis(20);

pub(super) fn run(
    arguments: &[String],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    if settings.warmup > Duration::ZERO {
        progress.begin("warming up", settings.warmup.as_millis() as u64);
        // Neither has a warm-up, and both count whole seconds.
        let whole = Duration::from_secs(settings.warmup.as_secs_f64().ceil() as u64);
        let warmup = Settings { length: Length::Time(whole), ..settings.clone() };
        let found = once(arguments, &warmup, progress);
        progress.end();
        found?;
    }
    let total = match settings.length {
        Length::Time(time) => time.as_millis() as u64,
        Length::Requests(_) => 0,
    };
    progress.begin("measuring", total);
    let before = (CpuTimes::of(&settings.pids), children_ns());
    let found = once(arguments, settings, progress);
    let after = (CpuTimes::of(&settings.pids), children_ns());
    progress.end();
    let outcome = found?;
    let ops = outcome.ops;
    let server_ns = (!before.0.is_empty()).then(|| after.0.since(&before.0));
    Ok(Outcome {
        client_cpu: Some(Cpu::new(after.1 - before.1, ops)),
        server_cpu: server_ns.map(|ns| Cpu::new(ns, ops)),
        passed: ops > 0,
        ..outcome
    })
}

fn once(
    arguments: &[String],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Outcome, Error> {
    match settings.generator {
        Generator::Wrk => wrk::run(arguments, settings, progress),
        _ => memtier::run(arguments, settings, progress),
    }
}

pub(super) fn check(settings: &Settings) -> Result<(), Error> {
    let line = match (settings.generator, settings.length) {
        (Generator::Own, _) => return Ok(()),
        (_, Length::Time(time)) if time.subsec_nanos() != 0 => {
            "memtier_benchmark and wrk run for whole seconds; give --seconds without decimals"
        }
        (Generator::Wrk, Length::Requests(_)) => {
            "wrk runs for a time and not for a number of requests; give --seconds"
        }
        _ => return Ok(()),
    };
    Err(Error::new(line))
}

fn output(command: &mut Command, progress: &dyn Progress) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(format!("{name} is not on PATH; install it, or leave --with away"))
        }
        _ => Error::new(format!("cannot run {name}: {error}")),
    };
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(cannot)?;
    // Reads both pipes all the time: a long run prints more than they hold.
    let ended = thread::spawn(move || child.wait_with_output());
    let mut shown = Instant::now();
    while !ended.is_finished() {
        thread::sleep(LOOK);
        progress.advance(shown.elapsed().as_millis() as u64);
        shown = Instant::now();
    }
    let ended = ended.join().expect("to wait for a program does not panic");
    let Output { status, stdout, stderr } = ended.map_err(cannot)?;
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    if status.success() {
        return Ok(stdout.into_owned());
    }
    let said = what_failed(&stderr, &stdout).unwrap_or_else(|| status.to_string());
    Err(Error::new(format!("{name} failed: {said}")))
}

/// The first line that names a failure, or the first line.
fn what_failed(stderr: &str, stdout: &str) -> Option<String> {
    let lines = || stderr.lines().chain(stdout.lines()).map(str::trim).filter(|it| !it.is_empty());
    let speaks = |line: &&str| ["error", "unable", "failed"].iter().any(|word| line.contains(word));
    let line = lines().find(speaks).or_else(|| lines().next())?;
    Some(line.strip_prefix("error: ").unwrap_or(line).to_owned())
}

/// The CPU time of all children that have ended.
fn children_ns() -> u64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return 0 };
    [usage.user_time(), usage.system_time()]
        .into_iter()
        .map(|time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1_000)
        .sum()
}

fn unreadable(name: &str, what: &str) -> Error {
    Error::new(format!("cannot read what {name} prints: no {what}; its version may be another one"))
}
