//! What of a run is compared.

use tenure_model::Better;

use crate::command::{CommandRun, MeasuredCommand, RunError};
use crate::metric::{Pattern, Reading, independent_readings, last_number};

/// What of a run is compared.
#[derive(Debug, Clone)]
pub enum Metric {
    /// What a benchmark that is known prints; the wall time of what prints nothing of the kind.
    Auto,
    /// The wall time.
    Wall,
    /// The processor time.
    Cpu,
    /// A number that is printed.
    Printed(Printed),
    /// Work that is printed as a number: what a second has of it.
    Work(Printed, PerTime),
}

/// Where a number is printed.
#[derive(Debug, Clone)]
pub enum Printed {
    /// The last number of the output. The direction says which is the better one.
    Last(Better),
    /// What a pattern finds.
    Found(Pattern),
}

/// The time that work is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerTime {
    /// A second of wall time.
    Second,
    /// A second of processor time.
    CpuSecond,
}

impl Metric {
    /// Runs a command once, as a comparison would.
    ///
    /// # Errors
    ///
    /// It cannot be measured: it fails, prints no figure, or is stopped. One line says how.
    pub fn try_out(
        &self,
        command: &MeasuredCommand,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), RunError> {
        let run = command.run(None, stop)?;
        self.figures(&run).map_err(|why| format!("{} {why}", command.shown(None)))?;
        Ok(())
    }

    /// Decides between a benchmark's output and the wall time, by the first runs of before and after. A line says so if only one of them
    /// prints what a known benchmark does.
    pub(crate) fn choose(&mut self, [before, after]: [&CommandRun; 2]) -> Option<String> {
        if !matches!(self, Self::Auto) {
            return None;
        }
        let only = match [before, after].map(|run| printed(run).is_empty()) {
            [false, false] => return None,
            [true, true] => None,
            [is_after, _] => Some(if is_after { "after" } else { "before" }),
        };
        *self = Self::Wall;
        only.map(|name| {
            format!("only {name} prints what a known benchmark does, so the wall time is compared")
        })
    }

    /// What is measured, for people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Auto => "what the benchmarks print".to_owned(),
            Self::Wall => "wall time".to_owned(),
            Self::Cpu => "processor time".to_owned(),
            Self::Printed(it) => it.shown(),
            Self::Work(it, PerTime::Second) => format!("{} per second", it.shown()),
            Self::Work(it, PerTime::CpuSecond) => {
                format!("{} per second of processor time", it.shown())
            }
        }
    }

    /// Whether all that a program does between its start and its end counts.
    pub(crate) fn is_of_whole_runs(&self) -> bool {
        !matches!(self, Self::Auto | Self::Printed(_))
    }

    /// The figures of a run.
    ///
    /// # Errors
    ///
    /// It has none: a line says what is missing.
    pub(crate) fn figures(&self, run: &CommandRun) -> Result<Vec<Reading>, String> {
        let one = |value: f64, unit: &str, better| {
            vec![Reading { name: String::new(), value, unit: unit.to_owned(), better }]
        };
        match self {
            Self::Auto => Ok(printed(run)),
            Self::Wall => Ok(one(run.wall.as_secs_f64() * 1e9, "ns", Better::Lower)),
            Self::Cpu => Ok(one(run.cpu.as_secs_f64() * 1e9, "ns", Better::Lower)),
            Self::Printed(it) => it.figures(run),
            Self::Work(it, per) => {
                let seconds = match per {
                    PerTime::Second => run.wall,
                    PerTime::CpuSecond => run.cpu,
                }
                .as_secs_f64();
                let rate = |it: Reading| Reading {
                    value: it.value / seconds,
                    unit: format!("{}/s", it.unit),
                    better: Better::Higher,
                    ..it
                };
                Ok(it.figures(run)?.into_iter().map(rate).collect())
            }
        }
    }
}

impl Printed {
    fn shown(&self) -> String {
        match self {
            Self::Last(_) => "the last number".to_owned(),
            Self::Found(pattern) => format!("`{pattern}`"),
        }
    }

    fn figures(&self, run: &CommandRun) -> Result<Vec<Reading>, String> {
        let found = |text: &str| match self {
            Self::Last(better) => last_number(text)
                .map(|value| Reading {
                    name: String::new(),
                    value,
                    unit: String::new(),
                    better: *better,
                })
                .into_iter()
                .collect(),
            Self::Found(pattern) => pattern.readings(text),
        };
        let readings = either(run, found);
        match readings.is_empty() {
            true => {
                let lines = || run.stdout.lines().chain(run.stderr.lines());
                let last = lines().rfind(|line| !line.trim().is_empty());
                let last = last.map_or_else(
                    || "it printed nothing at all".to_owned(),
                    |line| format!("its last line is {:?}", line.trim()),
                );
                Err(format!("printed no number above 0 for {}: {last}", self.shown()))
            }
            false => Ok(readings),
        }
    }
}

fn printed(run: &CommandRun) -> Vec<Reading> {
    either(run, independent_readings)
}

/// What standard output has, or else what was printed as errors.
fn either(run: &CommandRun, read: impl Fn(&str) -> Vec<Reading>) -> Vec<Reading> {
    let readings = read(&run.stdout);
    if readings.is_empty() { read(&run.stderr) } else { readings }
}
