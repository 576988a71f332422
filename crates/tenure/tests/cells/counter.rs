//! Counters.

use std::thread;
use tenure::counter::Counter;

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
fn sums_never_fall_while_threads_add() {
    let (counter, most) = (Counter::new(), 20_000);
    thread::scope(|scope| {
        let adders = [(); 2].map(|()| scope.spawn(|| (0..most).for_each(|_| counter.add(1))));
        let mut before = 0;
        while !adders.iter().all(thread::ScopedJoinHandle::is_finished) {
            let sum = counter.sum();
            assert!((before..=2 * most).contains(&sum), "{before}, then {sum}");
            before = sum;
        }
    });
    assert_eq!(counter.sum(), 2 * most);
}

#[test]
fn a_counter_in_the_place_of_another_begins_at_0() {
    for turn in 0..100 {
        let counter = Counter::default();
        counter.add(u64::MAX);
        thread::scope(|scope| _ = scope.spawn(|| counter.add(turn)));
        assert_eq!(counter.sum(), turn.wrapping_sub(1));
    }
    drop(Counter::new());
}

#[test]
fn what_is_added_when_the_thread_has_no_number_any_more_counts() {
    struct AddsAtTheEnd;
    impl Drop for AddsAtTheEnd {
        fn drop(&mut self) {
            COUNTER.add(1);
        }
    }
    thread_local!(static AT_THE_END: AddsAtTheEnd = const { AddsAtTheEnd });
    static COUNTER: Counter = Counter::new();
    thread::spawn(|| {
        AT_THE_END.with(|_| ());
        COUNTER.add(1);
    })
    .join()
    .unwrap();
    assert_eq!(COUNTER.sum(), 2);
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
