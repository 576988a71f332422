//! `tenure bench e2e`: whole servers, a run of another kind that is told in a report of its own.

use tenure_report::curves::terminal;
use tenure_serve::e2e;

use crate::args::Bench;
use crate::failure::Failure;
use crate::load;
use crate::output::{self, Json};
use crate::progress::Bar;

/// Runs the command.
pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    let groups = &arguments.groups;
    if let Some(other) = groups.iter().find(|name| !e2e::is_meant(name)) {
        let line = format!("`e2e` runs by itself; run `tenure bench {other}` before or after it");
        return Err(Failure::Input(line));
    }
    let threads = match arguments.threads.as_deref() {
        None => None,
        Some(&[threads]) => Some(threads),
        Some(_) => {
            return Err(Failure::Input(
                "`e2e` takes one number of threads, such as `--threads 2`".to_owned(),
            ));
        }
    };
    let tenure = std::env::current_exe().map_err(|error| {
        Failure::Input(format!("cannot find this command to start servers: {error}"))
    })?;
    let json = Json::of(arguments.json.as_ref());
    let page = json.page(arguments.report.as_ref(), "bench", groups)?;
    output::check_all(json, page.as_deref())?;
    let request = e2e::Request {
        names: groups.clone(),
        threads,
        seconds: arguments.seconds,
        quick: arguments.quick,
        seed: arguments.seed,
        tenure,
        generator: load::generator(arguments.with.as_deref()),
    };
    let report = e2e::run(&request, &Bar::new());
    let report = report.map_err(Failure::input)?;

    output::tell(json, &report, page.as_deref(), terminal::render)
}
