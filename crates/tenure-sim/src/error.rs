//! Errors, each in one line.

use std::fmt;
use std::time::Duration;

/// Why a machine is invalid, or a simulation did not end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SimulationError {
    /// No preset has this name.
    UnknownMachine {
        /// The requested name.
        name: String,
        /// The presets.
        known: Vec<String>,
    },
    /// An invalid machine.
    Machine {
        /// Its name.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// Text that describes no machine.
    MachineText {
        /// Line number from 1, if the TOML reader knows it.
        line: Option<usize>,
        /// What is wrong with it.
        what: String,
    },
    /// A pattern that cannot be simulated.
    Pattern {
        /// Line number from 1, if it is from a file.
        line: Option<usize>,
        /// What is wrong with it.
        what: String,
    },
    /// More threads than CPUs, or none.
    Threads {
        /// The requested number.
        threads: usize,
        /// The machine's name.
        machine: String,
        /// Its CPUs.
        cpus: usize,
    },
    /// Every unfinished thread is blocked.
    Deadlock {
        /// Who waits for what.
        waiting: Vec<String>,
    },
    /// Simulated time is far beyond the end, and threads do not finish.
    Livelock {
        /// Simulated nanoseconds.
        ns: f64,
        /// Who does what.
        waiting: Vec<String>,
    },
    /// A simulated thread never touches simulated memory again.
    Runaway {
        /// Its number.
        cpu: usize,
        /// Real time that had passed.
        after: Duration,
    },
    /// No memory for the simulated threads' stacks.
    Stack {
        /// The number of stacks.
        threads: usize,
        /// Bytes of each.
        bytes: usize,
        /// The host's error.
        what: String,
    },
}

impl SimulationError {
    pub(crate) fn machine_text(error: &toml::de::Error, text: &str) -> Self {
        let (line, what) = Self::of_toml(error, text);
        Self::MachineText { line, what }
    }

    pub(crate) fn pattern_text(error: &toml::de::Error, text: &str) -> Self {
        let (line, what) = Self::of_toml(error, text);
        Self::Pattern { line, what }
    }

    /// The line of a byte, from 1.
    pub(crate) fn line_of(text: &str, byte: usize) -> usize {
        text.as_bytes()[..byte.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
    }

    fn of_toml(error: &toml::de::Error, text: &str) -> (Option<usize>, String) {
        // What the whole file lacks is on no line.
        let span =
            error.span().filter(|span| span.start > 0 || !error.message().starts_with("missing"));
        let line = span.map(|span| Self::line_of(text, span.start));
        let what = error.message().lines().map(str::trim).collect::<Vec<_>>().join("; ");
        // The author of a file need not know Rust's types.
        let what = what
            .replace("expected usize", "expected a whole number above 0")
            .replace("expected u32", "expected a whole number above 0")
            .replace("expected f64", "expected a number");
        (line, what)
    }
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(&mut OneLine(f))
    }
}

/// Shows line breaks, which names may hold, as spaces.
struct OneLine<'f, 'b>(&'f mut fmt::Formatter<'b>);

impl fmt::Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        text.chars().try_for_each(|c| self.0.write_char(if breaks(c) { ' ' } else { c }))
    }
}

impl SimulationError {
    fn tell(&self, f: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::UnknownMachine { name, known } => {
                write!(f, "there is no machine '{name}'; there are {}", known.join(", "))
            }
            Self::Machine { name, what } => write!(f, "machine '{name}': {what}"),
            Self::MachineText { line: Some(line), what } => {
                write!(f, "not a machine file: line {line}: {what}")
            }
            Self::MachineText { line: None, what } => write!(f, "not a machine file: {what}"),
            Self::Pattern { line: Some(line), what } => {
                write!(f, "not a pattern: line {line}: {what}")
            }
            Self::Pattern { line: None, what } => write!(f, "not a pattern: {what}"),
            Self::Threads { threads, machine, cpus } => write!(
                f,
                "cannot run {threads} threads on '{machine}'; ask for 1 to {cpus}, its CPUs"
            ),
            Self::Deadlock { waiting } => {
                write!(f, "deadlock: every thread that is left sleeps: {}", listed(waiting))
            }
            Self::Livelock { ns, waiting } => {
                write!(f, "no end after {:.0} us of simulated time", ns / 1e3)?;
                if waiting.is_empty() { Ok(()) } else { write!(f, ": {}", listed(waiting)) }
            }
            Self::Runaway { cpu, after } => write!(
                f,
                "cpu {cpu} has touched no simulated memory for {after:?} of real time; a loop that \
                 waits for others has to read what they write"
            ),
            Self::Stack { threads, bytes, what } => {
                write!(
                    f,
                    "cannot make {threads} stacks of {bytes} bytes: {what}; make them smaller"
                )
            }
        }
    }
}

fn listed(waiting: &[String]) -> String {
    const MAX_NAMED: usize = 4;
    let mut text = waiting.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join("; ");
    if waiting.len() > MAX_NAMED {
        text += &format!("; and {} more", waiting.len() - MAX_NAMED);
    }
    text
}

impl std::error::Error for SimulationError {}
