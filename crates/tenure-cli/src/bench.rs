//! `tenure bench`.

use std::path::PathBuf;

use tenure_bench::e2e;
use tenure_bench::report::{self, json, table};
use tenure_bench::run::{self, Request};
use tenure_bench::scenario::GroupInfo;

use crate::args::Bench;
use crate::failure::Failure;
use crate::load;
use crate::output::{self, Json};
use crate::progress::Reporter;

/// Runs the command.
pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if arguments.list {
        let mut groups = run::groups();
        groups.push(e2e::listed());
        return output::print(&list(&groups));
    }
    if arguments.groups.iter().any(|name| e2e::is_meant(name)) {
        return servers(arguments);
    }
    let json = Json::of(arguments.json.as_ref());
    let folder = json.folder(arguments.report.as_ref());
    let request = request(arguments)?;
    let page = folder.as_ref().map(|folder| folder.join(report::FILE_NAME));
    output::check_all(json, page.as_deref())?;
    let report = run::run(&request, &mut Reporter::new("measuring", "thread"));
    let report = report.map_err(Failure::input)?;

    let tell = || table::render(&report, output::style());
    let page = |folder: &PathBuf| report::write_report(&report, folder);
    output::tell(json, &json::render(&report), tell, folder.as_ref(), page)
}

/// Whole servers: a run of another kind, which is told in a report of its own.
fn servers(arguments: &Bench) -> Result<(), Failure> {
    let groups = &arguments.groups;
    if let Some(other) = groups.iter().find(|name| !e2e::is_meant(name)) {
        let line = format!("`e2e` runs by itself; run `tenure bench {other}` before or after it");
        return Err(Failure::Input(line));
    }
    let threads = match arguments.threads.as_deref() {
        None => None,
        Some(&[threads]) => Some(threads),
        Some(_) => return Err(Failure::Input("`e2e` takes one number of threads".to_owned())),
    };
    let tenure = std::env::current_exe().map_err(|error| {
        Failure::Input(format!("cannot find this command to start servers: {error}"))
    })?;
    let json = Json::of(arguments.json.as_ref());
    let folder = json.folder(arguments.report.as_ref());
    let page = folder.as_ref().map(|folder| folder.join(e2e::FILE_NAME));
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
    let report = e2e::run(&request, &mut Reporter::new("measuring", "thread"));
    let report = report.map_err(Failure::input)?;

    let tell = || e2e::text(&report, output::style());
    let page = |folder: &PathBuf| e2e::write_report(&report, folder);
    output::tell(json, &e2e::json(&report), tell, folder.as_ref(), page)
}

fn request(arguments: &Bench) -> Result<Request, Failure> {
    // A run finds out too, but after folders for its report were made.
    run::check_names(&arguments.groups).map_err(Failure::input)?;
    Ok(Request {
        groups: arguments.groups.clone(),
        threads: arguments.threads.clone(),
        seconds: arguments.seconds,
        quick: arguments.quick,
        seed: arguments.seed,
    })
}

/// The groups with their scenarios.
pub(crate) fn list(groups: &[GroupInfo]) -> String {
    let longest =
        groups.iter().flat_map(|group| &group.scenarios).map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for group in groups {
        text += &format!("{}: {}\n", group.name, group.about);
        for (id, title) in &group.scenarios {
            text += &format!("  {id:longest$}  {title}\n");
        }
    }
    text
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
