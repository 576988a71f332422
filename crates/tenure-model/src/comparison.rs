//! A comparison of two programs by runs that take turns: the types of `tenure compare --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of two programs is faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`Comparison::SCHEMA`].
    pub schema: String,
    /// Tenure's version.
    pub version: String,
    /// What is compared with: `A`.
    pub before: ComparedSide,
    /// What is compared: `B`.
    pub after: ComparedSide,
    /// What was measured, such as `wall time` or `criterion`.
    pub metric: String,
    /// The processor and its CPUs.
    pub machine: String,
    /// CPUs that the programs could use.
    pub cpus: u64,
    /// Whole rounds.
    pub rounds: u64,
    /// How long they took, in seconds.
    pub seconds: f64,
    /// Why no more rounds were run.
    pub ended: ComparisonEnd,
    /// Every benchmark, at each number of threads.
    pub rows: Vec<ComparedBenchmark>,
    /// What else the reader has to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Comparison {
    /// The version of the JSON: it changes when a field changes its meaning or goes away.
    pub const SCHEMA: &'static str = "tenure-compare/1";
}

/// One of the two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// The command, as it was given.
    pub command: String,
    /// The revision that it was built from, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// Why a comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonEnd {
    /// Every interval is as narrow as was asked for.
    Narrow,
    /// As many rounds as were asked for.
    Rounds,
    /// As much time as was asked for.
    Time,
    /// Ctrl-C.
    Interrupted,
    /// A command failed after the first round: the last note says how.
    Failed,
}

/// One benchmark, at one number of threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedBenchmark {
    /// Its name; empty if there is only one.
    pub name: String,
    /// The number of threads that `{threads}` stood for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// The unit of its figures.
    pub unit: String,
    /// Which figure is the better one.
    pub better: Better,
    /// The median of what `before` achieved, both times in each round.
    pub before: f64,
    /// The median of what `after` achieved.
    pub after: f64,
    /// How many times faster `after` is than `before`: below 1 it is slower.
    pub speedup: Speedup,
    /// How many times faster the second run of `before` in each round is than the first: the noise, and 1 without any.
    pub control: Speedup,
    /// The speedup without the disturbed rounds, if there were any and enough others are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undisturbed: Option<Speedup>,
    /// What follows.
    pub verdict: ComparisonVerdict,
    /// The figures of each round.
    pub rounds: Vec<ComparedRound>,
}

/// Which of two figures is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A time: the lower one.
    Lower,
    /// A rate: the higher one.
    Higher,
}

impl Better {
    /// How many times faster `new` is than `old`.
    #[must_use]
    pub fn faster(self, new: f64, old: f64) -> f64 {
        match self {
            Self::Lower => old / new,
            Self::Higher => new / old,
        }
    }
}

/// A ratio of speeds: the median of the rounds' ratios, and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speedup {
    /// The median.
    pub median: f64,
    /// The ends of the interval that has the true median of all benchmarks at once, with a probability of 95 %. With fewer
    /// rounds than that takes: the least and the most.
    pub range: [f64; 2],
}

/// What a comparison says of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// `after` is faster.
    Faster,
    /// `after` is slower.
    Slower,
    /// Any difference is smaller than this part of the figure.
    NoDifference {
        /// The part: 0.03 is 3 %.
        within: f64,
    },
    /// There are too few rounds for an interval.
    TooFewRounds {
        /// How many more it takes.
        more_rounds: u64,
    },
    /// The noise is larger than the difference.
    NotResolved {
        /// About how many more rounds would show a difference of 5 %, if the noise stays what it is.
        more_rounds: u64,
    },
}

/// One round: before, after, and before again; each other round runs them the other way around.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRound {
    /// What `before` achieved.
    pub before: f64,
    /// What `after` achieved.
    pub after: f64,
    /// What `before` achieved the second time.
    pub again: f64,
    /// CPUs that other programs used meanwhile, or that the hypervisor took.
    pub others: f64,
    /// Whether that was enough to matter: over 5 % of all CPUs.
    pub disturbed: bool,
}

impl ComparedRound {
    /// How many times faster `after` is than the geometric mean of both runs of `before`.
    #[must_use]
    pub fn speedup(&self, better: Better) -> f64 {
        better.faster(self.after, (self.before * self.again).sqrt())
    }
}
