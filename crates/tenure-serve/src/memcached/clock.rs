//! Time in seconds, and what an expiry means in it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::relaxed::Relaxed;

/// Whole seconds since a little before the server started. As an expiry, 0 is "never".
pub(super) type Seconds = u32;

/// An expiry before the start can be 1. The number is memcached's; `mg t` of an expired item shows it.
const START: Seconds = 62;

/// Longer expiries are moments since 1970.
const MOST_RELATIVE: i32 = 60 * 60 * 24 * 30;

pub(super) struct Clock {
    start: Instant,
    /// The moment 0, in seconds since 1970.
    zero: i64,
    /// Seconds that a test moved the clock forward.
    moved: Relaxed<u32>,
}

impl Clock {
    pub(super) fn new(start: Instant, wall: SystemTime) -> Self {
        let wall = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { start, zero: wall as i64 - i64::from(START), moved: Relaxed::new(0) }
    }

    pub(super) fn seconds(&self, now: Instant) -> Seconds {
        let since = now.saturating_duration_since(self.start).as_secs() as Seconds;
        since + START + self.moved.get()
    }

    #[cfg(debug_assertions)]
    pub(super) fn move_on(&self, seconds: Seconds) {
        // Some decades suffice, and sums with them fit.
        self.moved.set(self.moved.get().saturating_add(seconds).min(1 << 30));
    }

    pub(super) fn uptime(now: Seconds) -> u32 {
        now - START
    }

    /// Seconds since 1970.
    pub(super) fn wall(&self, now: Seconds) -> i64 {
        self.zero + i64::from(now)
    }

    /// Up to 30 days count from now, more from 1970; negative ones are past.
    pub(super) fn expiry(&self, expiry: i32, now: Seconds) -> Seconds {
        match expiry {
            0 => 0,
            1..=MOST_RELATIVE => now.saturating_add(expiry as Seconds),
            ..=-1 => 1,
            _ => (i64::from(expiry) - self.zero).clamp(1, Seconds::MAX.into()) as Seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn expiries_are_relative_absolute_or_over() {
        let start = Instant::now();
        let clock = Clock::new(start, UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let now = clock.seconds(start + Duration::from_secs(100));
        assert_eq!((Clock::uptime(now), clock.wall(now)), (100, 1_800_000_100));
        assert_eq!(clock.expiry(0, now), 0);
        assert_eq!(clock.expiry(1, now), now + 1);
        assert_eq!(clock.expiry(MOST_RELATIVE, now), now + 2_592_000);
        assert_eq!(clock.expiry(1_800_000_105, now), now + 5);
        for over in [-1, i32::MIN, MOST_RELATIVE + 1, 1_799_999_990] {
            assert!((1..START).contains(&clock.expiry(over, now)), "{over}");
        }
    }
}
