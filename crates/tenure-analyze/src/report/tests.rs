//! Reports of recordings that are written here.

use super::*;
use crate::lines::tests::{MILLION, line};
use tenure_model::Ended;
use tenure_model::recording::Thread;

/// What is missing from the report on these lines, and at how many of them it has findings.
fn missing(lines: Vec<Line>) -> (Vec<String>, usize) {
    let report = reported(lines);
    let Source::Run(run) = report.source else { panic!("{:?}", report.source) };
    (run.missing, report.findings.len())
}

fn reported(lines: Vec<Line>) -> Report {
    let threads = (1..=4).map(|id| Thread { id, ..Thread::default() }).collect();
    let process = Process { lines, threads, line_bytes: 64, seconds: 1.0, ..Process::default() };
    let recording = Recording {
        ended: Ended::Exited { status: 0 },
        seconds: 1.0,
        cpu_seconds: 1.0,
        processes: vec![process],
    };
    let run = recording.head("program");
    report(recording, &Programs::default(), run, 64, 0).report
}

#[test]
fn a_lock_is_shown_with_what_it_guards_on_its_line_and_elsewhere() {
    let count = |thread| [(thread, 0, Access::Read, 1), (thread, 0, Access::Write, 2)];
    let locks = |thread| [(thread, 0, Access::Lock, 7), (thread, 0, Access::Unlock, 8)];
    let counted = line(0x1000, None, &[count(1), count(2)].concat());
    let lock = line(0x9000, None, &[locks(1), locks(2)].concat());
    let report = reported(vec![counted, lock]);
    let held = report.findings[0].lock.as_ref().unwrap();
    // Neither the word nor its code has a name here.
    assert_eq!(held.guards, ["what 0x2 writes"]);
    assert_eq!((held.held_ns, held.readers), (None, None));
}

#[test]
fn a_report_says_what_it_leaves_out_since_a_lock_elsewhere_is_taken_as_often() {
    let count = |thread| [(thread, 0, Access::Read, 1), (thread, 0, Access::Write, 2)];
    let locks = |thread| [(thread, 0, Access::Lock, 7), (thread, 0, Access::Unlock, 8)];
    let counted = line(0x1000, None, &[count(1), count(2)].concat());
    let lock = line(0x9000, None, &[locks(1), locks(2)].concat());
    let others = line(0x9000, None, &[locks(3), locks(4)].concat());
    assert_eq!(missing(vec![counted.clone(), others]), (vec![], 2));
    let said = "1 line (50 % of all accesses to contended lines) seems to be guarded by a lock elsewhere, and is left out.";
    assert_eq!(missing(vec![counted, lock]), (vec![said.to_owned()], 1));
}

#[test]
fn a_report_without_findings_says_why_each_line_that_could_change_hands_often_is_left_out() {
    let left_out = |lines| {
        let Source::Run(run) = reported(lines).source else { panic!() };
        (run.left_out, run.missing)
    };
    // The other thread's share is none that a finding would count.
    let mut harmless = line(0x1000, None, &[(1, 0, Access::Add, 1), (2, 8, Access::Add, 2)]);
    harmless.entries[0].count = 1000 * MILLION;
    let said = "1 line (100 % of all accesses to contended lines) is left out: one thread does nearly all that is done \
                there, or hardly anything there is a write.";
    assert_eq!(left_out(vec![harmless.clone()]), (1, vec![said.to_owned()]));
    // What is rare is said to be so.
    harmless.possible.capped = 1;
    assert_eq!(left_out(vec![harmless]), (0, vec![]));
}

#[test]
fn what_threads_write_elsewhere_is_all_but_what_they_write_here() {
    let write = |thread| (thread, 0, Access::Write, 1);
    let here = line(0x1000, None, &[write(1), write(2), (1, 8, Access::Add, 2)]);
    let other = line(0x2000, None, &[write(1), write(3), (3, 8, Access::Read, 3)]);
    let (all, own) = (plain_writes([&here, &other]), plain_writes([&here]));
    assert_eq!(without(&all, &own), [(1, MILLION), (2, 0), (3, MILLION)].into());
}
