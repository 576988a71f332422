//! A process that watches itself.

use std::time::{Duration, Instant};

use nix::sys::resource::UsageWho;
use tenure_debuginfo::Error;

use crate::backend::perf::PerfBackend;
use crate::sys::process::LiveProcess;
use crate::sys::{guard, lost};
use crate::{Session, WatchOptions, check, cost};

impl Session {
    /// Begins to watch all threads of this process but the one that calls, which has to do the rest: so a server can export what
    /// it contends for.
    ///
    /// It takes perf events, since no thread can trace its own process: where the kernel refuses them, only a `tenure watch` from
    /// outside works. On virtual machines that lose the reason of a trap, the signal that would end the process
    /// is handled instead: so from the first session on SIGTRAP has a handler, which passes all others of its kind on, and threads
    /// must not block that signal.
    ///
    /// It costs what `tenure watch` does, and forks once, for what it measures.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use tenure_watch::{Session, WatchOptions};
    ///
    /// std::thread::spawn(|| -> Result<(), tenure_watch::Error> {
    ///     let mut session = Session::start(WatchOptions::default())?;
    ///     loop {
    ///         session.watch_for(Duration::from_secs(10))?;
    ///         let outcome = session.outcome();
    ///         let lines = outcome.recording.processes.iter().flat_map(|process| &process.lines);
    ///         for line in lines {
    ///             let share = line.watched.map_or(0.0, |watched| watched.cost);
    ///             println!("contended_share{{line=\"{:#x}\"}} {share}", line.address);
    ///         }
    ///     }
    /// });
    /// ```
    ///
    /// [`report`](crate::report()) finds names, kinds and repairs for the same, which takes a second or so.
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
        let backend = Box::new(PerfBackend::new(options.rate, None));
        Self::attach(process, backend, options, cost, UsageWho::RUSAGE_THREAD)
    }

    /// Watches for so long.
    ///
    /// # Errors
    ///
    /// The same as for [`start`](Self::start).
    pub fn watch_for(&mut self, duration: Duration) -> Result<(), Error> {
        let start = Instant::now();
        while start.elapsed() < duration {
            self.step()?;
        }
        self.list();
        Ok(())
    }
}
