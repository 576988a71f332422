//! Watches a program from beginning to end: attaches or starts, steps, and lets go.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::resource::UsageWho;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tenure_debuginfo::Error;
use tenure_model::recording::Recording;
use tenure_model::{Coverage, Ended};

use crate::backend::Backend;
use crate::backend::perf::PerfBackend;
use crate::backend::traced::PtraceBackend;
use crate::check;
use crate::cost;
use crate::sys::guard::{self, TrapGuard};
use crate::sys::process::LiveProcess;
use crate::sys::tracer::Tracer;
use crate::{Cost, Session, WatchCounts, WatchOutcome, WatchRequest, WatchTarget};

/// A program that cannot be watched has this long to end.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// The time between two checks that a program has ended.
const END_POLL: Duration = Duration::from_millis(20);

/// A program that was started.
#[derive(Debug)]
pub struct Started {
    child: Child,
    /// Many programs take a second request as one to end at once.
    is_asked: bool,
}

/// Watches until the time is over, the program ends, or `is_stopped` says so, which is asked some twenty times a second.
///
/// # Errors
///
/// The process does not exist or is of a kind that cannot be watched; the kernel refuses; the program cannot be
/// started. The error says what to do.
pub fn watch(
    request: &WatchRequest,
    is_stopped: &dyn Fn(&Session) -> bool,
) -> Result<WatchOutcome, Error> {
    // Short waits for threads that stop are as short as they say.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    raise_limit();
    let has_perf = check::perf().is_ok();
    if let WatchTarget::Process(pid) = request.target {
        LiveProcess::open(pid)?;
        check::untraceable(pid, has_perf)?;
    }
    let tracer = if has_perf { None } else { Some(tracer()?) };
    let cost = match &tracer {
        None => cost::measured(|_, rate| Ok(PerfBackend::new(rate, guard()))),
        Some(_) => cost::measured(|pid, rate| Ok(PtraceBackend::new(Tracer::start()?, pid, rate))),
    };
    let mut started = match &request.target {
        WatchTarget::Process(_) => None,
        WatchTarget::Command(words) => {
            Some(start(words, tracer.as_ref().map(|tracer| tracer.pid))?)
        }
    };
    let pid = match (&request.target, &started) {
        (WatchTarget::Process(pid), _) => *pid,
        (WatchTarget::Command(_), child) => child.as_ref().map_or(0, Child::id),
    };
    let backend: Box<dyn Backend> = match tracer {
        None => Box::new(PerfBackend::new(request.options.rate, guard())),
        Some(tracer) => Box::new(PtraceBackend::new(tracer, pid, request.options.rate)),
    };
    let session = LiveProcess::open(pid).and_then(|process| {
        Session::attach(process, backend, request.options.clone(), cost, UsageWho::RUSAGE_SELF)
    });
    let mut session = match (session, started.take()) {
        (Ok(session), child) => {
            started = child;
            session
        }
        (Err(error), None) => return Err(error),
        (Err(error), Some(child)) => return unwatched(request, child, error),
    };
    let is_late =
        |session: &Session| request.duration.is_some_and(|duration| session.elapsed() >= duration);
    let mut is_over = false;
    while !is_over && !is_late(&session) && !is_stopped(&session) {
        if let Err(error) = session.step() {
            drop(session);
            return Err(match &mut started {
                Some(child) => asked(child, error, END_PATIENCE),
                None => error,
            });
        }
        is_over = session.is_over();
    }
    session.finish();
    // It may have ended since it was asked last.
    let is_over = is_over || session.is_over_now();
    let (ended, started) = match (is_over, started, session.taken_status()) {
        (false, child, _) => (Ended::Running, child),
        (true, None, _) => (Ended::Unknown, None),
        (true, Some(_), Some(ended)) => (ended, None),
        (true, Some(mut child), None) => (reaped(&mut child), None),
    };
    let started = started.map(|child| Started { child, is_asked: false });
    Ok(WatchOutcome { started, ..session.ended_as(ended) })
}

/// What is left of a program that was started, and cannot be watched: it has ended before it could be, or is ended.
fn unwatched(
    request: &WatchRequest,
    mut child: Child,
    error: Error,
) -> Result<WatchOutcome, Error> {
    if matches!(child.try_wait(), Ok(None)) {
        return Err(asked(&mut child, error, END_PATIENCE));
    }
    let name = match &request.target {
        WatchTarget::Command(words) => {
            words.first().map(|word| word.to_string_lossy().into_owned())
        }
        WatchTarget::Process(_) => None,
    };
    let ended = reaped(&mut child);
    let recording = Recording { ended, seconds: 0.0, cpu_seconds: 0.0, processes: Vec::new() };
    Ok(WatchOutcome {
        recording,
        name: name.unwrap_or_default(),
        counts: WatchCounts::default(),
        coverage: Coverage {
            cpu_seconds: 0.0,
            kernel: 0.0,
            unaddressed: 0.0,
            excludes: 1.0,
            shared: Vec::new(),
        },
        cost: Cost::default(),
        own: Duration::ZERO,
        is_traced: false,
        started: None,
    })
}

