//! Findings in a C++ program: `contended.cpp` of `tenure-types`'s fixtures.

use tenure_model::{Finding, Report, Role, Sharing};
use tenure_types::read::Input;

use super::{find, report, request};

fn contended() -> Report {
    let mut request = request("", &[]);
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure-types/tests/fixtures/dwarf/contended.o");
    request.input = Input::File(path.into());
    report(&request)
}

fn paths(finding: &Finding) -> Vec<&str> {
    finding.victims.iter().map(|victim| &*victim.path).collect()
}

#[test]
fn of_one_object_an_atomic_count_beside_what_everybody_reads_comes_first() {
    let report = contended();
    let worst = find(&report, "one object", |finding| finding.sharing == Sharing::Within);
    assert_eq!(worst.type_name, "server::Session");
    assert_eq!((&*worst.contended.path, worst.contended.role), ("refs", Role::Count));
    assert_eq!(paths(worst), ["close", "handler", "id"]);
    assert!(worst.declared.as_deref().is_some_and(|at| at.ends_with("contended.cpp:15")));
}

#[test]
fn a_count_on_a_line_of_its_own_is_no_finding() {
    let report = contended();
    assert!(report.findings.iter().all(|finding| finding.type_name != "server::Apart"));
}

#[test]
fn threads_counters_in_an_array_hurt_each_other() {
    let report = contended();
    let workers = find(
        &report,
        "the array of counters",
        |finding| matches!(&finding.sharing, Sharing::Elements { array, stride: 16, count: 8 } if array == "server::workers"),
    );
    assert_eq!(workers.type_name, "server::PerThread");
    assert_eq!(workers.contended.path, "[0].done");
    assert!(paths(workers).contains(&"[1].done"));
}

#[test]
fn locks_in_a_row_hurt_each_other() {
    let report = contended();
    let stripes = find(
        &report,
        "the array of locks",
        |finding| matches!(&finding.sharing, Sharing::Elements { array, stride: 40, count: 4 } if array == "server::stripes"),
    );
    assert_eq!((&*stripes.contended.path, stripes.contended.role), ("[0]", Role::Lock));
}

#[test]
fn variables_that_the_linker_put_on_one_line_are_named() {
    let report = contended();
    let statics = find(
        &report,
        "variables of .bss",
        |finding| matches!(&finding.sharing, Sharing::Statics { section, .. } if section == ".bss"),
    );
    assert!(paths(statics).contains(&"server::hits"), "{statics:#?}");
}

#[test]
fn what_embedding_adds_is_told_of_the_outer_type() {
    let report = contended();
    let listener = find(&report, "Listener", |finding| finding.type_name == "server::Listener");
    assert!(
        matches!(&listener.sharing, Sharing::Embedding { inner, .. } if inner == "server::Session")
    );
    assert_eq!(paths(listener), ["name"]);
}
