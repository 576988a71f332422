//! `tenure bench`.

use std::path::PathBuf;

use tenure_bench::report::{self, json, table};
use tenure_bench::run::{self, GroupInfo, Request};

use crate::args::Bench;
use crate::failure::Failure;
use crate::output::{self, Json};
use crate::progress::Reporter;

/// Where the HTML report goes unless told.
const REPORTS: &str = "tenure-report";

/// Runs the command.
pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if arguments.list {
        return output::print(&list(&run::groups()));
    }
    let json = Json::of(arguments.json.as_ref());
    let unasked = (json != Json::Stdout).then(|| PathBuf::from(REPORTS));
    let folder = arguments.report.clone().or(unasked);
    let request = request(arguments)?;
    let page = folder.as_ref().map(|folder| folder.join(report::FILE_NAME));
    for path in json.file().into_iter().chain(page.as_deref()) {
        output::check(path)?;
    }
    let report = run::run(&request, &mut Reporter::new()).map_err(Failure::input)?;

    // Files first: a reader of the tables that goes away does not take them along.
    if let Some(path) = json.file() {
        output::write(path, &json::render(&report))?;
    }
    let written = folder
        .as_ref()
        .map(|folder| {
            report::write_report(&report, folder)
                .map_err(|error| Failure::unwritable(folder, &error))
        })
        .transpose()?;
    if json == Json::Stdout {
        output::print(&json::render(&report))?;
        if let Some(path) = written {
            eprintln!("Report: {}", path.display());
        }
        return Ok(());
    }
    output::print(&table::render(&report, output::style()))?;
    match written {
        Some(path) => output::print(&format!("\nReport: {}\n", path.display())),
        None => Ok(()),
    }
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

fn list(groups: &[GroupInfo]) -> String {
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
