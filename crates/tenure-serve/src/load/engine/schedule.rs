//! When requests are due in an open loop, the timer that wakes a thread, and its CPU time.
//!
//! Times follow the plan: the wait behind a slow server counts, so latencies have no coordinated omission.

use std::os::fd::OwnedFd;

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime,
    timerfd_create, timerfd_settime,
};

#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    interval_ns: f64,
    offset_ns: f64,
    next: u64,
}

impl Schedule {
    /// For thread `index` of `threads`, whose interleaved requests make `rate` a second.
    pub(crate) fn new(rate: f64, index: usize, threads: usize) -> Self {
        let all_ns = 1e9 / rate;
        Self { interval_ns: all_ns * threads as f64, offset_ns: all_ns * index as f64, next: 0 }
    }

    /// Nanoseconds from the start of the run.
    pub(crate) fn next_ns(&self) -> u64 {
        (self.next as f64).mul_add(self.interval_ns, self.offset_ns) as u64
    }

    pub(crate) fn advance(&mut self) {
        self.next += 1;
    }

    pub(crate) fn due(&self, now_ns: u64) -> u64 {
        if now_ns < self.next_ns() {
            return 0;
        }
        let passed = (now_ns as f64 - self.offset_ns) / self.interval_ns;
        // At least the next one, despite rounding: its time has come.
        (passed as u64 + 1).saturating_sub(self.next).max(1)
    }
}

pub(super) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(super) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

pub(super) fn timer(epoll: &OwnedFd, data: u64) -> Result<OwnedFd, Errno> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    // Edge-triggered: one event each time, without a read.
    let flags = EventFlags::IN | EventFlags::ET;
    epoll::add(epoll, &timer, EventData::new_u64(data), flags)?;
    Ok(timer)
}

/// Also forgets the last event, which is never read.
pub(super) fn arm(timer: &OwnedFd, left_ns: u64) -> Result<(), Errno> {
    let time = Itimerspec { it_interval: timespec(0), it_value: timespec(left_ns) };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &time).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_at_the_rate_they_make_together() {
        let mut both = [Schedule::new(1e6, 0, 2), Schedule::new(1e6, 1, 2)];
        let mut times = Vec::new();
        for _ in 0..3 {
            for schedule in &mut both {
                times.push(schedule.next_ns());
                schedule.advance();
            }
        }
        assert_eq!(times, [0, 1_000, 2_000, 3_000, 4_000, 5_000]);
    }

    #[test]
    fn what_is_not_taken_stays_due() {
        let mut schedule = Schedule::new(1e3, 1, 2);
        assert_eq!(
            [0, 999_999, 1_000_000, 2_999_999, 3_000_001].map(|now| schedule.due(now)),
            [0, 0, 1, 1, 2]
        );
        schedule.advance();
        assert_eq!(schedule.due(3_000_001), 1);
        assert_eq!(schedule.next_ns(), 3_000_000);
    }
}
