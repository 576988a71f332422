//! [`Workload`]: what a run needs of a plan. And [`Phase`]: when it does what.

use std::time::{Duration, Instant};

use super::engine::job::Job;
use super::engine::protocol::Protocol;
use super::engine::schedule::Schedule;
use super::error::Error;
use super::settings::{Length, Settings};
use super::tool::Task;

/// What a run needs of a plan.
pub(super) trait Workload {
    /// Requests and answers.
    type Protocol: Protocol;

    /// Its name on the command line.
    const NAME: &'static str;

    /// What every load has.
    fn settings(&self) -> &Settings;

    /// Fails with what is wrong.
    fn check(&self) -> Result<(), Error>;

    /// What is asked for, in words.
    fn load(&self) -> String;

    /// Whether a connection serves one request.
    fn closes(&self) -> bool {
        false
    }

    /// The same for another generator.
    fn task(&self) -> Task;

    /// What is to be done before the run.
    fn fill(&self, phase: &Phase) -> Option<Vec<Job<Self::Protocol>>>;

    /// The run, for each thread.
    fn measure(&self, phase: &Phase) -> Vec<Job<Self::Protocol>>;
}

/// When something is done, and how.
#[derive(Debug, Clone)]
pub(crate) struct Phase {
    /// When it starts.
    pub(crate) base: Instant,
    /// Clients of each thread.
    pub(crate) clients: usize,
    /// A connection serves one request.
    pub(crate) close: bool,
    /// Nothing is measured before.
    pub(crate) warmup: Duration,
    /// It ends then, or with so many requests, or with what there is to ask.
    pub(crate) length: Option<Length>,
    /// See [`Settings::rate`].
    pub(crate) rate: Option<f64>,
    /// The first error ends it.
    pub(crate) is_strict: bool,
}

impl Phase {
    /// The keys are set: by one client of each thread, as fast as they can.
    pub(crate) fn fill() -> Self {
        Self {
            base: Instant::now(),
            clients: 1,
            close: false,
            warmup: Duration::ZERO,
            length: None,
            rate: None,
            is_strict: true,
        }
    }

    /// The run itself.
    pub(crate) fn measure(settings: &Settings, close: bool) -> Self {
        Self {
            base: Instant::now(),
            clients: settings.clients,
            close,
            warmup: settings.warmup,
            length: Some(settings.length),
            rate: settings.rate,
            is_strict: false,
        }
    }

    /// When it ends at the latest, from its start.
    pub(crate) fn end(&self) -> Option<Duration> {
        match self.length {
            Some(Length::Time(time)) => Some(self.warmup + time),
            _ => None,
        }
    }

    /// What each thread is to do.
    pub(crate) fn jobs<P>(
        &self,
        settings: &Settings,
        depth: usize,
        protocol: impl Fn(usize) -> P,
    ) -> Vec<Job<P>> {
        let threads = settings.threads;
        let share = |count: u64, index: usize| {
            let bound = |index| u128::from(count) * index as u128 / threads as u128;
            (bound(index + 1) - bound(index)) as u64
        };
        (0..threads)
            .map(|index| Job {
                protocol: protocol(index),
                target: settings.target,
                clients: self.clients,
                depth,
                close: self.close,
                schedule: self.rate.map(|rate| Schedule::new(rate, index, threads)),
                timeout: settings.timeout,
                base: self.base,
                from_ns: self.warmup.as_nanos() as u64,
                until_ns: self.end().map_or(u64::MAX, |end| end.as_nanos() as u64),
                quota: match self.length {
                    Some(Length::Requests(count)) => Some(share(count, index)),
                    _ => None,
                },
                is_strict: self.is_strict,
            })
            .collect()
    }
}
