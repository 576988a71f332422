//! What fixes elements of arrays and variables, and that it does: a program of C unmodified, and as it is proposed.

use super::code::{Compiled, asked, compile};
use super::report;
use tenure_layout::run::LayoutRequest;
use tenure_model::{Finding, Repair, Report, Sharing};

/// The section `words` begins on a line, so that its variables lie on one.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#define API __attribute__((noinline, noclone))
#define WORDS __attribute__((section("words")))
STRIPES
WORKER
HITS
struct slot { atomic_long done; long rest[6]; long last; };
struct table { long size; struct slot slots[4] SLOTS; } table;
long first WORDS __attribute__((aligned(64))) = 1, limit WORDS = 2;
API void stripe(long id) { pthread_mutex_lock(&stripes[id] IT); pthread_mutex_unlock(&stripes[id] IT); }
API void work(long id) { atomic_fetch_add(&workers[id].done, workers[id].id); }
API void hit(void) { atomic_fetch_add(&hits IT, 1); }
API void fill(long id) { atomic_fetch_add(&table.slots[id].done, table.slots[id].last + table.size); }
API long left(void) { return limit + first - hits IT; }
int main(int count, char **all) { stripe(count); work(count); fill(count); hit(); return left(); }
"#;

const UNMODIFIED: [(&str, &str); 5] = [
    ("STRIPES", "pthread_mutex_t stripes[16];"),
    ("WORKER", "struct worker { atomic_long done; long id; } workers[8];"),
    ("HITS", "atomic_long hits WORDS = 3;"),
    (" IT", ""),
    (" SLOTS", ""),
];

const FIXED: [(&str, &str); 5] = [
    ("STRIPES", "struct { pthread_mutex_t it; } __attribute__((aligned(64))) stripes[16];"),
    (
        "WORKER",
        "struct worker { atomic_long done; long id; } __attribute__((aligned(64))) workers[8];",
    ),
    ("HITS", "struct { atomic_long it; } __attribute__((aligned(64))) hits WORDS = { 3 };"),
    (" IT", ".it"),
    (" SLOTS", " __attribute__((aligned(64)))"),
];

/// An element type without a name, and arrays in structs: one of two dimensions, one of any length.
const SHAPES: &str = r#"
#include <stdatomic.h>
#define API __attribute__((noinline, noclone))
struct { atomic_long done; long id; } workers[8];
struct grid { long size; atomic_long cells[4][16]; } grid;
struct queue { long size; atomic_long waiting[]; } *queue;
API void work(long id) { atomic_fetch_add(&workers[id].done, workers[id].id); }
API void fill(long id) { atomic_fetch_add(&grid.cells[id][id], grid.size); }
API void join(long id) { atomic_fetch_add(&queue->waiting[id], queue->size); }
int main(int count, char **all) { work(count); fill(count); if (all[1]) join(count); return 0; }
"#;

/// None without gcc.
fn compiled(written: [(&str, &str); 5]) -> Option<Compiled> {
    let fill = |text: String, (from, to): (&str, &str)| text.replace(from, to);
    compile(&written.into_iter().fold(PROGRAM.to_owned(), fill))
}

fn suggested(written: [(&str, &str); 5]) -> Option<Report> {
    Some(report(&LayoutRequest { suggest: true, ..asked(&compiled(written)?, true) }))
}

fn place(finding: &Finding) -> Option<&str> {
    match &finding.sharing {
        Sharing::Elements { array, .. } => Some(array),
        Sharing::Statics { section, .. } if section == "words" => Some(section),
        _ => None,
    }
}

fn of<'r>(report: &'r Report, wanted: &str) -> &'r [Repair] {
    let found = report.findings.iter().find(|finding| place(finding) == Some(wanted));
    &found.unwrap_or_else(|| panic!("no {wanted} in {:#?}", report.findings)).repairs
}

#[track_caller]
fn says(repairs: &[Repair], text: &str, code: &[&str], bytes: u64) {
    let [one] = repairs else { panic!("{repairs:#?}") };
    assert_eq!((&*one.text, one.bytes), (text, bytes));
    assert_eq!(one.code, code);
}

#[test]
fn elements_and_variables_get_lines_of_their_own_at_a_price() {
    let Some(report) = suggested(UNMODIFIED) else { return };
    says(
        of(&report, "stripes"),
        "Give each element a line of its own: 16 elements of 64 bytes instead of 40, +384 bytes in all.",
        &["struct { … } __attribute__((aligned(64))) stripes[16];"],
        384,
    );
    says(
        of(&report, "workers"),
        "Align `worker` to 64 bytes: 8 elements of 64 bytes instead of 16, +384 bytes in this array.",
        &[],
        384,
    );
    says(
        of(&report, "table.slots"),
        "Align the array to 64 bytes: each element (64 bytes) then has its own line, +56 bytes in each `table`.",
        &[],
        56,
    );
    says(
        of(&report, "words"),
        "Give `hits` a line of its own: +112 bytes at most.",
        &["struct { … } __attribute__((aligned(64))) hits;"],
        112,
    );
}

#[test]
fn a_type_without_a_name_is_not_named_and_a_member_is_at_its_owners_price() {
    let Some(program) = compile(SHAPES) else { return };
    let report = report(&LayoutRequest { suggest: true, ..asked(&program, true) });
    says(
        of(&report, "workers"),
        "Align the element type to 64 bytes: 8 elements of 64 bytes instead of 16, +384 bytes in all.",
        &["struct { … } __attribute__((aligned(64))) workers[8];"],
        384,
    );
    says(
        of(&report, "grid.cells"),
        "Give each element a line of its own: 64 elements of 64 bytes instead of 8, +3,640 bytes in each `grid`.",
        &["struct { … } __attribute__((aligned(64))) cells[4][16];"],
        3640,
    );
    says(
        of(&report, "queue.waiting"),
        "Give each element a line of its own: 64 bytes instead of 8, +56 bytes each.",
        &[],
        56,
    );
}

#[test]
fn what_is_proposed_leaves_no_such_finding() {
    let Some(report) = suggested(FIXED) else { return };
    let left: Vec<_> = report.findings.iter().filter_map(place).collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn nothing_is_proposed_unasked() {
    let Some(program) = compiled(UNMODIFIED) else { return };
    assert_eq!(of(&report(&asked(&program, true)), "stripes"), []);
}

#[test]
fn a_variable_is_asked_for_by_its_name_in_the_list() {
    let Some(program) = compiled(UNMODIFIED) else { return };
    let of = |name: &str| {
        report(&LayoutRequest { types: vec![name.to_owned()], ..asked(&program, true) })
    };
    for (name, found) in [("stripes", "stripes"), ("hits", "words"), ("first", "words")] {
        let findings = of(name).findings;
        assert!(findings.iter().any(|one| place(one) == Some(found)), "{name}: {findings:#?}");
        assert!(findings.iter().all(|one| one.type_name != "worker"), "{name}: {findings:#?}");
    }
}
