//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tenure_bench::simulate::cpus::Cpus;
use tenure_bench::simulate::machine;
use tenure_bench::simulate::run::{DEFAULT_SEED, DEFAULT_US};

#[cfg(target_os = "linux")]
use crate::load::Load;
#[cfg(target_os = "linux")]
use crate::serve::Serve;
use crate::values::{line, microseconds, seconds, threads};

/// Find shared objects that slow down as cores are added, and measure what mends them
#[derive(Debug, Parser)]
#[command(name = "tenure", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmark counts, Arc, Weak, pools, lazy references and registries on this machine, or whole servers
    ///
    /// Prints a table for each scenario and what the figures say about this project's claims, and
    /// writes an HTML report.
    Bench(Bench),
    /// Find fields that share a cache line with a word that many CPUs write
    ///
    /// Reads the debugging information of a program, of a library or of the running kernel, and lists
    /// the types to mend, the worst first. With types named: everything about those, and their maps.
    ///
    /// A contended word is one that many CPUs write: a reference count, a lock, another atomic. `!`
    /// marks it, and `*` what suffers beside it: members that others are likely to read meanwhile. A
    /// score, from 0 to 100, orders the findings; it comes from types and names, and measures nothing.
    /// A confidence says at what share of the addresses that an object may have the two share a line.
    #[command(
        override_usage = "tenure layout [OPTIONS] <--kernel | FILE> [TYPE]...",
        after_help = "Examples:\n  \
                      tenure layout --kernel\n  \
                      tenure layout ./server --in '*/src/*'\n  \
                      tenure layout ./server 'Session*' --suggest\n  \
                      tenure layout ./server --check rules.toml\n\n\
                      The score and the format of rules files are in the documentation of the crate \
                      tenure-layout, its modules `findings` and `rules` \
                      (`cargo doc -p tenure-layout --open`).\n\
                      Exit status: 0; 1 if a check failed; 2 if something could not be read or understood."
    )]
    Layout(Layout),
    #[cfg(target_os = "linux")]
    /// Make load for a memcached or an HTTP server, and measure how it answers
    ///
    /// Prints answers a second, latencies, what went wrong, and the CPU time that each answer took.
    #[command(after_help = "Examples:\n  \
                      tenure load memcached 127.0.0.1:11211 --pipeline 16 --pid $(pidof memcached)\n  \
                      tenure load memcached 127.0.0.1:11211 --rate 50000 --zipf 1\n  \
                      tenure load http 127.0.0.1:8080 --path /index.html --close --clients 100\n\n\
                      Exit status: 0; 1 if an answer was wrong, or if no answer came for a whole second; 2 if there \
                      was no run. Refusals and broken connections are counted and do not change it.")]
    Load(Load),
    /// Simulate contended scenarios on a machine that is not at hand, of up to 1,024 CPUs
    ///
    /// Runs the scenarios of `bench`, and the code that ships, on simulated CPUs with simulated caches.
    /// Prints for each scenario how its variants fare on more and more CPUs, and which members of
    /// which cache lines moved, and writes an HTML report. The same request gives the same figures on
    /// every machine.
    #[command(after_help = "Examples:\n  \
                            tenure sim refs --cpus 1..192\n  \
                            tenure sim dst/cells refs/get-put --cpus 1,28,112 --us 1000\n  \
                            tenure sim --calibrate && tenure sim refs --machine this\n\n\
                            A machine file is TOML; the documentation of the crate tenure-sim, its module \
                            `machine`, has one (`cargo doc -p tenure-sim --open`).")]
    Sim(Sim),
    #[cfg(target_os = "linux")]
    /// Serve memcached's protocol or HTTP from objects that all cores share
    ///
    /// The counts, layouts and free lists under the server are chosen here, so that what each repair is
    /// worth to a whole program can be measured on one binary.
    #[command(subcommand)]
    Serve(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Groups or single scenarios to run; all of them but e2e if none is named (see --list). e2e runs by
    /// itself
    #[arg(value_name = "GROUP")]
    pub(crate) groups: Vec<String>,

    /// Numbers of threads to run with [default: 1, 2, 4, ... up to all CPUs, and twice as many]; for e2e
    /// one number, of each server and of the load [default: all CPUs]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = threads)]
    pub(crate) threads: Option<Vec<usize>>,

    /// Seconds to measure each row at each number of threads [default: 0.5, or less where all rows
    /// together would take more than 45]; for e2e of each of 12 rounds [default: 1]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Option<f64>,

    /// See that everything works; the figures are too few to quote
    #[arg(long)]
    pub(crate) quick: bool,

    /// Draw the random order from this seed, to repeat that order [default: a new one]
    #[arg(long, value_name = "SEED")]
    pub(crate) seed: Option<u64>,

    /// For `e2e`: have wrk make the load of HTTP, or memtier that of memcached
    #[arg(long, value_name = "NAME", value_parser = ["memtier", "wrk"])]
    pub(crate) with: Option<String>,

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

#[derive(Debug, Args)]
pub(crate) struct Layout {
    /// Read the running kernel (/sys/kernel/btf/vmlinux)
    #[arg(long)]
    pub(crate) kernel: bool,

    /// What to read: an executable, a library, an object file or an archive with debugging information
    /// (DWARF or BTF), or a file of raw BTF. Not with --kernel
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<OsString>,

    /// Tell about these types only, in full and with their maps; `*` stands for anything
    #[arg(value_name = "TYPE")]
    pub(crate) types: Vec<OsString>,

    /// Tell only about types declared in files like this: `*/include/net/*` (repeatable; needs DWARF
    /// from a compiler of C or C++, as rustc leaves the files out: name types instead, `mycrate::*`)
    #[arg(long = "in", value_name = "PATTERN")]
    pub(crate) declared_in: Vec<String>,

    /// Tell at most this many findings [default: 20; none with --check]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// Look for a better order of members, and show what it costs
    #[arg(long)]
    pub(crate) suggest: bool,

    /// With --suggest: leave this member and all before it where they are: MEMBER, or TYPE.MEMBER
    /// (repeatable)
    #[arg(long = "pin", value_name = "MEMBER")]
    pub(crate) pins: Vec<String>,

    /// Read what else is known of types and members: which are contended, read mostly or cold
    /// (repeatable)
    #[arg(long, value_name = "RULES.toml")]
    pub(crate) rules: Vec<PathBuf>,

    /// Check the assertions of a rules file, say which hold, and exit with 1 if one does not
    #[arg(long, value_name = "RULES.toml")]
    pub(crate) check: Option<PathBuf>,

    /// Read this format if there are both [default: dwarf]
    #[arg(long, value_name = "FORMAT", value_parser = ["dwarf", "btf"])]
    pub(crate) format: Option<String>,

    /// The file with the debugging information, if that is a separate one that is not found by itself
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub(crate) debug_file: Option<PathBuf>,

    /// The kernel's BTF that a module's BTF builds on [default: the running kernel's]
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub(crate) base: Option<PathBuf>,

    /// The size of a cache line in bytes
    #[arg(long, value_name = "BYTES", default_value_t = tenure_layout::LINE_BYTES, value_parser = line)]
    pub(crate) line: u64,

    /// Write everything as JSON to a file, or with `-` to standard output in place of text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a page (HTML) with the maps of all findings told, before and after
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Sim {
    /// Groups or single scenarios to simulate; all of them if none is named (see --list)
    #[arg(value_name = "SCENARIO")]
    pub(crate) names: Vec<String>,

    /// Numbers of CPUs: `1,2,8`, or `1..192` for the powers of two in it and its ends, as far as the
    /// machine goes [default: 1, 2, 4, ... up to all of the machine's]
    #[arg(long, value_name = "N,N | 1..N")]
    pub(crate) cpus: Option<Cpus>,

    /// The machine: one that comes along (see --list), or a file that describes one
    #[arg(long, value_name = "NAME | FILE.toml", default_value = machine::DEFAULT)]
    pub(crate) machine: String,

    /// Simulated microseconds that each row is measured for
    #[arg(long, value_name = "N", default_value_t = DEFAULT_US, value_parser = microseconds)]
    pub(crate) us: u32,

    /// Draw everything random from this seed
    #[arg(long, value_name = "SEED", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,

    /// Measure this machine for some seconds, write it to a file for `--machine this`, and simulate
    /// nothing [default: this.toml]
    #[arg(long, value_name = "FILE.toml", num_args = 0..=1, default_missing_value = machine::THIS_FILE,
        conflicts_with_all = ["names", "cpus", "machine", "us", "seed", "json", "report", "list"])]
    pub(crate) calibrate: Option<PathBuf>,

    /// Print what others have measured beside what the simulator says of it, and simulate nothing else
    #[arg(long, conflicts_with_all = ["names", "cpus", "machine", "us", "seed", "json", "report", "list",
        "calibrate"])]
    pub(crate) validate: bool,

    /// List the scenarios and the machines, and simulate nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Write the results as JSON to a file, or with `-` to standard output in place of the tables
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the HTML report into this folder [default: tenure-report; none with `--json -`]
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(words: &[&str]) -> Result<Bench, clap::Error> {
        let words = ["tenure", "bench"].iter().chain(words);
        match Arguments::try_parse_from(words)?.command {
            Command::Bench(bench) => Ok(bench),
            _ => unreachable!("`bench` was asked for"),
        }
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
}
