use crate::result::Distribution;
use hdrhistogram::Histogram;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Singles(Mutex<SingleTimes>);

struct SingleTimes {
    calm: Histogram<u64>,
    /// Times from slices that are dropped; used only if all are.
    disturbed: Histogram<u64>,
}

const DIGITS: u8 = 3;

impl Default for SingleTimes {
    fn default() -> Self {
        let empty = || Histogram::new(DIGITS).expect("a histogram has one to five digits");
        Self { calm: empty(), disturbed: empty() }
    }
}

impl Singles {
    pub(super) fn add(&self, times: &[Duration], is_calm: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = if is_calm { &mut all.calm } else { &mut all.disturbed };
        for time in times {
            let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            histogram.record(ns).expect("a histogram grows to any value");
        }
    }

    pub(super) fn distribution(&self) -> Option<Distribution> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = if all.calm.is_empty() { &all.disturbed } else { &all.calm };
        let at = |quantile| histogram.value_at_quantile(quantile) as f64;
        (!histogram.is_empty()).then(|| Distribution {
            operations: histogram.len(),
            median_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: histogram.max() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_times() {
        let singles = Singles::default();
        assert_eq!(singles.distribution(), None);
        let times: Vec<Duration> = (1..=1_000).map(Duration::from_nanos).collect();
        singles.add(&times[..300], true);
        singles.add(&times[300..], true);
        let told = singles.distribution().unwrap();
        assert_eq!((told.operations, told.median_ns, told.p90_ns), (1_000, 500.0, 900.0));
        assert_eq!((told.p99_ns, told.p999_ns, told.max_ns), (990.0, 999.0, 1_000.0));
    }

    #[test]
    fn disturbed_slices_count_where_no_other_is_left() {
        let singles = Singles::default();
        let slowest = || singles.distribution().map(|told| told.max_ns);
        singles.add(&[Duration::from_nanos(900)], false);
        assert_eq!(slowest(), Some(900.0));
        singles.add(&[Duration::from_nanos(100)], true);
        assert_eq!(slowest(), Some(100.0));
    }

    #[test]
    fn a_time_that_no_clock_shows_is_survived() {
        let singles = Singles::default();
        singles.add(&[Duration::MAX], true);
        assert!(singles.distribution().unwrap().max_ns > 0.0);
    }
}
