//! A report to render in tests.

use super::result::{Acquires, Latency, Ratios, Report, Row, SCHEMA, Scenario, Settings};
use super::verdicts;
use tenure_report::machine::Machine;
use tenure_report::stats::Estimate;

fn about(median: f64) -> Estimate {
    Estimate { median, low: median * 0.97, high: median * 1.03 }
}

fn row(cell: &str, rate: f64) -> Row {
    Row {
        cell: cell.to_owned(),
        program: "tenure 0.1.0".to_owned(),
        ops_per_second: about(rate),
        cpu_ns_per_op: about(1e9 / rate),
        latency: Some(Latency { p50_ns: 1e5, p99_ns: 9e5, p999_ns: Some(2e6) }),
        to_baseline: None,
        to_rival: None,
        acquires: None,
        errors: 0,
    }
}

fn ratios(rate: f64) -> Option<Ratios> {
    Some(Ratios { rate: about(rate), cpu: about(1.0 / rate), p99: Some(about(0.5)) })
}

/// Two scenarios, one with another's program and one with timed acquires.
pub(super) fn report() -> Report {
    let mut ours = row("ticket, isolated", 1_500_000.0);
    (ours.to_baseline, ours.to_rival) = (ratios(1.01), ratios(2.90));
    let mut theirs = row("memcached", 545_000.0);
    theirs.program = "memcached 1.6.18".to_owned();
    theirs.to_baseline = ratios(0.36);
    theirs.errors = 3;
    let mut base = row("inc_not_zero, shared", 1_480_000.0);
    base.to_rival = ratios(2.75);
    let acquires =
        Acquires { count: 12_345, p50: 5_200, p90: 6_100, p99: 9_000, p999: 20_000, max: 100_000 };
    let mut scan = row("scan", 40_000.0);
    scan.acquires = Some(acquires);
    let mut magazines = row("magazines", 44_000.0);
    magazines.acquires = Some(Acquires { p50: 60, ..acquires });
    magazines.to_baseline = ratios(1.1);
    let scenario = |id: &str, baseline: &str, rival: Option<&str>, rows| Scenario {
        id: id.to_owned(),
        title: format!("About {id}"),
        about: "What is done.".to_owned(),
        sockets: true,
        baseline: baseline.to_owned(),
        rival: rival.map(str::to_owned),
        rows,
    };
    let scenarios = vec![
        scenario(
            "e2e/memcached-pipeline",
            "inc_not_zero, shared",
            Some("memcached"),
            vec![base, ours, theirs],
        ),
        scenario("e2e/http-held", "scan", None, vec![scan, magazines]),
    ];
    Report {
        schema: SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        started: "2026-11-21T22:00:00Z".to_owned(),
        seconds: 100.0,
        settings: Settings {
            quick: true,
            seconds: 1.0,
            rounds: 12,
            threads: 2,
            seed: 7,
            generator: "tenure".to_owned(),
        },
        machine: Machine {
            arch: "aarch64".to_owned(),
            cpus: 1,
            kernel: "Linux 6.6.0".to_owned(),
            ..Machine::default()
        },
        verdicts: verdicts::judge(&scenarios),
        scenarios,
        missing: vec!["e2e/http-close: nginx: nginx is not installed".to_owned()],
    }
}
