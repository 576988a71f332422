//! Predictions, made when the findings are out: beside the main thread, at the lowest priority, and for a bounded time.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tenure_report::Progress;
use tenure_run::find::{Forecasts, Machine, Predicted};

use crate::interrupt::Interrupt;
use crate::progress::Bar;

/// Processor time of all predictions of a report, at most. The usual report takes a fifth of it.
const LONGEST: Duration = Duration::from_secs(10);

/// How often a signal is looked for.
const ASKED: Duration = Duration::from_millis(20);

/// What came of it.
pub(crate) struct Outcome {
    /// Processor time.
    pub(crate) took: Duration,
    /// What was left out, and why: a sentence.
    pub(crate) left_out: Option<String>,
}

/// Makes all predictions, and passes each to `enter`, until the time is over or a signal comes.
pub(crate) fn predict(
    mut forecasts: Forecasts,
    machine: Machine,
    interrupt: &Interrupt,
    mut enter: impl FnMut(Predicted),
) -> Outcome {
    let all = forecasts.count();
    let start = processor_time();
    let came = interrupt.handle();
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        lower_priority();
        let go_on = || !came.get() && processor_time().saturating_sub(start) < LONGEST;
        while let Some(predicted) = forecasts.next(&machine, &go_on) {
            if sender.send(predicted).is_err() {
                return;
            }
        }
    });
    let bar = Bar::new();
    bar.begin("predicting what each change would give; Ctrl-C skips that", all as u64);
    let mut done = 0;
    let is_over = loop {
        match receiver.recv_timeout(ASKED) {
            Ok(predicted) => {
                enter(predicted);
                bar.advance(1);
                done += 1;
            }
            Err(RecvTimeoutError::Disconnected) => break true,
            // The worker may wait long for a processor: it is left behind.
            Err(RecvTimeoutError::Timeout) if interrupt.came() => break false,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    bar.end();
    if is_over && let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
    let left_out = (done < all).then(|| {
        let why = match interrupt.came() {
            true => "a signal ended predicting".to_owned(),
            false => format!("predicting had taken {} s of processor time", LONGEST.as_secs()),
        };
        format!("{} of {all} predictions were left out: {why}.", all - done)
    });
    Outcome { took: processor_time().saturating_sub(start), left_out }
}

/// Of this process, all threads together.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.try_into().unwrap_or_default()
}

/// Of this thread, and of those that it starts.
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
