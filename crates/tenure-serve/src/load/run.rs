//! From a plan to an outcome.

use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tenure_report::Progress;

use super::Error;
use super::cpu::CpuTimes;
use super::engine::Job;
use super::engine::protocol::Protocol;
use super::engine::tally::Tally;
use super::engine::worker::Worker;
use super::outcome::{Cpu, ErrorKind, Errors, Kind, Latency, Outcome, Request, SCHEMA, Second};
use super::settings::{Generator, Length, Settings};
use super::workload::Workload;
use super::{http, memcached, tool};
use crate::process::allow_connections;

/// A run that can be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Against a memcached server.
    Memcached(memcached::Plan),
    /// Against an HTTP server.
    Http(http::Plan),
}

impl From<memcached::Plan> for Plan {
    fn from(plan: memcached::Plan) -> Self {
        Self::Memcached(plan)
    }
}

impl From<http::Plan> for Plan {
    fn from(plan: http::Plan) -> Self {
        Self::Http(plan)
    }
}

const LOOK: Duration = Duration::from_millis(100);

/// From this rate on, an open loop has requests under way in every second.
const STEADY: f64 = 20.0;

/// Makes the load, and returns what it found.
///
/// # Errors
///
/// A bad plan, a server that does not answer or store keys, no room for the connections, or another generator that is
/// missing or fails. Failures of single requests are counted and end no run.
pub fn run(plan: &Plan, progress: &dyn Progress) -> Result<Outcome, Error> {
    match plan {
        Plan::Memcached(plan) => run_workload(plan, progress),
        Plan::Http(plan) => run_workload(plan, progress),
    }
}

fn run_workload<P: Workload>(plan: &P, progress: &dyn Progress) -> Result<Outcome, Error> {
    let settings = plan.settings();
    settings.check()?;
    plan.check()?;
    tool::check(settings)?;
    reach(settings)?;
    if !settings.pids.is_empty() && CpuTimes::of(&settings.pids).is_empty() {
        return Err(Error::new("no process has the given --pid; correct it or leave it out"));
    }
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    if let Some(requests) = plan.fill() {
        fill(requests, settings, progress)?;
    }
    let found = match settings.generator {
        Generator::Own => measure(plan, progress)?,
        Generator::Memtier | Generator::Wrk => tool::run(&plan.arguments(), settings, progress)?,
    };
    Ok(Outcome {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        request: Request {
            protocol: P::NAME.to_owned(),
            address: settings.target.to_string(),
            threads: settings.threads,
            clients: settings.clients,
            pipeline: settings.pipeline,
            rate: settings.rate,
            close: plan.closes(),
            warmup: settings.warmup.as_secs_f64(),
            load: plan.load(),
        },
        ..found
    })
}

/// Fails without a server, before a hundred clients do.
fn reach(settings: &Settings) -> Result<(), Error> {
    let target = settings.target;
    let reached = TcpStream::connect_timeout(&target, settings.timeout);
    reached.map(drop).map_err(|error| {
        Error::new(format!("cannot connect to {target}: {error}; is the server running?"))
    })
}

