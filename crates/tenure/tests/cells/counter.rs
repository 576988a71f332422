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
