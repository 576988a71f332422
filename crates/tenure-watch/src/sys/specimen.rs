//! A process of our own, on which the cost of watching is measured.
//!
//! It does nothing but read the clock. Of its processor time, what passes between two readings that follow each other at once is
//! its own; the rest is what interrupts took. It reads that time itself: others see it as it was at the last tick.

use std::io;
#[allow(clippy::disallowed_types, reason = "shared with another process")]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::child::{self, now};

/// Less time passes between two readings of the clock.
const MIN_GAP_NS: u64 = 1_000;

/// Time enough for the next reading of the clock.
const CLOCK_READ: Duration = Duration::from_micros(100);

/// Readings of the clock between two checks that the parent is there.
const READINGS_PER_CHECK: u32 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Specimen {
    pub(crate) pid: u32,
    shared: child::SharedMemory<SpecimenClock>,
}

/// The memory that both processes have. Breakpoints are set on the first line.
#[repr(C, align(128))]
#[allow(clippy::disallowed_types, reason = "shared with another process")]
struct SpecimenClock {
    words: [AtomicU64; 16],
    /// Nanoseconds of processor time so far, and those of them that interrupts took.
    ran_ns: AtomicU64,
    missed_ns: AtomicU64,
    touches: AtomicBool,
}

impl Specimen {
    pub(crate) fn start() -> io::Result<Self> {
        // SAFETY: it is made of numbers and a `bool`.
        let shared = unsafe { child::SharedMemory::<SpecimenClock>::zeroed() }?;
        let (parent, at) = (std::process::id(), shared.as_ptr());
        // SAFETY: `run` allocates nothing, takes no lock and does not return. The child has the mapping as well; both
        // processes only use atomic operations on it.
        let pid = unsafe { child::start(None, || run(&*at, parent)) }?;
        Ok(Self { pid: pid.as_raw().cast_unsigned(), shared })
    }

    fn shared(&self) -> &SpecimenClock {
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
        // Relaxed: a gap more or less does not matter.
        let read = || {
            [&self.shared().ran_ns, &self.shared().missed_ns].map(|it| it.load(Ordering::Relaxed))
        };
        let before = read();
        meanwhile();
        // The end of what was done shows at the next reading.
        thread::sleep(CLOCK_READ);
        let after = read();
        let [ran, missed] = [0, 1].map(|at| Duration::from_nanos(after[at] - before[at]));
        Missed { missed, ran }
    }
}

/// Nanoseconds of processor time of this process, which has one thread.
fn ran_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Processor time that a process missed, and all that it had.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Missed {
    pub(crate) missed: Duration,
    pub(crate) ran: Duration,
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
fn run(shared: &SpecimenClock, parent: u32) -> ! {
    // SAFETY: it takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // Its parent's other child may be the one that traces it.
    // SAFETY: it takes numbers only, and fails where it is not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let mut last = now();
    let mut readings = 0_u32;
    // Processor time at the last gap, and what passed since then without one.
    let (mut before, mut clean) = (ran_ns(), 0);
    loop {
        // Relaxed, here and below: each is a number or a flag of its own.
        if shared.touches.load(Ordering::Relaxed) {
            shared.words[0].store(last, Ordering::Relaxed);
        }
        let mut time = now();
        let gap = time.saturating_sub(last);
        if gap < MIN_GAP_NS {
            clean += gap;
        } else {
            let after = ran_ns();
            let taken = after.saturating_sub(before);
            shared.missed_ns.fetch_add(taken.saturating_sub(clean), Ordering::Relaxed);
            shared.ran_ns.fetch_add(taken, Ordering::Relaxed);
            (before, clean) = (after, 0);
            time = now();
        }
        last = time;
        readings = readings.wrapping_add(1);
        // It may have ended before its end was asked to be signalled.
        let is_orphan = || {
            let it = rustix::process::getppid().map(|it| it.as_raw_nonzero().get().cast_unsigned());
            it != Some(parent)
        };
        if readings.is_multiple_of(READINGS_PER_CHECK) && is_orphan() {
            child::end();
        }
    }
}
