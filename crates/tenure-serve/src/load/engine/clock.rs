//! A thread's CPU time, and the timer that wakes it.

use std::os::fd::OwnedFd;

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// What this thread has used of a CPU.
pub(super) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// So many nanoseconds, as the system wants them.
pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// A timer that `epoll` tells about as `data`.
pub(super) fn timer(epoll: &OwnedFd, data: u64) -> Result<OwnedFd, Errno> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    // Told once each time it goes off, as nobody reads it.
    let flags = EventFlags::IN | EventFlags::ET;
    epoll::add(epoll, &timer, EventData::new_u64(data), flags)?;
    Ok(timer)
}

/// Has the timer go off in so long. What it told before is forgotten, so that nobody needs to read it.
pub(super) fn arm(timer: &OwnedFd, left_ns: u64) -> Result<(), Errno> {
    let time = Itimerspec { it_interval: timespec(0), it_value: timespec(left_ns) };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &time).map(drop)
}
