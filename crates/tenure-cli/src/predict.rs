//! Makes predictions after the findings are out: on a thread of the lowest priority, and for a bounded time.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tenure_analyze::{Forecasts, Machine, Predicted};
use tenure_model::Progress;

use crate::interrupt::{Came, Interrupt};
use crate::progress::ProgressDisplay;

/// Processor time of all predictions of a report, at most. The usual report takes a fifth of it.
const MAX_PROCESSOR_TIME: Duration = Duration::from_secs(10);

/// Wall time of all predictions, at most: on a busy machine they may wait long for a processor.
const MAX_WALL_TIME: Duration = Duration::from_secs(30);

/// What the progress bar says.
const ABOUT: &str = "predicting what each change would give; Ctrl-C skips that";

/// How often a signal is checked for.
const SIGNAL_POLL: Duration = Duration::from_millis(20);

/// A report waits so long for its predictions. The usual ones take less.
const PATIENCE: Duration = Duration::from_secs(2);

/// How predicting goes on.
pub(crate) enum Predicting<T = Predicted> {
    /// A prediction was made.
    Made(T),
    /// It takes longer than a reader waits. Comes once at most.
    TakesLong,
}

/// How predicting ended.
pub(crate) struct PredictingEnd {
    /// The processor time that it took.
    pub(crate) took: Duration,
    /// What was left out, and why: a sentence.
    pub(crate) left_out: Option<String>,
}

/// Makes all predictions, and passes each to `went_on`, until the time is over or a signal comes.
pub(crate) fn predict(
    mut forecasts: Forecasts,
    machine: Machine,
    interrupt: &Interrupt,
    went_on: impl FnMut(Predicting),
) -> PredictingEnd {
    let all = forecasts.count();
    let next = move |go_on: &dyn Fn() -> bool| forecasts.next(&machine, go_on);
    work(all, MAX_WALL_TIME, &interrupt.handle(), next, went_on)
}

/// Has a thread do `all` work, piece by piece, for so long at most.
fn work<T: Send + 'static>(
    all: usize,
    longest: Duration,
    came: &Came,
    mut next: impl FnMut(&dyn Fn() -> bool) -> Option<T> + Send + 'static,
    mut went_on: impl FnMut(Predicting<T>),
) -> PredictingEnd {
    let (start, begin) = (processor_time(), Instant::now());
    let (sender, receiver) = mpsc::channel();
    let has_ended = came.clone();
    let worker = thread::spawn(move || {
        lower_priority();
        let is_late = || processor_time().saturating_sub(start) >= MAX_PROCESSOR_TIME;
        let go_on = || !has_ended.get() && !is_late() && begin.elapsed() < longest;
        while let Some(piece) = next(&go_on) {
            if sender.send(piece).is_err() {
                return;
            }
        }
    });
    let bar = ProgressDisplay::new();
    bar.begin(ABOUT, all as u64);
    let (mut done, mut is_long) = (0, false);
    let is_over = loop {
        if !is_long && begin.elapsed() >= PATIENCE {
            is_long = true;
            bar.end();
            went_on(Predicting::TakesLong);
            bar.begin(ABOUT, (all - done) as u64);
        }
        match receiver.recv_timeout(SIGNAL_POLL) {
            Ok(piece) => {
                went_on(Predicting::Made(piece));
                bar.advance(1);
                done += 1;
            }
            Err(RecvTimeoutError::Disconnected) => break true,
            // The worker may wait long for a processor: it is left behind.
            Err(RecvTimeoutError::Timeout) if came.get() || begin.elapsed() >= longest => {
                break false;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    bar.end();
    // What it says of a panic is on standard error.
    let has_failed = is_over && worker.join().is_err();
    let took = processor_time().saturating_sub(start);
    let left_out = (done < all).then(|| {
        let why = if has_failed {
            "the simulator failed, which is a defect of tenure".to_owned()
        } else if came.get() {
            "a signal ended predicting".to_owned()
        } else if took < MAX_PROCESSOR_TIME {
            format!("the machine was too busy to predict them in {} s", longest.as_secs())
        } else {
            format!("predicting had taken {} s of processor time", MAX_PROCESSOR_TIME.as_secs())
        };
        format!("{} of {all} predictions were left out: {why}.", all - done)
    });
    PredictingEnd { took, left_out }
}

/// The processor time of this process: of all its threads together.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.try_into().unwrap_or_default()
}

/// Gives this thread, and those that it starts, the lowest priority.
#[cfg(target_os = "linux")]
fn lower_priority() {
    // It may always be lowered; where it cannot be, they take the same time.
    let _ = rustix::process::setpriority_process(None, 19);
}

/// Programs are run and watched on Linux alone.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_left_out_and_ends_nothing() {
        let mut pieces = [1, 2].into_iter();
        let next = move |_: &dyn Fn() -> bool| Some(pieces.next().expect("a third piece"));
        let mut entered = Vec::new();
        let outcome = work(5, MAX_WALL_TIME, &Came::default(), next, |progress| {
            if let Predicting::Made(piece) = progress {
                entered.push(piece);
            }
        });
        assert_eq!(entered, [1, 2]);
        let left_out = outcome.left_out.unwrap();
        assert!(left_out.starts_with("3 of 5 predictions were left out: the simulator failed"));
    }

    #[test]
    fn a_worker_that_gets_no_processor_is_left_behind() {
        let (_held, never) = mpsc::channel::<()>();
        let next = move |_: &dyn Fn() -> bool| never.recv().ok();
        let outcome = work(2, Duration::ZERO, &Came::default(), next, |_: Predicting<()>| {});
        let left_out = outcome.left_out.unwrap();
        assert!(left_out.starts_with("2 of 2 predictions were left out: the machine was too busy"));
    }
}
