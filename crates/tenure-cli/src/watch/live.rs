//! `tenure watch`: the call.

use signal_hook::consts::SIGTERM;
use tenure_model::Ended;
use tenure_render::Exporter;
use tenure_render::terminal::TerminalExporter;
use tenure_watch::{Session, WatchOptions, WatchOutcome, WatchRequest, WatchTarget};

use super::screen::Screen;
use super::{DoctorArgs, WatchArgs};
use crate::failure::EarlyEnd;
use crate::found::TextStream;
use crate::interrupt::Interrupt;
use crate::output;

pub(crate) fn doctor(_: &DoctorArgs) -> Result<(), EarlyEnd> {
    let lines = tenure_watch::check().map_err(EarlyEnd::input)?;
    output::print(&(lines.join("\n") + "\n"))
}

pub(crate) fn run(arguments: &WatchArgs) -> Result<(), EarlyEnd> {
    let target = match arguments.pid {
        Some(pid) => WatchTarget::Process(pid),
        None if arguments.command.is_empty() => {
            let line = "nothing to watch: name a process with --pid, or a program after --";
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
            probes: arguments.probes,
            line_bytes: arguments.line,
            through: arguments.found.through.clone(),
            ..WatchOptions::default()
        },
    };
    let top = arguments.top;
    let programs = arguments.found.programs();
    // A program that was started writes to the terminal itself.
    let screen = if is_started { None } else { Screen::open() };
    let is_stopped = |session: &Session| {
        let Some(screen) = &screen else { return interrupt.came() };
        screen.refresh(|| {
            let mut report =
                tenure_watch::report(&session.outcome(), &programs, arguments.line, 0).report;
            report.findings.truncate(top);
            TerminalExporter::new(output::style()).export(&report)
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
