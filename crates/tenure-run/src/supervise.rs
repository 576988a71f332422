//! Runs the program to its end: passes signals on, and has the observer read along.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use tenure_debuginfo::Error;

use crate::observe::{BUCKET, Observer};
use crate::{Recording, RunObserver};
use tenure_model::Ended;

/// Runs the program to its end while the observer reads its records.
pub(crate) fn run(
    mut command: Command,
    mut observer: Observer,
    watch: &dyn RunObserver,
) -> Result<Recording, Error> {
    let program = command.get_program().to_owned();
    // Before the program is there: a signal that comes early is kept for it.
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])
        .map_err(|error| not_passed(&error))?;
    let start = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| Error::new(format!("cannot run {}: {error}", program.display())))?;
    let handle = handle(&child)?;
    let is_over = Arc::new(OnceLock::new());
    pass_on(signals, &handle, &is_over)?;
    let mut last = start;
    while !has_ended(&handle, BUCKET.saturating_sub(last.elapsed())) {
        // An interrupted wait ends early.
        if last.elapsed() >= BUCKET {
            let now = Instant::now();
            observer.end_bucket(now - last);
            last = now;
            let (lines, worst) = observer.so_far();
            watch.at(start.elapsed(), lines, worst);
        }
    }
    let status = child
        .wait()
        .map_err(|error| Error::new(format!("cannot wait for the program: {error}")))?;
    watch.ended();
    let _ = is_over.set(());
    observer.end_bucket(last.elapsed());
    let ended = match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited { status: code },
        (None, signal) => Ended::Killed { signal: signal.unwrap_or(0) },
    };
    Ok(Recording {
        ended,
        seconds: start.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds(),
        processes: observer.finish(),
    })
}

/// A handle that no other process can come to have, as it can a number.
fn handle(child: &Child) -> Result<OwnedFd, Error> {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a number");
    pidfd_open(pid, PidfdFlags::empty()).map_err(|error| {
        Error::new(format!("cannot watch the program: {error}; this needs Linux 5.3 or later"))
    })
}

fn has_ended(handle: &OwnedFd, within: Duration) -> bool {
    let timeout = Timespec::try_from(within).ok();
    let mut handles = [PollFd::new(handle, PollFlags::IN)];
    poll(&mut handles, timeout.as_ref()).is_ok_and(|ready| ready > 0)
}

/// Passes signals on to the program until `ended` is set. Those that a terminal sends go to the whole foreground group, the program included: they are only kept from ending this command.
fn pass_on(mut signals: Signals, handle: &OwnedFd, ended: &Arc<OnceLock<()>>) -> Result<(), Error> {
    let target = handle.as_fd().try_clone_to_owned().map_err(|error| not_passed(&error))?;
    let ended = Arc::clone(ended);
    thread::spawn(move || {
        for number in signals.forever() {
            // Both fail only for what is not a signal, or has gone.
            let is_passed_on = ended.get().is_none() && !matches!(number, SIGINT | SIGQUIT);
            if let (true, Some(signal)) = (is_passed_on, Signal::from_named_raw(number)) {
                let _ = pidfd_send_signal(&target, signal);
            }
        }
    });
    Ok(())
}

fn not_passed(error: &std::io::Error) -> Error {
    Error::new(format!("cannot pass signals on: {error}"))
}

fn cpu_seconds() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return 0.0 };
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Recording {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, Observer::new(folder.path()), &()).unwrap()
    }

    #[test]
    fn the_end_of_a_program_is_told_as_shells_do() {
        for (script, ended, status) in [
            ("exit 0", Ended::Exited { status: 0 }, 0),
            ("exit 3", Ended::Exited { status: 3 }, 3),
            ("kill -TERM $$", Ended::Killed { signal: 15 }, 143),
            ("kill -KILL $$", Ended::Killed { signal: 9 }, 137),
        ] {
            let recording = sh(script);
            assert_eq!((recording.ended, recording.ended.status()), (ended, status), "{script}");
            assert!(recording.processes.is_empty());
        }
    }

    #[test]
    fn the_time_of_a_program_is_measured() {
        let recording = sh("sleep 0.1");
        assert!((0.1..60.0).contains(&recording.seconds), "{}", recording.seconds);
        assert!(recording.cpu_seconds > 0.0);
    }

    #[test]
    fn a_program_that_cannot_be_run_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = run(Command::new("/no/such"), Observer::new(folder.path()), &()).unwrap_err();
        assert!(error.to_string().starts_with("cannot run /no/such: "), "{error}");
    }
}
