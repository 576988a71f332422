//! From a request to what was recorded: attaches or starts, steps, and lets go.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::resource::UsageWho;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tenure_contend::record::{Ended, Recording};
use tenure_types::Error;

use crate::backend::Backend;
use crate::backend::perf::Perf;
use crate::backend::traced::Traced;
use crate::check;
use crate::cost;
use crate::session::Session;
use crate::sys::guard::{self, Guard};
use crate::sys::process::{self, Process};
use crate::sys::tracer::Tracer;
use crate::{Cost, Counts, Coverage, Progress, Request, Started, Target, Watched};

pub(crate) fn watch(
    request: &Request,
    is_stopped: &dyn Fn(&Progress<'_>) -> bool,
) -> Result<Watched, Error> {
    // Short waits for threads that stop are as short as they say.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    raise_limit();
    let has_perf = check::perf().is_ok();
    if let Target::Process(pid) = request.target {
        Process::open(pid)?;
        check::untraceable(pid, has_perf)?;
    }
    let tracer = if has_perf { None } else { Some(tracer()?) };
    let cost = match &tracer {
        None => cost::measured(|_, rate| Ok(Perf::new(rate, guard()))),
        Some(_) => cost::measured(|pid, rate| Ok(Traced::new(Tracer::start()?, pid, rate))),
    };
    let mut started = match &request.target {
        Target::Process(_) => None,
        Target::Command(words) => Some(start(words, tracer.as_ref().map(|tracer| tracer.pid))?),
    };
    let pid = match (&request.target, &started) {
        (Target::Process(pid), _) => *pid,
        (Target::Command(_), child) => child.as_ref().map_or(0, Child::id),
    };
    let before = process::own_time(UsageWho::RUSAGE_SELF);
    let is_traced = tracer.is_some();
    let backend: Box<dyn Backend> = match tracer {
        None => Box::new(Perf::new(request.options.rate, guard())),
        Some(tracer) => Box::new(Traced::new(tracer, pid, request.options.rate)),
    };
    let session = Process::open(pid)
        .and_then(|process| Session::start(process, backend, request.options, cost));
    let mut session = match (session, started.take()) {
        (Ok(session), child) => {
            started = child;
            session
        }
        (Err(error), None) => return Err(error),
        (Err(error), Some(child)) => return unwatched(request, child, error),
    };
    let start = Instant::now();
    let is_late = || request.duration.is_some_and(|duration| start.elapsed() >= duration);
    let is_stopped = |session: &Session| {
        let now = || {
            let own = process::own_time(UsageWho::RUSAGE_SELF);
            let own = own.saturating_sub(before) + session.own();
            let (recording, counts, coverage) = session.so_far(Ended::Running);
            let name = session.name();
            Watched { recording, name, counts, coverage, cost, own, is_traced, started: None }
        };
        let elapsed = start.elapsed();
        is_stopped(&Progress { elapsed, counts: session.counts, now: &now })
    };
    let mut is_over = false;
    while !is_over && !is_late() && !is_stopped(&session) {
        session.step()?;
        is_over = session.is_over();
    }
    session.ask_for_times();
    session.release();
    let (ended, started) = match (is_over, started, session.taken_status()) {
        (false, child, _) => (Ended::Running, child),
        (true, None, _) => (Ended::Unknown, None),
        (true, Some(_), Some(ended)) => (ended, None),
        (true, Some(mut child), None) => (reaped(&mut child), None),
    };
    let own = process::own_time(UsageWho::RUSAGE_SELF).saturating_sub(before) + session.own();
    // It may have become another program since it was started.
    let name = session.name();
    let (recording, counts, coverage) = session.recorded(ended);
    let started = started.map(Started);
    Ok(Watched { recording, name, counts, coverage, cost, own, is_traced, started })
}

/// What is left of a program that was started, and cannot be watched: it has ended before it could be, or is ended.
fn unwatched(request: &Request, mut child: Child, error: Error) -> Result<Watched, Error> {
    if matches!(child.try_wait(), Ok(None)) {
        let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        reaped(&mut child);
        return Err(error);
    }
    let name = match &request.target {
        Target::Command(words) => words.first().map(|word| word.to_string_lossy().into_owned()),
        Target::Process(_) => None,
    };
    let ended = reaped(&mut child);
    let recording = Recording { ended, seconds: 0.0, cpu_seconds: 0.0, processes: Vec::new() };
    Ok(Watched {
        recording,
        name: name.unwrap_or_default(),
        counts: Counts::default(),
        coverage: Coverage { excludes: 1.0, ..Coverage::default() },
        cost: Cost::default(),
        own: Duration::ZERO,
        is_traced: false,
        started: None,
    })
}

/// What keeps a program alive where traps lose their reason.
fn guard() -> Option<Guard> {
    guard::is_needed().then(Guard::default)
}

fn tracer() -> Result<Tracer, Error> {
    Tracer::start()
        .map_err(|error| Error::new(format!("cannot start a process to trace with: {error}")))
}

/// Starts a program, which `tracer` may trace.
fn start(words: &[OsString], tracer: Option<u32>) -> Result<Child, Error> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::new(
            "nothing to watch: name a process with --pid, or a program behind --",
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
        self.0.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Asks it to end: by SIGTERM.
    pub fn ask_to_end(&self) {
        // It fails for a program that has ended.
        let _ = kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM);
    }

    /// Waits for the program's end. It is asked to end once `is_stopped` says so.
    pub fn wait(&mut self, is_stopped: &dyn Fn() -> bool) -> Ended {
        let mut is_asked = false;
        while matches!(self.0.try_wait(), Ok(None)) {
            if is_stopped() && !is_asked {
                is_asked = true;
                self.ask_to_end();
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        reaped(&mut self.0)
    }
}

fn reaped(child: &mut Child) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match child.wait().map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Ended::Exited(code),
        Ok((None, Some(signal))) => Ended::Killed(signal),
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
