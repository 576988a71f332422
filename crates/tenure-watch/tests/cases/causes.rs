//! What threads wait for is named, with place and holder, where no line is contended. `ci/causes.py` has all programs.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tenure_model::{Source, TimeCause, TimeSplit};
use tenure_watch::{Programs, watch};

use crate::{Running, can_watch, request};

fn time(program: &Path, cause: &str) -> TimeSplit {
    let running = Running::start(Command::new(program).args([cause, "600"]));
    let is_enough = |it: &tenure_watch::Session| it.elapsed() >= Duration::from_secs(3);
    let watched = watch(&request(running.0.id()), &is_enough).unwrap();
    let report = tenure_watch::report(&watched, &Programs::default(), 64, 0).report;
    let Source::Run(run) = report.source else { panic!("{cause}: no run") };
    run.time.unwrap()
}

#[test]
fn the_reason_of_idle_cpus_is_named_with_its_place() {
    if !can_watch() || std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/causes/causes.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("causes");
    let mut command = Command::new("gcc");
    command.args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source);
    assert!(command.status().unwrap().success());
    for (cause, expected, name) in [
        ("mutex", TimeCause::Lock, "mutex"),
        ("rwlock", TimeCause::Lock, "rwlock"),
        ("barrier", TimeCause::OtherThreads, "barrier"),
        ("pipe", TimeCause::Io, "read of a pipe"),
        ("sleep", TimeCause::Timer, "sleep"),
    ] {
        let split = time(&program, cause);
        let running: f64 = split.running.iter().map(|part| part.share).sum();
        let idle: f64 = split.idle.iter().map(|part| part.share).sum();
        let cpus = split.used + split.taken_by_others + idle * split.cpus;
        assert!((running - 1.0).abs() < 1e-6, "{cause}: {split:?}");
        assert!((cpus - split.cpus).abs() < 0.1 * split.cpus, "{cause}: {split:?}");
        let part = split.idle.iter().find(|part| part.cause == expected);
        let part = part.unwrap_or_else(|| panic!("{cause}: {split:?}"));
        let detail = part.details.iter().find(|detail| detail.name.contains(name));
        let detail = detail.unwrap_or_else(|| panic!("{cause}: {split:?}"));
        let line = detail.code.as_ref().and_then(|code| code.line.as_deref());
        assert!(line.is_some_and(|line| line.contains("causes.c:")), "{cause}: {split:?}");
        // glibc's mutex says who has it.
        assert!(detail.holder.is_some() || cause != "mutex", "{split:?}");
    }
    let alone = time(&program, "one_thread");
    assert!(alone.idle.iter().any(|part| part.cause == TimeCause::NoThreads), "{alone:?}");
}