fn fill<P: Protocol>(
    requests: Vec<P>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<(), Error> {
    progress.begin("setting the keys", 0);
    let start = (Instant::now(), Duration::ZERO);
    let found = drive(requests, |_| Job::filling(settings), start, &mut |_, _| {});
    progress.end();
    let tally = found?;
    let Some(said) = tally.first_failure() else { return Ok(()) };
    let hint = if said.starts_with("SERVER_ERROR") {
        "give the server more memory, or set fewer or shorter values"
    } else {
        "is it a memcached server, and does it allow so many connections?"
    };
    Err(Error::new(format!("cannot set the keys: {said}; {hint}")))
}

fn measure<P: Workload>(plan: &P, progress: &dyn Progress) -> Result<Outcome, Error> {
    let settings = plan.settings();
    if !allow_connections(settings.connections()) {
        return Err(Error::new(format!(
            "{} connections are more than this process may have; use fewer clients, or raise the limit (`ulimit -Hn`)",
            settings.connections()
        )));
    }
    let (base, warmup) = (Instant::now(), settings.warmup);
    let steps = match settings.length {
        Length::Time(time) => (warmup + time).as_millis() as u64,
        Length::Requests(count) => count,
    };
    progress.begin("measuring", steps);
    let mut before = None;
    let mut shown_ms = 0;
    let job = |index| Job::measuring(settings, plan.closes(), base, index);
    let tally = drive(plan.measure(), job, (base, warmup), &mut |elapsed, answered| {
        if before.is_none() && elapsed >= warmup {
            before = Some(CpuTimes::of(&settings.pids));
        }
        match settings.length {
            Length::Requests(_) => progress.advance(answered),
            Length::Time(_) => {
                let elapsed_ms = elapsed.as_millis() as u64;
                progress.advance(elapsed_ms.saturating_sub(shown_ms));
                shown_ms = elapsed_ms;
            }
        }
    });
    let after = CpuTimes::of(&settings.pids);
    progress.end();
    let tally = tally?;
    let ended = match settings.length {
        Length::Time(time) => time,
        // With unanswered requests, the run lasted until now.
        Length::Requests(_) if tally.unanswered > 0 => base.elapsed().saturating_sub(warmup),
        Length::Requests(_) => Duration::from_nanos(tally.last_ns).saturating_sub(warmup),
    };
    let before = before.filter(|before| !before.is_empty());
    let server_ns = before.map(|before| after.since(&before));
    let is_steady = settings.rate.is_none_or(|rate| rate >= STEADY);
    Ok(outcome(tally, <P::Protocol as Protocol>::KINDS, ended, server_ns, is_steady))
}

/// Runs a thread for each of `requests`. Calls `look` now and then and after the warm-up, with the time so far and the
/// answers since the last call.
fn drive<P: Protocol>(
    requests: Vec<P>,
    job: impl Fn(usize) -> Job,
    (base, warmup): (Instant, Duration),
    look: &mut dyn FnMut(Duration, u64),
) -> Result<Tally, Error> {
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        let spawn = |(index, protocol)| {
            let (job, sender) = (job(index), sender.clone());
            scope.spawn(move || {
                let found = Worker::new(protocol, job).and_then(|worker| worker.run(&sender));
                if found.is_err() {
                    // Ends all threads: the receiver goes.
                    let _ = sender.send(FAILED);
                }
                found
            })
        };
        let threads: Vec<_> = requests.into_iter().enumerate().map(spawn).collect();
        drop(sender);
        watch(&receiver, base, warmup, look);
        drop(receiver);
        let mut all: Option<Tally> = None;
        for thread in threads {
            let tally = thread.join().expect("a thread of the generator does not panic")?;
            match &mut all {
                None => all = Some(tally),
                Some(all) => all.merge(tally),
            }
        }
        Ok(all.expect("a run has at least one thread"))
    })
}

/// Sent by a thread that failed.
const FAILED: u64 = u64::MAX;

/// Returns once all threads have ended, or one has failed.
fn watch(
    receiver: &Receiver<u64>,
    base: Instant,
    warmup: Duration,
    look: &mut dyn FnMut(Duration, u64),
) {
    let mut is_warm = false;
    loop {
        let elapsed = base.elapsed();
        if elapsed >= warmup && !is_warm {
            is_warm = true;
            look(elapsed, 0);
        }
        // Wakes for the end of the warm-up.
        let wait = warmup.checked_sub(elapsed).filter(|left| !left.is_zero()).unwrap_or(LOOK);
        match receiver.recv_timeout(wait.min(LOOK)) {
            Ok(FAILED) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(answered) => look(base.elapsed(), answered),
            Err(RecvTimeoutError::Timeout) => look(base.elapsed(), 0),
        }
    }
}

