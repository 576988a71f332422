//! `tenure watch`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::SIGTERM;
use tenure_model::Ended;
use tenure_render::terminal;
use tenure_watch::{Programs, Snapshot, WatchOptions, WatchOutcome, WatchRequest, WatchTarget};

use crate::failure::EarlyEnd;
use crate::found::{self, TextStream};
use crate::interrupt::Interrupt;
use crate::output;
#[cfg(target_os = "linux")]
use crate::screen::Screen;
use crate::values::{duration, looks, rate, run_line};

/// Programs are watched on Linux alone.
#[cfg(not(target_os = "linux"))]
enum Screen {}

#[cfg(not(target_os = "linux"))]
impl Screen {
    fn open() -> Option<Self> {
        None
    }

    fn is_left(&self) -> bool {
        match *self {}
    }

    fn refresh(&self, _: impl FnOnce() -> String) {
        match *self {}
    }
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Watch the process with this number
    #[arg(long, value_name = "N", conflicts_with = "command")]
    pid: Option<u32>,

    /// Watch for this long, such as `30s`, `500ms` or `2m` [default: to the program's end, or to Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,

    /// End the program with SIGTERM when the time of --for is over
    #[arg(long, requires = "time", conflicts_with = "pid")]
    stop: bool,

    /// Sample each thread that runs N times a second
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = rate)]
    rate: u64,

    /// Set breakpoints on a line at most N times a second
    #[arg(long, value_name = "N", default_value_t = 20.0, value_parser = looks)]
    arms: f64,

    /// Say whether programs can be watched on this machine, and end
    #[arg(long, conflicts_with_all = ["pid", "command"])]
    check: bool,

    /// Report at most N findings
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Size of a cache line in bytes: 64 or 128
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = run_line)]
    line: u32,

    #[command(flatten)]
    found: found::ReportOptions,

    /// The program to start and watch, with its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &WatchArgs) -> Result<(), EarlyEnd> {
    if arguments.check {
        let lines = tenure_watch::check().map_err(EarlyEnd::input)?;
        return output::print(&(lines.join("\n") + "\n"));
    }
    let target = match arguments.pid {
        Some(pid) => WatchTarget::Process(pid),
        None if arguments.command.is_empty() => {
            let line = "nothing to watch: name a process with --pid, or a program behind --";
            return Err(EarlyEnd::input(line));
        }
        None => WatchTarget::Command(arguments.command.clone()),
    };
    let output = arguments.found.check()?;
    let mut interrupt = Interrupt::catch()?;
    let is_started = matches!(target, WatchTarget::Command(_));
    let request = WatchRequest {
        target,
        duration: arguments.time,
        options: WatchOptions {
            rate: arguments.rate,
            arms: arguments.arms,
            line_bytes: arguments.line,
            ..WatchOptions::default()
        },
    };
    let top = arguments.top;
    let programs = Programs::default();
    // A program that was started writes to the terminal itself.
    let screen = if is_started { None } else { Screen::open() };
    let is_stopped = |progress: &Snapshot<'_>| {
        let Some(screen) = &screen else { return interrupt.came() };
        screen.refresh(|| {
            let mut report =
                tenure_watch::report(&progress.watched(), &programs, arguments.line, 0).report;
            report.findings.truncate(top);
            terminal::render(&report, output::style())
        });
        interrupt.came() || screen.is_left()
    };
    let watched = tenure_watch::watch(&request, &is_stopped);
    // The report, or an error, is for the screen before.
    drop(screen);
    let mut watched = watched.map_err(EarlyEnd::input)?;
    // A signal that ended the watching is for the program as well.
    let is_asked = arguments.stop || interrupt.came();
    // A terminal's has reached it already; if it goes on, it is asked when the report is out.
    let is_asked_now = arguments.stop || interrupt.was_for_this();
    if let (true, Some(started)) = (is_asked_now, &mut watched.started) {
        started.ask_to_end();
    }
    interrupt.restart()?;
    let found = tenure_watch::report(&watched, &programs, arguments.line, top);
    // The standard output of a program that was started is its own.
    let text = if is_started { TextStream::Stderr } else { TextStream::Stdout };
    let report = output.deliver(found, top, text, &interrupt)?;
    match (is_started, ended(&mut watched, &|| is_asked || interrupt.came())) {
        (true, ended)
            if ended.status() != 0
                && !(arguments.stop && ended == Ended::Killed { signal: SIGTERM }) =>
        {
            Err(EarlyEnd::Program(ended.status()))
        }
        _ if !report.passes() => Err(EarlyEnd::Check),
        _ => Ok(()),
    }
}

/// How a program that was started ended, when it has. It is asked to once `is_asked` says so.
fn ended(watched: &mut WatchOutcome, is_asked: &dyn Fn() -> bool) -> Ended {
    let Some(started) = &mut watched.started else { return watched.recording.ended };
    if !started.has_ended() {
        let about = match is_asked() {
            true => "was asked to end",
            false => {
                "is still running; this command waits for it. Ctrl-C ends both, and so does --stop"
            }
        };
        eprintln!("\ntenure: process {} {about}", started.pid());
    }
    started.wait(is_asked)
}
