//! A process of our own that runs while it is measured what watching takes of one.
//!
//! It does nothing but look at the clock. What it misses between two looks is what an interrupt took, or a stop.

use std::io;
#[allow(clippy::disallowed_types, reason = "shared with another process")]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::child::{self, now};

/// Less passes between two looks at the clock.
const GAP: u64 = 1_000;

/// As long as this, it was another program's turn.
const PREEMPTED: u64 = 300_000;

#[derive(Debug)]
pub(crate) struct Specimen {
    pub(crate) pid: u32,
    shared: child::Shared<Measured>,
}

/// The memory that both processes have. Breakpoints are set on the first line.
#[repr(C, align(128))]
#[allow(clippy::disallowed_types, reason = "shared with another process")]
struct Measured {
    words: [AtomicU64; 16],
    /// Nanoseconds that it missed so far, and in which it did not run.
    missed: AtomicU64,
    preempted: AtomicU64,
    /// Its last look at the clock.
    last: AtomicU64,
    touches: AtomicBool,
}

impl Specimen {
    pub(crate) fn start() -> io::Result<Self> {
        // SAFETY: it is made of numbers and a `bool`.
        let shared = unsafe { child::Shared::<Measured>::zeroed() }?;
        let (parent, at) = (std::process::id(), shared.as_ptr());
        // SAFETY: `run` allocates nothing, takes no lock and does not return. The child has the mapping as well; both
        // processes only use atomic operations on it.
        let pid = unsafe { child::start(None, || run(&*at, parent)) }?;
        Ok(Self { pid: pid.as_raw().cast_unsigned(), shared })
    }

    fn shared(&self) -> &Measured {
        // SAFETY: it is mapped as long as `self` lives; both processes only use atomic operations on it.
        unsafe { &*self.shared.as_ptr() }
    }

    /// A line that it touches if it is asked to.
    pub(crate) fn line(&self) -> u64 {
        self.shared.as_ptr() as u64
    }

    /// Has it touch the line's first word all the time, or not at all.
    pub(crate) fn touch(&self, touches: bool) {
        // Relaxed: it may notice whenever it does.
        self.shared().touches.store(touches, Ordering::Relaxed);
    }

    /// What it missed meanwhile.
    pub(crate) fn missed(&self, meanwhile: impl FnOnce()) -> Missed {
        let shared = self.shared();
        // Relaxed: if one is older than another, that is a part of a microsecond.
        let read = || {
            let [missed, preempted, last] = [&shared.missed, &shared.preempted, &shared.last]
                .map(|it| it.load(Ordering::Relaxed));
            (missed, last.saturating_sub(preempted))
        };
        let before = read();
        meanwhile();
        let after = read();
        let seconds =
            |before, after: u64| Duration::from_nanos(after.saturating_sub(before)).as_secs_f64();
        Missed { missed: seconds(before.0, after.0), ran: seconds(before.1, after.1) }
    }
}

/// What a process missed, and for how long it ran, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Missed {
    pub(crate) missed: f64,
    pub(crate) ran: f64,
}

impl Drop for Specimen {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.pid.cast_signed());
        // It is a child of ours that has not been waited for, so the number is its own.
        let _ = kill(pid, Signal::SIGKILL);
        let _ = waitpid(pid, None);
    }
}

/// What the child does, to its end.
fn run(shared: &Measured, parent: u32) -> ! {
    // SAFETY: it takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // Its parent's other child may be the one that traces it.
    // SAFETY: it takes numbers only, and fails where it is not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let mut last = now();
    loop {
        // Relaxed, here and below: each is a number or a flag of its own.
        if shared.touches.load(Ordering::Relaxed) {
            shared.words[0].store(last, Ordering::Relaxed);
        }
        let time = now();
        let gap = time.saturating_sub(last);
        if gap >= PREEMPTED {
            shared.preempted.fetch_add(gap, Ordering::Relaxed);
        } else if gap > GAP {
            shared.missed.fetch_add(gap, Ordering::Relaxed);
        }
        shared.last.store(time, Ordering::Relaxed);
        // The parent may have ended before its end was asked to be signalled.
        if gap >= PREEMPTED
            && rustix::process::getppid()
                .is_none_or(|it| it.as_raw_nonzero().get().cast_unsigned() != parent)
        {
            child::end();
        }
        last = time;
    }
}
