//! Locks and what they guard: in a program of C unmodified, and as it is proposed. `tenure-cli` also runs what is proposed.

use super::code::{asked, compile};
use super::report;
use tenure_layout::run::LayoutRequest;
use tenure_model::{Means, Report, Suggestion};

const PROGRAM: &str = include_str!("programs/port.c");

const TOGETHER: &str = "pthread_spinlock_t in_lock; int in_count; pthread_spinlock_t out_lock; int out_count; char name[48];";
const APART: &str = "LINE pthread_spinlock_t in_lock; int in_count; LINE pthread_spinlock_t out_lock; int out_count;";
/// The locks have lines of their own, and what they guard is together.
const TORN: &str = "LINE pthread_spinlock_t in_lock; LINE pthread_spinlock_t out_lock; LINE int in_count; int out_count;";

/// None without gcc.
fn judged(port: &str) -> Option<Report> {
    let program = compile(&PROGRAM.replace("PORT", port))?;
    let types = vec!["port".to_owned()];
    Some(report(&LayoutRequest { suggest: true, types, ..asked(&program, true) }))
}

/// The members in the proposed order, at the proposed places.
fn written(proposal: &Suggestion) -> String {
    let member = |name: &String| match &**name {
        // The mark of a new line: it stands before the member that begins one, and at the end.
        name if name.starts_with('(') => "LINE ".to_owned(),
        name if name.ends_with("_lock") => format!("pthread_spinlock_t {name}; "),
        "name" => "char name[48]; ".to_owned(),
        name => format!("int {name}; "),
    };
    let members: String = proposal.order.iter().map(member).collect();
    members.trim_end_matches("LINE ").to_owned()
}

fn score(report: &Report) -> f64 {
    report.findings.iter().fold(0.0, |sum, one| sum + one.score)
}

#[test]
fn a_lock_moves_with_what_it_guards() {
    let Some(report) = judged(TOGETHER) else { return };
    let [finding] = &report.findings[..] else { panic!("{:#?}", report.findings) };
    assert_eq!(finding.contended.path, "in_lock");
    let why = |path: &str| &finding.victims.iter().find(|one| one.path == path).unwrap().why;
    assert!(why("in_count").starts_with("a number, guarded by the lock"), "{finding:#?}");
    assert!(why("out_count").starts_with("a number, used under another lock"), "{finding:#?}");
    assert_eq!(finding.victims[0].path, "out_count", "it suffers most");
    let [found] = &report.suggestions[..] else { panic!("{:#?}", report.unfixed) };
    assert_eq!((found.means, found.after.size, found.price), (Means::Align, 128, 64));
    assert_eq!(
        found.summary,
        "Give `in_lock` with `in_count` lines of their own, aligned to 64 bytes: port goes from 64 to 128 bytes, +64 an \
         object."
    );
    assert!(found.notes[1].contains("at `out_lock`; an allocator"), "{:?}", found.notes);
}

#[test]
fn locks_that_are_apart_with_what_they_guard_are_left_alone() {
    let Some(report) = judged(APART) else { return };
    assert!(report.suggestions.is_empty(), "{:#?}", report.suggestions);
    let [why] = &report.unfixed[..] else { panic!("{:#?}", report.unfixed) };
    assert!(why.why.contains("(score 0)"), "{}", why.why);
}

#[test]
fn plain_words_that_different_locks_guard_are_a_finding() {
    let Some(report) = judged(TORN) else { return };
    let [finding] = &report.findings[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((&*finding.contended.path, &*finding.victims[0].path), ("in_count", "out_count"));
    let word = finding.signals.iter().find(|signal| signal.name == "word").unwrap();
    assert_eq!(word.seen, "a plain word that is written under another lock");
}

/// What is proposed gets, once it is built, the score that the proposal promised.
#[test]
fn what_is_proposed_is_worth_what_it_promises() {
    for port in [TOGETHER, TORN] {
        let Some(report) = judged(port) else { return };
        let found = &report.suggestions[0];
        let built = judged(&format!("LINE {}", written(found))).unwrap();
        assert!((score(&built) - found.score_after).abs() < 1e-6, "{found:#?}\n{built:#?}");
        assert!(score(&built) < 0.5 * score(&report), "{:#?}", built.findings);
        assert!(built.suggestions.is_empty(), "{:#?}", built.suggestions);
    }
}
