use tenure_bench::GroupInfo;
use tenure_bench::result::Report;
use tenure_bench::run::{self, Request};
use tenure_report::curves::terminal;
#[cfg(target_os = "linux")]
use tenure_serve::e2e;

use crate::args::Bench;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Json};
use crate::progress::Bar;

pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if arguments.list {
        return output::print(&list(&groups()));
    }
    #[cfg(target_os = "linux")]
    if arguments.groups.iter().any(|name| e2e::is_meant(name)) {
        return run_e2e(arguments);
    }
    let json = Json::of(arguments.reports.json.as_ref());
    let request = request(arguments)?;
    let page = json.page(arguments.reports.report.as_ref(), "bench", &arguments.groups)?;
    output::check_all(json, page.as_deref())?;
    let interrupt = Interrupt::catch()?;
    let style = (json != Json::Stdout).then(output::style);
    let bar = Bar::new();
    let mut printed = Ok(());
    // Tables as they are finished. If printing fails, the run goes on for its files.
    let mut tell = |report: &Report| {
        if let (Some(style), Ok(())) = (style, &printed) {
            printed = bar.suspend(|| output::print(&terminal::newest(report, style)));
        }
    };
    let report = run::run(&request, &|| interrupt.came(), &bar, &mut tell);
    let report = report.map_err(Failure::input)?;

    output::tell(json, &report, page.as_deref(), terminal::last)?;
    printed?;
    if report.interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}

fn request(arguments: &Bench) -> Result<Request, Failure> {
    // A run checks this too, but after folders for its report were made.
    run::check_names(&arguments.groups).map_err(|error| Failure::input(told(error)))?;
    if arguments.with.is_some() {
        return Err(Failure::Input("--with is for `tenure bench e2e`".to_owned()));
    }
    Ok(Request {
        groups: arguments.groups.clone(),
        threads: arguments.threads.clone(),
        seconds: arguments.seconds,
        quick: arguments.quick,
        seed: arguments.seed,
    })
}

fn groups() -> Vec<GroupInfo> {
    let groups = run::groups();
    #[cfg(target_os = "linux")]
    let groups =
        [groups, vec![GroupInfo { name: e2e::GROUP, about: e2e::ABOUT, scenarios: e2e::listed() }]]
            .concat();
    groups
}

/// Adds the group that runs by itself to an error that lists groups.
fn told(mut error: run::Error) -> run::Error {
    if let run::Error::Unknown(unknown) = &mut error {
        unknown.groups = groups().iter().map(|group| group.name).collect();
    }
    error
}

pub(crate) fn list(groups: &[GroupInfo]) -> String {
    let longest =
        groups.iter().flat_map(|group| &group.scenarios).map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for group in groups {
        let about = format!("{}: {}", group.name, group.about);
        text += if text.is_empty() { "" } else { "\n" };
        text += &(output::style().wrapped(&about, "") + "\n");
        for (id, title) in &group.scenarios {
            text += &format!("  {id:longest$}  {title}\n");
        }
    }
    text
}

/// Whole servers: a run of another kind, with a report of its own.
#[cfg(target_os = "linux")]
fn run_e2e(arguments: &Bench) -> Result<(), Failure> {
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
    let json = Json::of(arguments.reports.json.as_ref());
    let page = json.page(arguments.reports.report.as_ref(), "bench", groups)?;
    output::check_all(json, page.as_deref())?;
    let request = e2e::Request {
        names: groups.clone(),
        threads,
        seconds: arguments.seconds,
        quick: arguments.quick,
        seed: arguments.seed,
        tenure,
        generator: crate::load::generator(arguments.with.as_deref()),
    };
    let report = e2e::run(&request, &Bar::new());
    let report = report.map_err(Failure::input)?;

    output::tell(json, &report, page.as_deref(), terminal::render)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_for_each_group_and_scenario() {
        let scenario = |id: &str, title: &str| (id.to_owned(), title.to_owned());
        let groups = [GroupInfo {
            name: "refs",
            about: "References.",
            scenarios: vec![scenario("refs/get-put", "Get and put"), scenario("refs/up", "Up")],
        }];
        assert_eq!(
            list(&groups),
            "refs: References.\n  refs/get-put  Get and put\n  refs/up       Up\n"
        );
    }
}
