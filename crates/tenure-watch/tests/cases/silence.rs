//! What is said of a program where nothing was found: an all-clear takes evidence.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use tenure_render::Exporter;
use tenure_render::html::HtmlExporter;
use tenure_watch::{Programs, Session, WatchOutcome, watch};

use crate::{Running, can_watch, request};

fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/silence.c");
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("silence");
        let mut command = Command::new("gcc");
        command.args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(source);
        assert!(command.status().unwrap().success());
        program
    });
    built.clone()
}

/// What was watched of a case until that is enough, and the report as a page, where no line is broken.
fn watched(case: &str, is_enough: &dyn Fn(&Session) -> bool) -> (WatchOutcome, String) {
    let running = Running::start(Command::new(program()).arg(case));
    // It has begun by then.
    std::thread::sleep(Duration::from_millis(200));
    let watched = watch(&request(running.0.id()), is_enough).unwrap();
    let report = tenure_watch::report(&watched, &Programs::default(), 64, 0).report;
    (watched, HtmlExporter.export(&report))
}

#[test]
fn an_all_clear_has_a_bound_and_a_program_that_was_hardly_seen_has_none() {
    if !can_watch() {
        return;
    }
    let (_, text) = watched("apart", &|it| it.counts().probes >= 200);
    let bound = "No contended cache line was found: none costs more than ";
    assert!(text.contains(bound) && text.contains("with 95 % confidence"), "{text}");
    for (case, why) in [
        ("kernel", "of the processor time was in the kernel"),
        ("processes", "a line in memory that other processes may use"),
        (
            "asleep",
            "The program used less than 0.02 s of processor time: watch it for longer, or under load.",
        ),
    ] {
        let (watched, text) = watched(case, &|it| it.elapsed() >= Duration::from_secs(2));
        let said = "Too little seen to say whether a cache line is contended.";
        assert!(text.contains(said) && text.contains(why), "{case}: {text}");
        assert_eq!(
            !watched.coverage.shared.is_empty(),
            case == "processes",
            "{:?}",
            watched.coverage
        );
        assert_eq!(text.contains("zero (deleted)"), case == "processes", "{text}");
    }
}

#[test]
fn a_look_is_not_taken_for_evidence_before_there_is_one() {
    if !can_watch() {
        return;
    }
    let (watched, text) = watched("apart", &|it| it.counts().samples > 0);
    assert!(watched.counts.probes < 3 && text.contains("Too little seen to say"), "{text}");
}

#[test]
fn a_walk_along_a_list_has_addresses() {
    if !can_watch() {
        return;
    }
    let (watched, _) = watched("ring", &|it| it.counts().samples >= 300);
    let (counts, lines) = (&watched.counts, &watched.recording.processes[0].lines);
    // All of them had none. The first ones still have, before there is something to search from.
    assert!(counts.unaddressed * 5 <= counts.samples, "{counts:?}");
    assert!(counts.attributed * 2 >= counts.samples, "{counts:?}");
    // Of the nodes that were probed: `next`.
    assert!(
        lines.iter().flat_map(|line| &line.entries).all(|entry| entry.offset == 8),
        "{lines:?}"
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_load_that_overwrites_its_index_has_an_address() {
    if !can_watch() {
        return;
    }
    let (watched, text) = watched("table", &|it| it.counts().samples >= 300);
    let counts = &watched.counts;
    // Half of them had none.
    assert!(counts.unaddressed * 20 <= counts.samples, "{counts:?}");
    assert!(counts.attributed * 5 >= counts.samples, "{counts:?}\n{text}");
}
