//! A process that watches itself.

use std::time::{Duration, Instant};

use nix::sys::resource::UsageWho;
use tenure_model::Ended;
use tenure_types::Error;

use crate::backend::perf::PerfBackend;
use crate::sys::guard;
use crate::sys::lost;
use crate::sys::process::{self, LiveProcess};
use crate::{Cost, WatchOptions, WatchOutcome, check, cost, session};

/// Watches the process that it is part of, from a thread of its own, so that a server can export what it contends for.
///
/// It takes perf events, since no thread can trace its own process: where the kernel refuses them, a `tenure watch` from
/// outside is all that there is. On virtual machines that lose the reason of a trap, the signal that would end the process
/// is handled instead: so from the first session on SIGTRAP has a handler, which hands all others of its kind on, and threads
/// must not block that signal. The thread that watches is not watched.
///
/// It costs what `tenure watch` does. [`start`](Self::start) forks once, for what it measures.
///
/// ```no_run
/// use std::time::Duration;
/// use tenure_watch::{Session, WatchOptions};
///
/// std::thread::spawn(|| -> Result<(), tenure_watch::Error> {
///     let mut session = Session::start(WatchOptions::default())?;
///     loop {
///         session.watch_for(Duration::from_secs(10))?;
///         let watched = session.watched();
///         let lines = watched.recording.processes.iter().flat_map(|process| &process.lines);
///         for line in lines {
///             let share = line.watched.map_or(0.0, |watched| watched.cost);
///             println!("contended_share{{line=\"{:#x}\"}} {share}", line.address);
///         }
///     }
/// });
/// ```
///
/// [`report`](crate::report()) finds names, kinds and repairs for the same, which takes a second or so.
#[derive(Debug)]
pub struct Session {
    inner: session::Session,
    cost: Cost,
    /// Processor time of this thread at the beginning.
    before: Duration,
}

impl Session {
    /// Begins to watch all threads but the one that calls, which has to do the rest.
    ///
    /// # Errors
    ///
    /// The kernel refuses perf events. The error says what to do.
    pub fn start(options: WatchOptions) -> Result<Self, Error> {
        check::perf()?;
        if guard::is_needed() {
            let error = |error| Error::new(format!("cannot handle SIGTRAP: {error}"));
            lost::handle().map_err(error)?;
        }
        let cost = cost::measured(|_, rate| Ok(PerfBackend::new(rate, None)));
        let mut process = LiveProcess::open(std::process::id())?;
        process.except = Some(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
        let before = process::own_time(UsageWho::RUSAGE_THREAD);
        let backend = Box::new(PerfBackend::new(options.rate, None));
        let inner = session::Session::start(process, backend, options, cost)?;
        Ok(Self { inner, cost, before })
    }

    /// Watches for so long.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub fn watch_for(&mut self, duration: Duration) -> Result<(), Error> {
        let start = Instant::now();
        while start.elapsed() < duration {
            self.inner.step()?;
        }
        Ok(())
    }

    /// What it has seen since it began.
    pub fn watched(&mut self) -> WatchOutcome {
        let (recording, mut counts, coverage) = self.inner.recorded(Ended::Running);
        counts.kept = lost::count();
        WatchOutcome {
            recording,
            name: self.inner.name(),
            counts,
            coverage,
            cost: self.cost,
            own: process::own_time(UsageWho::RUSAGE_THREAD).saturating_sub(self.before),
            is_traced: false,
            started: None,
        }
    }
}
