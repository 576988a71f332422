//! `tenure sim`.

use std::path::{Path, PathBuf};

use clap::Args;
use tenure_bench::simulate::cpus::CpuCounts;
use tenure_bench::simulate::run::{self, DEFAULT_SEED, DEFAULT_US, SimulateRequest};
use tenure_bench::simulate::{calibrate, pattern, validation};
use tenure_report::curves::terminal;
use tenure_sim::machine;

use crate::bench;
use crate::failure::EarlyEnd;
use crate::output::{self, ReportArgs};
use crate::progress::ProgressDisplay;
use crate::values::{microseconds, seed};

/// Simulate the code of the library `tenure`, or an access pattern, on up to 1,024 CPUs
///
/// Runs the library's own code on simulated CPUs with simulated caches. Prints how the variants of each scenario scale and
/// which struct members made cache lines move, and writes an HTML report. The same request gives the same figures on every machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tenure sim refs --cpus 1..192\n  \
                        tenure sim dst/cells refs/get-put --cpus 1,28,112 --us 1000\n  \
                        tenure sim pattern.toml --cpus 1..128 --machine epyc-2s-256\n  \
                        tenure sim --calibrate && tenure sim refs --machine this\n\n\
                        A machine file is TOML; `cargo doc -p tenure-sim --open` shows one (module `machine`).")]
pub(crate) struct SimArgs {
    /// Simulate these groups or single scenarios (see --list), or the file of one access pattern (see
    /// docs/patterns.md) [default: all scenarios]
    #[arg(value_name = "SCENARIO | PATTERN.toml")]
    names: Vec<String>,

    /// Simulate these numbers of CPUs: `1,2,8`, or `1..192` for both ends and the powers of two between them, as far as
    /// the machine goes [default: 1, 2, 4, ... up to all of the machine's]
    #[arg(long, value_name = "N,N | 1..N")]
    cpus: Option<CpuCounts>,

    /// Simulate this machine: a built-in one (see --list), or a file that describes one
    #[arg(long, value_name = "NAME | FILE.toml", default_value = machine::DEFAULT)]
    machine: String,

    /// Measure each row for N simulated microseconds
    #[arg(long, value_name = "N", default_value_t = DEFAULT_US, value_parser = microseconds)]
    us: u32,

    /// Draw all that is random from this seed
    #[arg(long, value_name = "SEED", default_value_t = DEFAULT_SEED, value_parser = seed)]
    seed: u64,

    /// Measure this machine for some seconds and write it to a file for `--machine this`; simulate
    /// nothing [default: this.toml]
    #[arg(long, value_name = "FILE.toml", num_args = 0..=1, default_missing_value = machine::THIS_FILE,
        conflicts_with_all = ["names", "cpus", "machine", "us", "seed", "json", "report", "list"])]
    calibrate: Option<PathBuf>,

    /// Print published figures beside simulated ones; simulate nothing else
    #[arg(long, conflicts_with_all = ["names", "cpus", "machine", "us", "seed", "json", "report", "list",
        "calibrate"])]
    validate: bool,

    /// List the scenarios and the machines; simulate nothing
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    reports: ReportArgs,
}

pub(crate) fn run(arguments: &SimArgs) -> Result<(), EarlyEnd> {
    if arguments.list {
        return output::print(&list());
    }
    if arguments.validate {
        return output::print(&validation::terminal(&validation::rows(), output::style()));
    }
    if let Some(path) = &arguments.calibrate {
        return calibrate(path);
    }
    let request = SimulateRequest {
        names: arguments.names.clone(),
        cpus: arguments.cpus.clone(),
        machine: machine::open(&arguments.machine).map_err(EarlyEnd::input)?,
        measured_us: arguments.us,
        seed: arguments.seed,
    };
    if arguments.names.iter().any(|name| machine::is_file(Path::new(name))) {
        return pattern(arguments, &request);
    }
    run::check(&request).map_err(EarlyEnd::input)?;
    let page = arguments.reports.page("sim", &arguments.names)?;
    let report = run::run(&request, &ProgressDisplay::new());
    let report = report.map_err(EarlyEnd::input)?;
    arguments.reports.tell(&report, page.as_deref(), terminal::render)
}

fn pattern(arguments: &SimArgs, request: &SimulateRequest) -> Result<(), EarlyEnd> {
    let [file] = arguments.names.as_slice() else {
        let line = "a pattern is simulated alone; name one file, and no scenario beside it";
        return Err(EarlyEnd::Input(line.to_owned()));
    };
    let its = pattern::read(Path::new(file)).map_err(EarlyEnd::input)?;
    let page = arguments.reports.page("sim", std::slice::from_ref(&its.name))?;
    let report = pattern::run(&its, request, &ProgressDisplay::new()).map_err(EarlyEnd::input)?;
    arguments.reports.tell(&report, page.as_deref(), terminal::render)
}

fn calibrate(path: &Path) -> Result<(), EarlyEnd> {
    if !machine::is_file(path) {
        let line = format!(
            "the file that --calibrate writes ends in .toml, and '{0}' does not; name it '{0}.toml'",
            path.display()
        );
        return Err(EarlyEnd::input(line));
    }
    output::check(path)?;
    if cfg!(debug_assertions) {
        eprintln!(
            "warning: this build is not optimised, so the machine will seem slower than it is; build with --release"
        );
    }
    let machine = calibrate::this_machine(&ProgressDisplay::new());
    let machine = machine.map_err(EarlyEnd::input)?;
    output::write(path, &machine.to_toml())?;
    let name = if path == Path::new(machine::THIS_FILE) {
        machine::THIS.to_owned()
    } else {
        path.display().to_string()
    };
    output::print(&format!(
        "{}\nWritten to {}; simulate it with `tenure sim refs --machine {name}`.\n",
        machine.about,
        path.display()
    ))
}

fn list() -> String {
    let machines = machine::listed();
    let longest = machines.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let mut text = bench::list(&run::groups());
    text += "\nMachines:\n";
    for (name, cpus, about) in machines {
        text += &format!("  {name:longest$}  {cpus:>4} CPUs  {about}\n");
    }
    text
}
