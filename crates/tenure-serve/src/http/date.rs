//! The last lines of a head, rendered once a second: `Date`, `Connection` where needed, the empty line.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use httpdate::HttpDate;

use super::request::Persistence;

#[derive(Debug)]
pub(super) struct Tails {
    close: Vec<u8>,
    keep: Vec<u8>,
    keep_as_asked: Vec<u8>,
    /// When the date changes.
    until: Instant,
}

impl Tails {
    pub(super) fn new(now: Instant) -> Self {
        let mut tails =
            Self { close: Vec::new(), keep: Vec::new(), keep_as_asked: Vec::new(), until: now };
        tails.update(now);
        tails
    }

    /// Returns whether another second has begun.
    pub(super) fn update(&mut self, now: Instant) -> bool {
        if now < self.until {
            return false;
        }
        let date = SystemTime::now();
        let begun = date.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        self.until = now + (Duration::from_secs(1) - Duration::from_nanos(begun.into()));
        let date = HttpDate::from(date);
        for (tail, connection) in [
            (&mut self.close, "Connection: close\r\n"),
            (&mut self.keep, ""),
            (&mut self.keep_as_asked, "Connection: keep-alive\r\n"),
        ] {
            tail.clear();
            let _ = write!(tail, "Date: {date}\r\n{connection}\r\n");
        }
        true
    }

    #[inline]
    pub(super) fn of(&self, persistence: Persistence) -> &[u8] {
        match persistence {
            Persistence::Close => &self.close,
            Persistence::Keep => &self.keep,
            Persistence::KeepAsAsked => &self.keep_as_asked,
        }
    }
}
