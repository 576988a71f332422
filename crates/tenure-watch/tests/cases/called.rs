//! A test program: a function that touches a line, called from two places.

use super::{Build, Long, TRIES, can_watch, report};

/// The callers of what is done most to a finding's word.
fn callers(build: &Build) -> Vec<String> {
    let report = report(build.program(true), "calls", Long::Probes(60));
    let uses = report.findings.iter().flat_map(|finding| &finding.contended.uses);
    let most = uses.max_by(|one, other| one.per_second.total_cmp(&other.per_second));
    let callers = most.map(|used| &*used.callers).unwrap_or_default();
    callers.iter().map(|code| code.function.clone()).collect()
}

#[test]
fn a_function_that_is_not_inlined_has_its_most_frequent_caller() {
    if !can_watch() {
        return;
    }
    for is_rust in [false, true] {
        let build = Build::new(is_rust, 2);
        let tries = (0..TRIES).map(|_| callers(&build));
        let found = tries.into_iter().find(|callers| !callers.is_empty()).unwrap_or_default();
        let about = format!("{}: {found:?}", build.program(true).display());
        assert!(found.first().is_some_and(|caller| caller.ends_with("often")), "{about}");
        // Beyond it there is what the thread runs, and nothing of the libraries that have started it.
        let of_program = if is_rust { "calls" } else { "call" };
        assert!(found[1..].iter().all(|caller| caller.contains(of_program)), "{about}");
    }
}
