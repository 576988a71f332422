//! Counters, gauges and histograms.

use crate::at_end::at_end;
use std::sync::Barrier;
use std::thread;
use tenure::counter::{Counter, Gauge, Histogram};

#[test]
fn what_threads_add_is_in_the_sum_after_they_have_ended() {
    static COUNTER: Counter = Counter::new();
    assert_eq!(COUNTER.sum(), 0);
    for turn in 1..=3 {
        let threads = [(); 8].map(|()| thread::spawn(|| (0..100).for_each(|n| COUNTER.add(n))));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(COUNTER.sum(), turn * 8 * 4950);
    }
    assert_eq!(format!("{COUNTER:?}"), format!("Counter({})", 3 * 8 * 4950));
}

#[test]
fn each_addition_is_taken_once_however_many_threads_add_and_take() {
    let (counter, most) = (Counter::new(), 20_000);
    assert_eq!(counter.take(), 0, "nothing was added");
    let are_over = Counter::new();
    let taken: u64 = thread::scope(|scope| {
        let adders = [(); 2].map(|()| scope.spawn(|| (0..most).for_each(|_| counter.add(1))));
        let takers = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut taken = 0;
                while are_over.sum() == 0 {
                    let (now, rest) = (counter.take(), counter.sum());
                    assert!(now.max(rest) <= 2 * most, "{now} and {rest} are more than was added");
                    taken += now;
                }
                taken
            })
        });
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        are_over.add(1);
        takers.map(|taker| taker.join().unwrap()).iter().sum()
    });
    assert_eq!(taken + counter.take(), 2 * most);
    assert_eq!((counter.take(), counter.sum()), (0, 0));
    counter.add(u64::MAX);
    assert_eq!(counter.take(), u64::MAX);
}

#[test]
fn a_counter_in_the_place_of_another_begins_at_0() {
    for turn in 0..100 {
        let counter = Counter::default();
        counter.add(u64::MAX);
        thread::scope(|scope| _ = scope.spawn(|| counter.add(turn)));
        assert_eq!(counter.sum(), turn.wrapping_sub(1));
        // What is left of the one before is not in the next.
        if turn % 2 == 0 {
            counter.take();
            assert_eq!(counter.sum(), 0);
        }
    }
    drop(Counter::new());
}

#[test]
fn what_is_added_when_the_thread_has_no_number_any_more_counts() {
    static COUNTER: Counter = Counter::new();
    thread::spawn(|| {
        at_end(|| COUNTER.add(1));
        COUNTER.add(1);
    })
    .join()
    .unwrap();
    assert_eq!(COUNTER.sum(), 2);
    assert_eq!((COUNTER.take(), COUNTER.sum()), (2, 0));
}

#[test]
fn a_gauge_is_exact_when_no_thread_adds_whichever_thread_takes_back() {
    static GAUGE: Gauge = Gauge::new();
    let (turns, threads) = (100, 4);
    let rest = Barrier::new(threads);
    thread::scope(|scope| {
        for thread in 0..threads {
            let rest = &rest;
            scope.spawn(move || {
                // Even threads raise what odd ones lower, so that half of the cells are negative.
                let sign = if thread % 2 == 0 { 1 } else { -1 };
                for turn in 1..=turns {
                    GAUGE.add(sign * turn);
                    if turn == turns / 2 {
                        GAUGE.add(1);
                        rest.wait();
                        assert_eq!(GAUGE.sum(), threads as i64);
                        rest.wait();
                    }
                }
            });
        }
    });
    assert_eq!(GAUGE.sum(), 4);
    let other = Gauge::default();
    other.add(i64::MIN);
    other.add(-1);
    assert_eq!(format!("{other:?}"), format!("Gauge({})", i64::MAX));
}

#[test]
fn a_histogram_has_what_all_threads_recorded() {
    static VALUES: Histogram<3> = Histogram::new([0, 9, 99]);
    let values = |thread: u64| (0..300).map(move |n| n * n % 200 + thread);
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || values(thread).for_each(|value| VALUES.record(value)));
        }
    });
    let all = Vec::from_iter((0..4).flat_map(values));
    let expected = [0, 9, 99, u64::MAX]
        .map(|bound| (bound, all.iter().filter(|&&value| value <= bound).count() as u64));
    assert!(expected.iter().zip(&expected[1..]).all(|(one, next)| one.1 < next.1), "all are used");
    assert_eq!(Vec::from_iter(VALUES.buckets()), expected);
    assert_eq!((VALUES.count(), VALUES.sum()), (1_200, all.iter().sum()));

    let none = Histogram::new([]);
    none.record(u64::MAX);
    none.record(2);
    assert_eq!((none.count(), none.sum()), (2, 1));
    assert_eq!(format!("{none:?}"), format!("{{{}: 2}}", u64::MAX));
}

#[test]
fn a_histograms_buckets_never_fall_while_threads_record() {
    let (histogram, most) = (Histogram::new([3, 5]), 20_000);
    thread::scope(|scope| {
        let adders =
            [(); 2].map(|()| scope.spawn(|| (0..most).for_each(|n| histogram.record(n % 8))));
        let mut before = vec![(0, 0); 3];
        while !adders.iter().all(thread::ScopedJoinHandle::is_finished) {
            let now = Vec::from_iter(histogram.buckets());
            assert!(now.is_sorted_by_key(|bucket| bucket.1), "{now:?}");
            assert!(before.iter().zip(&now).all(|(before, now)| before.1 <= now.1), "{now:?}");
            before = now;
        }
    });
    assert_eq!(Vec::from_iter(histogram.buckets()), [(3, 20_000), (5, 30_000), (u64::MAX, 40_000)]);
}

#[test]
fn bounds_that_do_not_rise_are_refused() {
    for bounds in [[1, 1], [2, 1]] {
        let panic = std::panic::catch_unwind(|| Histogram::new(bounds)).unwrap_err();
        let said = panic.downcast_ref::<&str>();
        assert_eq!(said, Some(&"each bound is greater than the one before it"));
    }
}

/// A recorder as programs have them: a table of counters by name.
#[cfg(feature = "metrics")]
mod of_metrics {
    use metrics::{
        Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    };
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};
    use std::thread;

    #[derive(Default)]
    struct Table(Mutex<HashMap<Key, Arc<tenure::counter::Counter>>>);

    impl Table {
        fn counter(&self, key: &Key) -> Arc<tenure::counter::Counter> {
            Arc::clone(self.0.lock().unwrap().entry(key.clone()).or_default())
        }
    }

    impl Recorder for Table {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(self.counter(key))
        }
        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }
        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    #[test]
    fn counters_of_the_facade_are_counted_by_thread() {
        let table = Table::default();
        let requests = || metrics::counter!("requests", "method" => "get");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    metrics::with_local_recorder(&table, || {
                        (0..100).for_each(|_| requests().increment(2));
                    });
                });
            }
        });
        let counter = table.counter(&Key::from_parts("requests", &[("method", "get")]));
        assert_eq!(counter.sum(), 800);
        metrics::with_local_recorder(&table, || requests().absolute(1_000));
        metrics::with_local_recorder(&table, || requests().absolute(500));
        assert_eq!(counter.sum(), 1_000, "an absolute value does not fall");
    }
}
