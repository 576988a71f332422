//! The seam between a command that asks and the code that measures.

use std::fmt;

use crate::result::Report;

/// What to measure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Names of groups; empty means all.
    pub groups: Vec<String>,
    /// Numbers of threads; `None` picks them by the machine.
    pub threads: Option<Vec<usize>>,
    /// Measured seconds for each row at each number of threads; `None` is the default.
    pub seconds: Option<f64>,
    /// A run to see that everything works; its figures are too few to quote.
    pub quick: bool,
    /// The seed of the random order; `None` draws one.
    pub seed: Option<u64>,
}

/// Told how far a run has come.
pub trait Progress {
    /// The run begins and will take so many steps.
    fn begin(&mut self, total_steps: u64);
    /// So many steps are done; the next is in `scenario`, at so many `threads`.
    fn step(&mut self, scenario: &str, threads: usize, done_steps: u64);
    /// The run has ended.
    fn end(&mut self);
}

/// A group and its scenarios, for a list of what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// What it measures, in a sentence.
    pub about: &'static str,
    /// The id and the title of each of its scenarios.
    pub scenarios: Vec<(String, String)>,
}

/// Why nothing could be measured. Displays as one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no group of this name.
    UnknownGroup {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// These numbers of threads cannot be had.
    Threads(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownGroup { name, known } => {
                write!(f, "there is no group `{name}`; the groups are {}", known.join(", "))
            }
            Self::Threads(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// What there is to measure.
#[must_use]
pub fn groups() -> Vec<GroupInfo> {
    vec![GroupInfo {
        name: "refs",
        about: "Getting and putting a reference to one object that all threads share.",
        scenarios: vec![("refs/get-put".to_owned(), "Get and put".to_owned())],
    }]
}

/// TO BE REPLACED by the runner: measures nothing, and reports the machine.
///
/// # Errors
///
/// A group that does not exist, or numbers of threads that cannot be had.
pub fn run(request: &Request, progress: &mut dyn Progress) -> Result<Report, Error> {
    let known: Vec<_> = groups().iter().map(|group| group.name).collect();
    if let Some(name) = request.groups.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::UnknownGroup { name: name.clone(), known });
    }
    progress.begin(1);
    progress.step("refs/get-put", 1, 0);
    progress.end();
    Ok(Report {
        schema: crate::result::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: "1970-01-01T00:00:00Z".to_owned(),
        seconds: 0.0,
        settings: crate::result::Settings {
            quick: request.quick,
            seconds: request.seconds.unwrap_or(1.0),
            seed: request.seed.unwrap_or(0),
        },
        machine: crate::machine::describe(),
        groups: Vec::new(),
        verdicts: Vec::new(),
    })
}
