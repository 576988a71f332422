//! What owners, their pointers, counters, gauges and histograms ask of the allocator does not grow with what came and went.

use crate::{ACCOUNTS, join_test, next_test};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tenure::cells::{Table, ThreadSum};
use tenure::counter::{Counter, Gauge, Histogram};
use tenure::memory::Native;
use tenure::owner::{Owner, Shared};

const VALUE: usize = 4_096;

/// Owners that come and go, shared with another thread that says when it is done; some at a time, and a counter.
fn come_and_go(times: usize, shared: &Sender<Shared<[u8; VALUE]>>, done: &Receiver<()>) {
    for _ in 0..times {
        let owners = [(); 3].map(|()| Owner::new([0; VALUE]));
        owners.iter().for_each(|owner| shared.send(owner.share()).unwrap());
        let counter = Counter::new();
        counter.add(1);
        let (gauge, histogram) = (Gauge::new(), Histogram::new([1]));
        gauge.add(-1);
        (0..3).for_each(|value| histogram.record(value));
        let kept = owners[1].share();
        drop(owners[2].close());
        drop(Owner::<[u8]>::from(Box::from([0; VALUE])));
        assert!(owners[2].try_share().is_none());
        drop(owners);
        drop(kept);
        (0..3).for_each(|_| done.recv().unwrap());
    }
}

#[test]
fn nothing_is_left_of_owners_handles_and_counters_that_went() {
    let test = next_test();
    join_test(test);
    let bytes = || ACCOUNTS[test].bytes.load(Relaxed);
    let (shared, receiver) = channel::<Shared<[u8; VALUE]>>();
    let (sender, done) = channel();
    let other = thread::spawn(move || {
        join_test(test);
        for handle in receiver {
            drop(handle.clone());
            drop(handle);
            sender.send(()).unwrap();
        }
    });
    come_and_go(100, &shared, &done);
    let before = bytes();
    come_and_go(if cfg!(miri) { 10 } else { 2_000 }, &shared, &done);
    let grown = bytes() - before;
    assert!(grown < VALUE as i64, "{grown} bytes are left");

    // Threads, one after the other, use the same cells.
    let owner = Owner::new(0);
    let visit = || {
        let handle = owner.share();
        let visits = move || {
            join_test(test);
            drop(handle.clone());
        };
        thread::spawn(visits).join().unwrap();
    };
    visit();
    let before = bytes();
    (0..if cfg!(miri) { 3 } else { 300 }).for_each(|_| visit());
    let grown = bytes() - before;
    // Fewer than 8 a visit. Tests beside this one take numbers too, so a visit may be the first with its number.
    let most = if cfg!(miri) { 300 } else { 2_000 };
    assert!(grown < most, "{grown} bytes are left of threads");

    // Tables of their own go with their cells.
    let before = bytes();
    for _ in 0..3 {
        let (table, mut sum) = (Table::<Native>::new_in(), ThreadSum::new_in());
        sum.add(&table, 1);
        sum.retire(&table);
    }
    let grown = bytes() - before;
    assert!(grown < 300, "{grown} bytes are left of tables");
    drop(shared);
    other.join().unwrap();
}
