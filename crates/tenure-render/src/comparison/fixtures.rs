//! Comparisons for tests.

use tenure_model::{
    Better, ComparedBenchmark, ComparedRound, ComparedSide, Comparison, ComparisonEnd,
    ComparisonVerdict, Speedup,
};

fn row(name: &str, range: [f64; 3], verdict: ComparisonVerdict) -> ComparedBenchmark {
    let [low, median, high] = range;
    let round = ComparedRound {
        before: 812.0,
        after: 812.0 / median,
        again: 810.0,
        others: 0.0,
        disturbed: false,
    };
    ComparedBenchmark {
        name: name.to_owned(),
        threads: None,
        unit: "ns".to_owned(),
        better: Better::Lower,
        before: 811.0,
        after: 811.0 / median,
        speedup: Speedup { median, range: [low, high] },
        control: Speedup { median: 1.0, range: [0.99, 1.01] },
        undisturbed: None,
        verdict,
        rounds: vec![round; 6],
    }
}

/// One benchmark, which is faster.
pub(crate) fn one() -> Comparison {
    let side = |command: &str| ComparedSide { command: command.to_owned(), revision: None };
    Comparison {
        schema: Comparison::SCHEMA.to_owned(),
        version: "0.1.0".to_owned(),
        before: side("./server-old --bench"),
        after: side("./server-new --bench"),
        metric: "wall time".to_owned(),
        machine: "A processor, 2 CPUs".to_owned(),
        cpus: 2,
        rounds: 6,
        seconds: 54.0,
        ended: ComparisonEnd::Narrow,
        rows: vec![row("", [1.24, 1.31, 1.38], ComparisonVerdict::Faster)],
        notes: Vec::new(),
    }
}

/// A benchmark for each verdict.
pub(crate) fn many() -> Comparison {
    let not_resolved = ComparisonVerdict::NotResolved { more_rounds: 40 };
    Comparison {
        metric: "what the benchmarks print".to_owned(),
        rows: vec![
            row("router/get", [1.24, 1.31, 1.38], ComparisonVerdict::Faster),
            row("router/put", [1.0 / 1.3, 0.8, 1.0 / 1.2], ComparisonVerdict::Slower),
            row(
                "parse<u8>|x",
                [0.98, 1.0, 1.021],
                ComparisonVerdict::NoDifference { within: 0.021 },
            ),
            row("scan", [0.93, 1.01, 1.08], not_resolved),
            row("drop", [0.5, 0.6, 0.7], ComparisonVerdict::TooFewRounds { more_rounds: 1 }),
        ],
        notes: vec!["only after has the benchmark drop".to_owned()],
        ..one()
    }
}

/// A benchmark at several numbers of threads.
pub(crate) fn sweep() -> Comparison {
    let at = |threads, median: f64| ComparedBenchmark {
        threads: Some(threads),
        unit: "ops/s".to_owned(),
        better: Better::Higher,
        before: 2e6,
        after: 2e6 * median,
        ..row("", [median * 0.97, median, median * 1.03], ComparisonVerdict::Faster)
    };
    Comparison { rows: vec![at(1, 1.05), at(2, 1.6), at(8, 4.2)], ..one() }
}

pub(crate) fn all() -> [Comparison; 3] {
    [one(), many(), sweep()]
}
