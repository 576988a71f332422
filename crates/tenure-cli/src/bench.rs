//! `tenure bench`.

use std::path::{Path, PathBuf};

use tenure_bench::report::{self, json, table};
use tenure_bench::run::{self, GroupInfo, Request};
use tenure_report::file;

use crate::args::Bench;
use crate::failure::Failure;
use crate::output;
use crate::progress::Reporter;

/// Where the HTML report goes unless told.
const REPORTS: &str = "tenure-report";

/// Where results go.
struct Outputs<'a> {
    /// Tables on standard output.
    tables: bool,
    /// JSON on standard output.
    json: bool,
    json_file: Option<&'a Path>,
    report: Option<PathBuf>,
}

impl<'a> Outputs<'a> {
    fn of(arguments: &'a Bench) -> Self {
        let json = arguments.json.as_deref() == Some(Path::new("-"));
        let unasked = (!json).then(|| PathBuf::from(REPORTS));
        Self {
            tables: !json,
            json,
            json_file: arguments.json.as_deref().filter(|_| !json),
            report: arguments.report.clone().or(unasked),
        }
    }

    /// Fails now rather than after the measurement.
    fn check(&self) -> Result<(), Failure> {
        let report = self.report.as_ref().map(|folder| folder.join(report::FILE_NAME));
        for path in self.json_file.into_iter().chain(report.as_deref()) {
            file::check(path).map_err(|error| Failure::unwritable(path, &error))?;
        }
        Ok(())
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Bench) -> Result<(), Failure> {
    if arguments.list {
        return print(&list(&run::groups()));
    }
    let outputs = Outputs::of(arguments);
    let request = request(arguments)?;
    outputs.check()?;
    let report = run::run(&request, &mut Reporter::new()).map_err(Failure::input)?;

    // Files first: a reader of the tables that goes away does not take them along.
    if let Some(path) = outputs.json_file {
        file::write(path, &json::render(&report))
            .map_err(|error| Failure::unwritable(path, &error))?;
    }
    let written = outputs
        .report
        .as_ref()
        .map(|folder| {
            report::write_report(&report, folder)
                .map_err(|error| Failure::unwritable(folder, &error))
        })
        .transpose()?;

    if outputs.json {
        print(&json::render(&report))?;
    }
    if outputs.tables {
        print(&table::render(&report, output::style()))?;
    }
    match written {
        Some(path) if outputs.tables => print(&format!("\nReport: {}\n", path.display())),
        Some(path) => {
            eprintln!("Report: {}", path.display());
            Ok(())
        }
        None => Ok(()),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    output::print(text).map_err(|error| Failure::unprintable(&error))
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
