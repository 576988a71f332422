use serde::{Deserialize, Serialize};

/// Picoseconds. Whole numbers, so that every host computes the same.
pub(crate) type Ps = u64;

/// The end of time, three months: later times are not counted, and sums stay far from overflow.
pub(crate) const FOREVER: Ps = Ps::MAX / 2;

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked by the caller")]
pub(crate) fn ps(ns: f64) -> Ps {
    (ns * 1e3).round() as Ps
}

#[allow(clippy::cast_precision_loss, reason = "simulations last far less than 2^53 ps")]
pub(crate) fn ns(ps: Ps) -> f64 {
    ps as f64 / 1e3
}

/// Nanoseconds: one number, or a range from which each use draws evenly.
///
/// ```toml
/// hit = 1.2
/// socket = [44, 51]
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a time is a number of nanoseconds or a range such as [44, 51]")]
pub enum TimeRange {
    /// Always the same.
    Fixed(f64),
    /// Any time from the first to the second.
    Range([f64; 2]),
}

impl TimeRange {
    /// The least, in nanoseconds.
    #[must_use]
    pub fn low(self) -> f64 {
        match self {
            Self::Fixed(ns) => ns,
            Self::Range([low, _]) => low,
        }
    }

    /// The most, in nanoseconds.
    #[must_use]
    pub fn high(self) -> f64 {
        match self {
            Self::Fixed(ns) => ns,
            Self::Range([_, high]) => high,
        }
    }

    /// The mean, in nanoseconds.
    #[must_use]
    pub fn mean(self) -> f64 {
        f64::midpoint(self.low(), self.high())
    }
}
