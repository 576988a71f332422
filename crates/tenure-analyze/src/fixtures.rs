//! Reports as `tenure layout`, `run` and `watch` would make them, for tests.

use tenure_model::{Evidence, Level, Report};

pub(crate) fn all() -> Vec<(&'static str, Report)> {
    let (places, large) = (
        include_str!("../../tenure-model/fixtures/places.json"),
        include_str!("../../tenure-model/fixtures/large.json"),
    );
    vec![
        ("route", route()),
        ("places", parsed(places)),
        ("large", parsed(large)),
        ("run", run()),
        ("watched", watched()),
    ]
}

fn parsed(text: &str) -> Report {
    serde_json::from_str(text).expect("it is a report of this version")
}

/// `dst_entry` and `rtable` of Linux 6.1.
pub(crate) fn route() -> Report {
    parsed(include_str!("../../tenure-model/fixtures/route.json"))
}

/// A run of a server.
pub(crate) fn run() -> Report {
    parsed(include_str!("../../tenure-model/fixtures/run.json"))
}

/// A program that was watched: a line that is known well, and one that rests on a sample.
pub(crate) fn watched() -> Report {
    let mut report = run();
    report.findings.truncate(2);
    report.scope.findings = 2;
    for finding in &mut report.findings {
        let observed = finding.observed.as_mut().expect("a run's findings are observed");
        observed.evidence =
            Some(Evidence { samples: 172, probes: 50, met: 48, share: [0.31, 0.48] });
    }
    report.findings[1].confidence.level = Level::Low;
    report
}
