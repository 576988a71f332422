//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tenure_bench::run::MOST_THREADS;

/// Benchmarks for contended reference counts.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmark contended reference counts, Arc and Weak on this machine
    ///
    /// Prints a table for each scenario and what the figures say about this project's claims, and
    /// writes an HTML report.
    Bench(Bench),
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Groups or single scenarios to run; all of them if none is named (see --list)
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,

    /// Numbers of threads to run with [default: 1, 2, 4, ... up to all CPUs, and twice as many]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = threads)]
    pub(crate) threads: Option<Vec<usize>>,

    /// Seconds to measure each row at each number of threads [default: 0.5, or less where all rows
    /// together would take more than 45]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// See that everything works; the figures are too few to quote
    #[arg(long)]
    pub(crate) quick: bool,

    /// Draw the random order from this seed, to repeat that order [default: a new one]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,

    /// List the groups and their scenarios, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Write the results as JSON to a file, or with `-` to standard output in place of the tables
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the HTML report into this folder [default: tenure-report; none with `--json -`]
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
}

fn threads(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(0) => Err("a run needs at least 1 thread".to_owned()),
        Ok(threads) if threads > MOST_THREADS => {
            Err(format!("at most {MOST_THREADS} threads can be asked for"))
        }
        Ok(threads) => Ok(threads),
        Err(_) => Err("numbers of threads look like `1,2,8`".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("seconds are a number above 0, such as `0.5`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(words: &[&str]) -> Result<Bench, clap::Error> {
        let words = ["tenure", "bench"].iter().chain(words);
        let Command::Bench(bench) = Arguments::try_parse_from(words)?.command;
        Ok(bench)
    }

    #[test]
    fn the_definition_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn threads_are_a_list() {
        assert_eq!(bench(&["--threads", "1,2, 8"]).unwrap().threads, Some(vec![1, 2, 8]));
        for bad in ["0", "1,0", "-1", "two", "", "1,,2", "65537", "99999999999999999999999"] {
            assert!(bench(&[&format!("--threads={bad}")]).is_err(), "{bad}");
        }
    }

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(bench(&["--seconds", "0.25"]).unwrap().seconds, Some(0.25));
        for bad in ["0", "-1", "inf", "NaN", "soon", ""] {
            assert!(bench(&[&format!("--seconds={bad}")]).is_err(), "{bad}");
        }
    }
}
