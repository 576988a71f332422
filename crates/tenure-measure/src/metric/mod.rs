//! What a run achieved, from what it printed.
//!
//! [`readings`] knows the output of common benchmark tools. Of any other program, an [`Pattern`] or [`last_number`] reads
//! the figures.
//!
//! | module | subject |
//! |---|---|
//! | `text` | lines without colours and progress, and numbers |
//! | `unit` | units, and which figure is the better one |
//! | `figures` | the readings so far |
//! | `formats` | what tools print, line by line |
//! | `json` | what tools export as JSON |
//! | `pattern` | figures that the user describes |
//!
//! | tool | read |
//! |---|---|
//! | criterion | the estimate of `time:`, and of `thrpt:` |
//! | divan | the median of each row, and of its counters |
//! | `cargo bench` with libtest | `ns/iter`, `MB/s` |
//! | google-benchmark | Time, CPU and rates, as text or JSON; of repetitions the median |
//! | `go test -bench` | every metric whose unit says which figure is better |
//! | JMH | scores per operation and operations per time, as text or JSON |
//! | hyperfine | the mean of the text, the median of `--export-json` |
//! | redis-benchmark | requests per second, p50 and p99; also of `-q` and `--csv` |
//! | wrk, wrk2, hey | requests per second, and p50 and p99 of `--latency` |
//! | memtier_benchmark | operations per second, p50 and p99 of the totals |
//! | db_bench | `micros/op`, `ops/sec`, `MB/s` |
//! | pgbench | transactions per second, and the average latency |
//!
//! Times are in ns and rates per second, so that runs that print `1.2 µs` and `950 ns` compare. A figure that is not finite or
//! not above zero has no ratio to another one, and is left out.

mod figures;
mod formats;
mod json;
mod pattern;
mod text;
mod unit;

pub use figures::Reading;
pub use pattern::{Pattern, PatternError, last_number};

use figures::Figures;

/// A longer line is no benchmark's: no tool prints 4 KiB about one.
const MAX_LINE: usize = 4096;

/// The figures that known benchmark tools printed: in order, those in JSON last. Names are unique: the second `x` is `x #2`.
///
/// ```
/// use tenure_measure::metric::readings;
///
/// let found = readings("test tests::add ... bench:       1,234 ns/iter (+/- 56)\n");
/// assert_eq!((found[0].name.as_str(), found[0].value), ("tests::add", 1234.0));
/// ```
#[must_use]
pub fn readings(output: &str) -> Vec<Reading> {
    read(output).readings(true)
}

/// As [`readings`], without the rates that a tool prints beside a time: `thrpt:`, `MB/s`, `items_per_second`.
///
/// The tool computes them from that time. As benchmarks of their own they would only widen the intervals of all the others.
#[must_use]
pub fn independent_readings(output: &str) -> Vec<Reading> {
    read(output).readings(false)
}

fn read(output: &str) -> Figures {
    let text = text::plain(output);
    let mut figures = Figures::default();
    let mut formats = formats::all();
    for line in text::lines(&text).filter(|line| line.len() <= MAX_LINE) {
        formats.iter_mut().any(|format| format.read(line, &mut figures));
    }
    json::read(&text, &mut figures);
    figures
}
