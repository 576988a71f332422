//! [`Workload`]: what a run needs of a plan. And [`Phase`]: when it does what.

use std::time::{Duration, Instant};

use super::Error;
use super::engine::Job;
use super::engine::protocol::Protocol;
use super::engine::schedule::Schedule;
use super::settings::{Length, Settings};
use super::tool::Task;

/// What a run needs of a plan.
pub(super) trait Workload {
    type Protocol: Protocol;

    const NAME: &'static str;

    fn settings(&self) -> &Settings;

    fn check(&self) -> Result<(), Error>;

    /// The load in words.
    fn load(&self) -> String;

    fn closes(&self) -> bool {
        false
    }

    /// The same load for another generator.
    fn task(&self) -> Task;

    /// The jobs that set the keys, if there are any.
    fn fill(&self, phase: &Phase) -> Option<Vec<Job<Self::Protocol>>>;

    /// The jobs of the run, one for each thread.
    fn measure(&self, phase: &Phase) -> Vec<Job<Self::Protocol>>;
}

#[derive(Debug, Clone)]
pub(crate) struct Phase {
    pub(crate) base: Instant,
    pub(crate) clients: usize,
    pub(crate) close: bool,
    /// Before measuring.
    pub(crate) warmup: Duration,
    /// Without it, the phase ends when there is nothing left to ask.
    pub(crate) length: Option<Length>,
    pub(crate) rate: Option<f64>,
    /// Whether the first error ends it.
    pub(crate) is_strict: bool,
}

impl Phase {
    /// Sets the keys: one client of each thread, as fast as possible.
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

    pub(crate) fn end(&self) -> Option<Duration> {
        match self.length {
            Some(Length::Time(time)) => Some(self.warmup + time),
            _ => None,
        }
    }

    /// The jobs of all threads.
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
