use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tenure_bench::simulate::cpus::Cpus;
use tenure_bench::simulate::run::{DEFAULT_SEED, DEFAULT_US};
use tenure_sim::machine;

use crate::run::RunArgs;
use crate::values::{line, microseconds, seconds, threads};
use crate::watch::WatchArgs;

/// Find shared objects that slow down as cores are added, and measure what mends them
#[derive(Debug, Parser)]
#[command(name = "tenure", version)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // In the order of a newcomer: find, predict, prove.
    /// Run a program, and find the cache lines that its threads contend for
    ///
    /// The program's memory accesses are instrumented: cargo and, with --cc, C and C++ builds are made to do so. The
    /// report goes to standard error; the program's input, output, signals and exit status are its own. Lines
    /// are ranked by how often they could have changed hands, so that a busy or small machine shows the same. Once
    /// the findings are printed, the command predicts what each change would give; Ctrl-C skips that.
    #[command(
        override_usage = "tenure run [OPTIONS] -- COMMAND...",
        after_help = "Examples:\n  \
                      tenure run -- cargo run --release --bin server\n  \
                      tenure run -- cargo test\n  \
                      tenure run --cc -- make && tenure run -- ./server\n  \
                      cargo tenure run --release --bin server    # as the first one\n  \
                      tenure run --no-predict -- ./server    # only the findings\n  \
                      tenure run --check budget.toml -- cargo bench\n\n\
                      Exit status: the program's, or 128 plus the signal's number if a signal ended it. If the program's is 0: \
                      1 if a check failed or, with --diff, a finding is new or worse. 2 on wrong usage, or if the program \
                      cannot be run or recorded."
    )]
    Run(RunArgs),
    /// Watch a program that runs, and find the cache lines that its threads contend for
    ///
    /// The program stays as it is: no rebuild, no restart, no performance counters. The clock samples
    /// threads where they wait, and breakpoints in the other threads tell who else touches that line. Lines are ranked
    /// by the processor time that they cost, at most. Once the findings are printed, the command predicts what each change
    /// would give; Ctrl-C skips that. A program named after -- is started, and watched until it ends or for the time given.
    #[command(
        override_usage = "tenure watch [OPTIONS] <--pid N | --check | -- PROGRAM...>",
        after_help = "Examples:\n  \
                      tenure watch --pid $(pidof server) --for 30s\n  \
                      tenure watch --pid 1234 --html watch.html --json watch.json\n  \
                      tenure watch -- ./server --port 8080\n  \
                      tenure watch --check\n\n\
                      Exit status: 0, or that of a program that was started, unless --stop ended it; 1 if, with --diff, a \
                      finding is new or worse; 2 on wrong usage, or if the program cannot be watched."
    )]
    Watch(WatchArgs),
    /// Find fields that share a cache line with a word that many CPUs write
    ///
    /// Reads the debugging information of a program, a library or the running kernel, and ranks the
    /// types to mend, worst first. For types and variables named on the command line: everything, with their maps.
    ///
    /// A contended word is one that many CPUs write: a reference count, a lock, another atomic. `!`
    /// marks it; `*` marks what suffers: members on its line that other CPUs likely read. A score, from
    /// 0 to 100, orders the findings; it comes from types and names, and measures nothing. The
    /// confidence is the share of possible addresses at which the two do share a line.
    #[command(
        override_usage = "tenure layout [OPTIONS] <--kernel | FILE> [NAME]...",
        after_help = "Examples:\n  \
                      tenure layout --kernel\n  \
                      tenure layout ./server --in '*/src/*'\n  \
                      tenure layout ./server 'Session*' --suggest\n  \
                      tenure layout ./server --perf perf.data\n  \
                      tenure layout ./server --check rules.toml\n\n\
                      `cargo doc -p tenure-layout --open` explains the score (module `sharing`) and \
                      rules files (module `rules`).\n\
                      Exit status: 0; 1 if a check failed or, with --diff, a finding is new or worse; 2 on unreadable input or \
                      wrong usage."
    )]
    Layout(LayoutArgs),
    /// Simulate counts, layouts, pools and lazy references on a machine of up to 1,024 CPUs
    ///
    /// Runs the library's own code on simulated CPUs with simulated caches. Prints how the variants of
    /// each scenario scale, and which struct members made cache lines move, and writes an HTML report. The
    /// same request gives the same figures on every machine.
    #[command(after_help = "Examples:\n  \
                            tenure sim refs --cpus 1..192\n  \
                            tenure sim dst/cells refs/get-put --cpus 1,28,112 --us 1000\n  \
                            tenure sim pattern.toml --cpus 1..128 --machine epyc-2s-256\n  \
                            tenure sim --calibrate && tenure sim refs --machine this\n\n\
                            A machine file is TOML; `cargo doc -p tenure-sim --open` shows one (module `machine`).")]
    Sim(SimArgs),
    /// Benchmark counts, Arc, Weak, pools, lazy references, or registries on this machine
    ///
    /// Prints a table for each scenario and a verdict on each of this project's claims, and writes an
    /// HTML report.
    #[command(after_help = "Examples:\n  \
                            tenure bench\n  \
                            tenure bench refs dst --threads 1,2 --seconds 2\n\n\
                            Exit status: 0; 2 on wrong usage, or if it cannot be run; 130 if Ctrl-C ended it early, \
                            after what was measured.")]
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Groups or single scenarios to run (see --list) [default: all]
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,

    /// Numbers of threads [default: 1, 2, 4, ... up to all CPUs, and twice as many; 1 and all
    /// CPUs where threads share nothing]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = threads)]
    pub(crate) threads: Option<Vec<usize>>,

    /// Measure each row for S seconds at each number of threads [default: 0.5, less if all rows together
    /// would take more than 45 s]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// Check that everything works; too few figures to quote, and no verdicts
    #[arg(long)]
    pub(crate) quick: bool,

    /// Seed of the random order, to repeat a run's order [default: a new one]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,

    /// List the groups and their scenarios; measure nothing
    #[arg(long)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) reports: ReportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Write the results as JSON to FILE, or to standard output in place of the tables with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the HTML report into DIR [default: tenure-report; none with `--json -`]
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LayoutArgs {
    /// Read the running kernel (/sys/kernel/btf/vmlinux)
    #[arg(long)]
    pub(crate) kernel: bool,

    /// An executable, library, object file or archive with debugging information (DWARF or BTF), or a
    /// file of raw BTF. Not with --kernel
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<OsString>,

    /// Report only these types and variables, in full and with their maps; `*` matches anything
    #[arg(value_name = "NAME")]
    pub(crate) types: Vec<OsString>,

    /// Report only types declared in matching files, such as `*/include/net/*`, or in Rust those of a crate
    /// or module, such as `server::session` (repeatable). Needs DWARF
    #[arg(long = "in", value_name = "PATTERN")]
    pub(crate) declared_in: Vec<String>,

    /// List findings of dependencies and standard libraries as well
    #[arg(long)]
    pub(crate) all: bool,

    /// Report at most N findings [default: 20; all of types that are named; none with --check]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// Propose a better layout: another order of members, lines of its own for the contended word, or splitting it
    /// off; each with its price in bytes per object
    #[arg(long)]
    pub(crate) suggest: bool,

    /// With --suggest: keep this member, and all before it, in place: MEMBER or TYPE.MEMBER (repeatable)
    #[arg(long = "pin", value_name = "MEMBER")]
    pub(crate) pins: Vec<String>,

    /// Read rules that say which members are contended, read mostly or cold (repeatable)
    #[arg(long, value_name = "RULES.toml")]
    pub(crate) rules: Vec<PathBuf>,

    /// Check the assertions of a rules file, and exit with 1 if one fails
    #[arg(long, value_name = "RULES.toml")]
    pub(crate) check: Option<PathBuf>,

    /// Show which findings came, went or moved since an older build, or since a report that --json wrote; exit with 1 if
    /// one is new or worse
    #[arg(long, value_name = "OLD")]
    pub(crate) diff: Option<PathBuf>,

    /// Format to read if the file has both [default: dwarf]
    #[arg(long, value_name = "FORMAT", value_parser = ["dwarf", "btf"])]
    pub(crate) format: Option<String>,

    /// Separate file with the debugging information, if it is not found automatically
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub(crate) debug_file: Option<PathBuf>,

    /// BTF of the kernel that a module was built for [default: the running kernel's]
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub(crate) base: Option<PathBuf>,

    /// Read what perf has measured of the program: a perf.data file of perf c2c record or perf mem record, or what
    /// perf script printed (`-` for standard input). Measured findings are listed first
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernel", "no_code"])]
    pub(crate) perf: Option<PathBuf>,

    /// Do not read the program's code: judge words by their types and names alone, which is faster
    #[arg(long)]
    pub(crate) no_code: bool,

    /// Size of a cache line in bytes
    #[arg(long, value_name = "BYTES", default_value_t = tenure_layout::LINE_BYTES, value_parser = line)]
    pub(crate) line: u64,

    /// Write everything as JSON to FILE, or to standard output in place of text with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write an HTML page with the maps of all reported findings, before and after
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Groups or single scenarios to simulate (see --list), or the file of one access pattern (see
    /// docs/patterns.md) [default: all scenarios]
    #[arg(value_name = "SCENARIO | PATTERN.toml")]
    pub(crate) names: Vec<String>,

    /// Numbers of CPUs: `1,2,8`, or `1..192` for both ends and the powers of two between them, as far as
    /// the machine goes [default: 1, 2, 4, ... up to all of the machine's]
    #[arg(long, value_name = "N,N | 1..N")]
    pub(crate) cpus: Option<Cpus>,

    /// Machine to simulate: a built-in one (see --list), or a file that describes one
    #[arg(long, value_name = "NAME | FILE.toml", default_value = machine::DEFAULT)]
    pub(crate) machine: String,

    /// Measure each row for N simulated microseconds
    #[arg(long, value_name = "N", default_value_t = DEFAULT_US, value_parser = microseconds)]
    pub(crate) us: u32,

    /// Seed of everything random
    #[arg(long, value_name = "SEED", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,

    /// Measure this machine for some seconds and write it to a file for `--machine this`; simulate
    /// nothing [default: this.toml]
    #[arg(long, value_name = "FILE.toml", num_args = 0..=1, default_missing_value = machine::THIS_FILE,
        conflicts_with_all = ["names", "cpus", "machine", "us", "seed", "json", "report", "list"])]
    pub(crate) calibrate: Option<PathBuf>,

    /// Print published figures beside simulated ones; simulate nothing else
    #[arg(long, conflicts_with_all = ["names", "cpus", "machine", "us", "seed", "json", "report", "list",
        "calibrate"])]
    pub(crate) validate: bool,

    /// List the scenarios and the machines; simulate nothing
    #[arg(long)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) reports: ReportArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(words: &[&str]) -> Result<BenchArgs, clap::Error> {
        let words = ["tenure", "bench"].iter().chain(words);
        match CommandLine::try_parse_from(words)?.command {
            Command::Bench(bench) => Ok(bench),
            _ => unreachable!("`bench` was asked for"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        <CommandLine as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn threads_are_a_list() {
        assert_eq!(bench(&["--threads", "1,2, 8"]).unwrap().threads, Some(vec![1, 2, 8]));
        for bad in ["0", "1,0", "-1", "two", "", "1,,2", "65537", "99999999999999999999999"] {
            assert!(bench(&[&format!("--threads={bad}")]).is_err(), "{bad}");
        }
    }
}
