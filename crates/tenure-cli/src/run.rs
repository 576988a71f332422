//! `tenure run`.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tenure_report::numbers::whole;
use tenure_run::{RunObserver, RunRequest};

use crate::failure::EarlyEnd;
use crate::found::{ReportOptions, TextStream};
use crate::interrupt::Interrupt;
use crate::values::{count, run_line, size};

/// Run a program, and find the cache lines that its threads contend for
///
/// Builds by cargo and, with --cc, builds of C and C++ get their memory accesses instrumented. The report goes to standard
/// error; the program's input, output, signals and exit status are its own. Lines are ranked by how often they could have
/// changed hands, so a busy or small machine shows the same. Predictions of what each change would give follow the findings;
/// Ctrl-C skips them.
#[derive(Debug, Args)]
#[command(
    override_usage = "tenure run [OPTIONS] -- COMMAND...",
    after_help = "Examples:\n  \
                  tenure run -- cargo run --release --bin server\n  \
                  tenure run -- cargo test\n  \
                  tenure run --cc -- make && tenure run -- ./server\n  \
                  cargo tenure run --release --bin server    # the same as the first\n  \
                  tenure run --no-predict -- ./server    # only the findings\n  \
                  tenure run --check budget.toml -- cargo bench\n\n\
                  Exit status: the program's, or 128 plus the signal's number if a signal ended it. If the program's is 0: \
                  1 if a check failed or, with --diff, a finding is new or worse. 2 on wrong usage, or if the program \
                  cannot be run or recorded."
)]
pub(crate) struct RunArgs {
    /// Build C or C++ with memory accesses instrumented: COMMAND is the build, such as `make`
    #[arg(long)]
    cc: bool,

    /// Instrument Rust's std as well, by cargo; needs the component rust-src
    #[arg(long, conflicts_with = "cc")]
    build_std: bool,

    /// Report at most N findings
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count)]
    top: usize,

    /// Assume cache lines of so many bytes: 64 or 128
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = run_line)]
    line: u32,

    /// Use at most so much memory for the records of each process, such as `256M` [default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// Keep the records in DIR
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    #[command(flatten)]
    found: ReportOptions,

    /// Run this, with arguments: `cargo run`, `test` or `bench`, or an instrumented program
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs a command. With `by_cargo`, options that are not ours are those of `cargo run`.
pub(crate) fn run(arguments: &RunArgs, by_cargo: bool) -> Result<(), EarlyEnd> {
    let output = arguments.found.check()?;
    let mut command = arguments.command.clone();
    let names_none = command.first().is_none_or(|it| it.as_encoded_bytes().starts_with(b"-"));
    if by_cargo && names_none {
        command.splice(0..0, ["cargo".into(), "run".into()]);
    }
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let request = RunRequest {
        command,
        cc: arguments.cc,
        build_std: arguments.build_std,
        memory: arguments.memory,
        line_bytes: arguments.line,
        keep: arguments.keep.clone(),
        cache: None,
    };
    let title = Title::new();
    let recording = tenure_run::run(&request, &title).map_err(EarlyEnd::input)?;
    let interrupt = title.restore()?;
    let (command, top) = (words.join(" "), arguments.top);
    let (is_empty, status) = (recording.processes.is_empty(), recording.ended.status());
    let found =
        tenure_run::report(recording, &command, &arguments.found.programs(), arguments.line, top);
    let is_build = is_empty && request.is_build();
    // Standard output is the program's.
    let text = if is_build { TextStream::None } else { TextStream::Stderr };
    let report = output.deliver(found, top, text, &interrupt)?;
    match status {
        0 if !report.passes() => Err(EarlyEnd::Check),
        0 => Ok(()),
        status => Err(EarlyEnd::Program(status)),
    }
}

/// The words after `cargo tenure run` with this command's own options before those of `cargo run`, among which they may
/// stand. Where a program is named, all that follows is its own.
pub(crate) fn ours_first(words: Vec<OsString>) -> Vec<OsString> {
    let command = RunArgs::augment_args(clap::Command::new("run"));
    // How many words an option of ours takes.
    let taken = |word: &OsString| {
        let name = word.to_str()?.strip_prefix("--")?;
        let (name, has_value) = match name.split_once('=') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        let option = command.get_arguments().find(|it| it.get_long() == Some(name))?;
        Some(if option.get_action().takes_values() && !has_value { 2 } else { 1 })
    };
    let (mut ours, mut cargos) = (Vec::new(), Vec::new());
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next_if(|word| word != "--") {
        let count = taken(&word);
        let is_a_program = cargos.is_empty() && !word.as_encoded_bytes().starts_with(b"-");
        match count {
            Some(count) => {
                ours.push(word);
                ours.extend(rest.by_ref().take(count - 1));
            }
            None => cargos.push(word),
        }
        if is_a_program {
            break;
        }
    }
    // What begins with a hyphen is a word of the command only after `--`.
    let separator = (!cargos.is_empty()).then(|| "--".into());
    ours.into_iter().chain(separator).chain(cargos).chain(rest).collect()
}

/// Shows how the run goes in the title of the terminal, where it is not in the way of the program's own output.
struct Title {
    is_shown: bool,
    last: Cell<Duration>,
    /// Set when the program has ended: from then on a signal ends predicting, and not the program.
    interrupt: RefCell<Option<Result<Interrupt, EarlyEnd>>>,
}

impl Title {
    fn new() -> Self {
        let is_known = std::env::var("TERM").is_ok_and(|term| term != "dumb" && term != "linux");
        Self {
            is_shown: stderr().is_terminal() && is_known,
            last: Cell::new(Duration::ZERO),
            interrupt: RefCell::default(),
        }
    }

    fn restore(&self) -> Result<Interrupt, EarlyEnd> {
        if !self.last.get().is_zero() {
            eprint!("\x1b[23;0t");
        }
        self.interrupt.take().unwrap_or_else(Interrupt::catch)
    }
}

impl RunObserver for Title {
    fn begin(&self, about: &str) {
        eprintln!("tenure: {about}");
    }

    fn missed(&self, why: &str) {
        eprintln!("tenure: {why}");
    }

    fn ended(&self) {
        self.interrupt.replace(Some(Interrupt::catch()));
    }

    fn at(&self, elapsed: Duration, lines: usize, worst: u64) {
        if !self.is_shown || elapsed.saturating_sub(self.last.get()) < Duration::from_secs(1) {
            return;
        }
        if self.last.replace(elapsed).is_zero() {
            eprint!("\x1b[22;0t");
        }
        let seconds = elapsed.as_secs();
        let worst = tenure_report::numbers::scaled(worst as f64);
        let lines = whole(lines);
        eprint!(
            "\x1b]0;tenure: {seconds} s, {lines} contended lines, the worst changed hands up to {worst} times\x07"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_ours_may_stand_among_those_of_cargo() {
        for (given, sorted) in [
            ("--release --html x", "--html x -- --release"),
            ("--release --html=x --bin server --cc", "--html=x --cc -- --release --bin server"),
            ("--json - --release --top 3 -- --top 4", "--json - --top 3 -- --release -- --top 4"),
            ("--top 3 ./server --html x", "--top 3 -- ./server --html x"),
            ("cargo test --html x", "-- cargo test --html x"),
            ("-- ./server --html x", "-- ./server --html x"),
            ("--release --html", "--html -- --release"),
            ("", ""),
        ] {
            let words = |text: &str| -> Vec<OsString> {
                text.split_whitespace().map(OsString::from).collect()
            };
            assert_eq!(ours_first(words(given)), words(sorted), "{given}");
        }
    }
}
