use std::path::Path;

use tenure_bench::simulate::run::{self, Request};
use tenure_bench::simulate::{calibrate, pattern, validation};
use tenure_report::curves::terminal;
use tenure_sim::machine;

use crate::args::SimArgs;
use crate::bench;
use crate::failure::EarlyEnd;
use crate::output::{self, Json};
use crate::progress::ProgressDisplay;

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
    let json = Json::of(arguments.reports.json.as_ref());
    let request = Request {
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
    let page = json.page(arguments.reports.report.as_ref(), "sim", &arguments.names)?;
    output::check_all(json, page.as_deref())?;
    let report = run::run(&request, &ProgressDisplay::new());
    let report = report.map_err(EarlyEnd::input)?;
    output::tell(json, &report, page.as_deref(), terminal::render)
}

fn pattern(arguments: &SimArgs, request: &Request) -> Result<(), EarlyEnd> {
    let [file] = arguments.names.as_slice() else {
        let line = "a pattern is simulated alone; name one file, and no scenario beside it";
        return Err(EarlyEnd::Input(line.to_owned()));
    };
    let json = Json::of(arguments.reports.json.as_ref());
    let its = pattern::read(Path::new(file)).map_err(EarlyEnd::input)?;
    let page =
        json.page(arguments.reports.report.as_ref(), "sim", std::slice::from_ref(&its.name))?;
    output::check_all(json, page.as_deref())?;
    let report = pattern::run(&its, request, &ProgressDisplay::new()).map_err(EarlyEnd::input)?;
    output::tell(json, &report, page.as_deref(), terminal::render)
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