/// The outcome without the run's description. A steady run has an answer in every second.
fn outcome(
    tally: Tally,
    names: &[&str],
    measured: Duration,
    server_ns: Option<u64>,
    is_steady: bool,
) -> Outcome {
    let seconds = measured.as_secs_f64();
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let mut all = super::engine::tally::histogram();
    for kind in &tally.kinds {
        all.add(&kind.latency).expect("all histograms have the same bounds");
    }
    let ops = all.len();
    let kinds = tally.kinds.iter().zip(names).map(|(kind, name)| Kind {
        name: (*name).to_owned(),
        ops: kind.latency.len(),
        ops_per_second: per_second(kind.latency.len()),
        hits: kind.hits,
        misses: kind.misses,
        latency: Latency::of(&kind.latency),
    });
    let errors: Vec<Errors> = ErrorKind::ALL
        .into_iter()
        .zip(tally.errors)
        .filter_map(|(kind, (count, first))| Some(Errors { kind, count, first: first? }))
        .collect();
    let mut series: Vec<Second> = tally
        .seconds
        .iter()
        .map(|it| Second { ops: it.ops, slowest_ns: Some(it.slowest_ns as f64) })
        .collect();
    let silence = Second { ops: 0, slowest_ns: None };
    series.resize(series.len().max(seconds.ceil() as usize), silence);
    let whole = &series[..seconds as usize];
    let silent = whole.iter().filter(|second| is_steady && second.ops == 0).count();
    let wrong = errors.iter().any(|errors| errors.kind == ErrorKind::Wrong);
    Outcome {
        generator: "tenure".to_owned(),
        seconds,
        ops,
        ops_per_second: per_second(ops),
        sent_per_second: Some(per_second(tally.sent)),
        received_per_second: Some(per_second(tally.received)),
        latency: Latency::of(&all),
        kinds: kinds.collect(),
        errors,
        unanswered: Some(tally.unanswered),
        series,
        silent_seconds: silent as u64,
        client_cpu: Some(Cpu::new(tally.cpu_ns, ops)),
        server_cpu: server_ns.map(|ns| Cpu::new(ns, ops)),
        passed: ops > 0 && !wrong && silent == 0,
        ..Outcome::default()
    }
}

impl Latency {
    fn of(histogram: &hdrhistogram::Histogram<u64>) -> Option<Self> {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64;
        (!histogram.is_empty()).then(|| Self {
            mean_ns: histogram.mean(),
            p50_ns: at(0.5),
            p90_ns: Some(at(0.9)),
            p99_ns: at(0.99),
            p999_ns: Some(at(0.999)),
            max_ns: Some(histogram.max() as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(seconds: &[u64]) -> Tally {
        let mut tally = Tally::new(1);
        for second in seconds {
            tally.record(0, true, 1_000, second * 1_000_000_000 + 1);
        }
        tally
    }

    fn silent(outcome: &Outcome) -> (u64, Vec<u64>, bool) {
        (outcome.silent_seconds, outcome.series.iter().map(|it| it.ops).collect(), outcome.passed)
    }

    #[test]
    fn seconds_without_an_answer_are_in_the_series_and_fail_the_run() {
        let tally = || answered(&[0, 0, 2]);
        let time = |seconds| Duration::from_secs_f64(seconds);
        let found = outcome(tally(), &["get"], time(5.5), None, true);
        assert_eq!(silent(&found), (3, vec![2, 0, 1, 0, 0, 0], false));
        let found = outcome(tally(), &["get"], time(5.5), None, false);
        assert_eq!(silent(&found), (0, vec![2, 0, 1, 0, 0, 0], true), "so few were asked for");
        let found = outcome(answered(&[0, 1]), &["get"], time(2.9), None, true);
        assert_eq!(silent(&found), (0, vec![1, 1, 0], true), "the last second is not a whole one");
    }
}
