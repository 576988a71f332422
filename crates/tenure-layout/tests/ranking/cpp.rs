//! Findings in a C++ program: `contended.cpp` of `tenure-debuginfo`'s fixtures.

use tenure_debuginfo::read::Input;
use tenure_layout::run::LayoutRequest;
use tenure_model::{Finding, Sharing};

use super::{report, request};

fn said(finding: &Finding) -> String {
    let how = match &finding.sharing {
        Sharing::Within | Sharing::Objects => "in itself".to_owned(),
        Sharing::Embedding { inner, .. } => format!("through {inner}"),
        Sharing::Elements { array, stride, count } => format!("{array}, {count} by {stride}"),
        Sharing::Statics { section, .. } => format!("line of {section}"),
    };
    let victims: Vec<&str> = finding.victims.iter().map(|victim| &*victim.path).collect();
    let (name, word) = (&finding.type_name, &finding.contended);
    format!("{name}: {how}: {} {:?}: {}", word.path, word.role, victims.join(" "))
}

#[test]
fn all_faults_of_a_program_are_found_and_named_and_a_count_on_a_line_of_its_own_is_none() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tenure-debuginfo/tests/fixtures/dwarf/contended.o"
    );
    let input = Input::File(path.into());
    let report = report(&LayoutRequest { input, ..request("", &[]) });
    let all: Vec<String> = report.findings.iter().map(said).collect();
    let expected = [
        "server::PerThread: server::workers, 8 by 16: [0].done Atomic: [1].done [1].started",
        ".bss: line of .bss: server::session.refs Count: server::session.close server::hits server::stripes[0]",
        "server::Session: in itself: refs Count: close handler id",
        "server::stripes: server::stripes, 4 by 40: [0] Lock: [1]",
        "server::Listener: through server::Session: first.refs Count: name",
        "server::PerThread: in itself: done Atomic: started",
    ];
    assert_eq!(all, expected);
    let declared = report.findings[2].declared.as_deref();
    assert!(declared.is_some_and(|at| at.ends_with("contended.cpp:15")), "{declared:?}");
}
