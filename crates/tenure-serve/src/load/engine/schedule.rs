//! When requests are due in an open loop.
//!
//! The times are those of the plan, whatever the server does: a request that waits for its turn because
//! the server is slow has its wait counted. So the latency has no coordinated omission.

/// The times of one thread's requests, evenly spaced.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    interval_ns: f64,
    offset_ns: f64,
    next: u64,
}

impl Schedule {
    /// Of thread `index` of so many that make `rate` requests a second together: their times interleave.
    pub(crate) fn new(rate: f64, index: usize, threads: usize) -> Self {
        let all_ns = 1e9 / rate;
        Self { interval_ns: all_ns * threads as f64, offset_ns: all_ns * index as f64, next: 0 }
    }

    /// When the next one is due, in nanoseconds from the start of the run.
    pub(crate) fn next_ns(&self) -> u64 {
        (self.next as f64).mul_add(self.interval_ns, self.offset_ns) as u64
    }

    /// Takes the next one off the list.
    pub(crate) fn advance(&mut self) {
        self.next += 1;
    }

    /// How many are due by now.
    pub(crate) fn due(&self, now_ns: u64) -> u64 {
        if now_ns < self.next_ns() {
            return 0;
        }
        let passed = (now_ns as f64 - self.offset_ns) / self.interval_ns;
        // At least the next, whatever the rounding says: its time has come.
        (passed as u64 + 1).saturating_sub(self.next).max(1)
    }
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