/// Asks a program that was started, and is not watched because of this error, to end. If it goes on the error names it.
fn asked(child: &mut Child, error: Error, patience: Duration) -> Error {
    ask_to_end(child);
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if start.elapsed() >= patience {
            let pid = child.id();
            return Error::new(format!(
                "{error}; process {pid}, which was started, was asked to end and goes on: `kill -9 {pid}` ends it"
            ));
        }
        std::thread::sleep(END_POLL);
    }
    error
}

/// Sends SIGTERM, which does nothing to a program that has ended.
fn ask_to_end(child: &Child) {
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
}

/// What keeps a program alive where traps lose their reason.
fn guard() -> Option<TrapGuard> {
    guard::is_needed().then(TrapGuard::default)
}

fn tracer() -> Result<Tracer, Error> {
    Tracer::start()
        .map_err(|error| Error::new(format!("cannot start a process to trace with: {error}")))
}

/// Starts a program, which `tracer` may trace.
fn start(words: &[OsString], tracer: Option<u32>) -> Result<Child, Error> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::new(
            "nothing to watch: name a process with --pid, or a program after --",
        ));
    };
    let mut command = Command::new(program);
    if let Some(tracer) = tracer {
        let allow = move || {
            // SAFETY: it takes numbers only. It fails where it is not needed.
            unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(tracer)) };
            Ok(())
        };
        // SAFETY: it makes a system call only.
        unsafe { command.pre_exec(allow) };
    }
    command.args(arguments).spawn().map_err(|error| {
        Error::new(format!("cannot run {}: {error}; name it by its path", program.display()))
    })
}

impl Started {
    /// The number of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to end, by SIGTERM, unless it was asked before.
    pub fn ask_to_end(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            ask_to_end(&self.child);
        }
    }

    /// Waits for the program's end. It is asked to end once `is_stopped` says so.
    pub fn wait(&mut self, is_stopped: &dyn Fn() -> bool) -> Ended {
        while matches!(self.child.try_wait(), Ok(None)) {
            if is_stopped() {
                self.ask_to_end();
            }
            std::thread::sleep(END_POLL);
        }
        reaped(&mut self.child)
    }
}

fn reaped(child: &mut Child) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match child.wait().map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Ended::Exited { status: code },
        Ok((None, Some(signal))) => Ended::Killed { signal },
        _ => Ended::Unknown,
    }
}

/// A sampler takes a file descriptor for each thread and CPU.
fn raise_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // What it is stays if it may not be raised.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::Stdio;

    use super::*;

    /// A script that has said that it runs.
    fn runs(script: &str) -> Child {
        let mut sh = Command::new("sh");
        let mut child = sh.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        hear(&mut child);
        child
    }

    /// Waits for a line without a word.
    fn hear(child: &mut Child) {
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn a_program_is_asked_to_end_once() {
        let script = "n=0; trap 'n=$((n+1)); echo' TERM; trap 'exit $n' WINCH; echo; \
                      while :; do sleep 0.01; done";
        let mut started = Started { child: runs(script), is_asked: false };
        started.ask_to_end();
        hear(&mut started.child);
        started.ask_to_end();
        let pid = Pid::from_raw(started.pid().cast_signed());
        // A shell's traps that are due come in the order of their signals' numbers: this one is the last.
        let is_stopped = || kill(pid, Signal::SIGWINCH).is_ok();
        assert_eq!(started.wait(&is_stopped), Ended::Exited { status: 1 });
    }

    #[test]
    fn a_program_that_cannot_be_watched_is_ended_or_named() {
        let error = || Error::new("no".to_owned());
        let mut ends = runs("echo; exec sleep 600");
        assert_eq!(asked(&mut ends, error(), Duration::from_secs(600)).to_string(), "no");
        assert!(matches!(ends.try_wait(), Ok(Some(_))));
        let mut goes_on = runs("trap '' TERM; echo; exec sleep 600");
        let said = asked(&mut goes_on, error(), Duration::ZERO).to_string();
        goes_on.kill().unwrap();
        goes_on.wait().unwrap();
        assert!(
            said.starts_with(&format!("no; process {}, which was started", goes_on.id())),
            "{said}"
        );
    }
}
