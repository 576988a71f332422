//! What one thread counted.

use hdrhistogram::Histogram;

use crate::load::outcome::ErrorKind;

/// Significant digits of latencies.
const DIGITS: u8 = 3;

/// An hour. Longer latencies count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("these are sound bounds")
}

#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) seconds: Vec<Second>,
    /// By [`ErrorKind::index`]: how many, and the first one's text.
    pub(crate) errors: [(u64, Option<String>); ErrorKind::ALL.len()],
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Requests that were due or sent by the end, without an answer.
    pub(crate) unanswered: u64,
    pub(crate) cpu_ns: u64,
    /// When the last answer arrived, from the start of the run.
    pub(crate) last_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) latency: Histogram<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) ops: u64,
    pub(crate) slowest_ns: u64,
}

impl Tally {
    pub(crate) fn new(kinds: usize) -> Self {
        let kind = || Kind { hits: 0, misses: 0, latency: histogram() };
        Self {
            kinds: (0..kinds).map(|_| kind()).collect(),
            seconds: Vec::new(),
            errors: std::array::from_fn(|_| (0, None)),
            sent: 0,
            received: 0,
            unanswered: 0,
            cpu_ns: 0,
            last_ns: 0,
        }
    }

    /// `at_ns` counts from the start of the measuring.
    #[inline]
    pub(crate) fn record(&mut self, kind: usize, hit: bool, latency_ns: u64, at_ns: u64) {
        let of = &mut self.kinds[kind];
        if hit {
            of.hits += 1;
        } else {
            of.misses += 1;
        }
        of.latency.saturating_record(latency_ns);
        let second = (at_ns / 1_000_000_000) as usize;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, Second::default());
        }
        let second = &mut self.seconds[second];
        second.ops += 1;
        second.slowest_ns = second.slowest_ns.max(latency_ns);
    }

    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, said: String) {
        let (count, first) = &mut self.errors[kind.index()];
        *count += 1;
        first.get_or_insert(said);
    }

    pub(crate) fn failures(&self) -> u64 {
        self.errors.iter().map(|(count, _)| count).sum()
    }

    pub(crate) fn first_failure(&self) -> Option<&str> {
        self.errors.iter().find_map(|(_, said)| said.as_deref())
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (ours, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            ours.hits += theirs.hits;
            ours.misses += theirs.misses;
            ours.latency.add(theirs.latency).expect("all histograms have the same bounds");
        }
        let seconds = self.seconds.len().max(other.seconds.len());
        self.seconds.resize(seconds, Second::default());
        for (ours, theirs) in self.seconds.iter_mut().zip(other.seconds) {
            ours.ops += theirs.ops;
            ours.slowest_ns = ours.slowest_ns.max(theirs.slowest_ns);
        }
        for (ours, theirs) in self.errors.iter_mut().zip(other.errors) {
            ours.0 += theirs.0;
            ours.1 = ours.1.take().or(theirs.1);
        }
        self.sent += other.sent;
        self.received += other.received;
        self.unanswered += other.unanswered;
        self.cpu_ns += other.cpu_ns;
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_threads_counted_adds_up() {
        let (mut one, mut two) = (Tally::new(2), Tally::new(2));
        one.record(0, true, 1_000, 0);
        one.record(1, false, 5_000, 2_500_000_000);
        two.record(1, true, 3_000, 900_000_000);
        two.fail(ErrorKind::Wrong, "first".to_owned());
        two.fail(ErrorKind::Wrong, "second".to_owned());
        one.merge(two);
        assert_eq!((one.kinds[0].hits, one.kinds[1].hits, one.kinds[1].misses), (1, 1, 1));
        assert_eq!(one.kinds[1].latency.len(), 2);
        assert_eq!(one.kinds[1].latency.value_at_quantile(0.5), 3_001, "to three digits");
        let seconds: Vec<_> = one.seconds.iter().map(|it| (it.ops, it.slowest_ns)).collect();
        assert_eq!(seconds, [(2, 3_000), (0, 0), (1, 5_000)]);
        assert_eq!((one.failures(), one.first_failure()), (2, Some("first")));
    }

    #[test]
    fn a_wait_of_hours_is_counted_as_an_hour() {
        let mut tally = Tally::new(1);
        tally.record(0, true, u64::MAX, 0);
        assert!(tally.kinds[0].latency.max() >= LONGEST_NS);
    }
}
