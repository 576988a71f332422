//! What owners, their pointers, counters, gauges and histograms ask of the allocator: it does not grow with what came and went.
#![cfg(feature = "std")]
#![allow(clippy::disallowed_types, reason = "the allocator's own count, in a static")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use tenure::cells::{Table, ThreadSum};
use tenure::counter::{Counter, Gauge, Histogram};
use tenure::memory::Native;
use tenure::owner::{Owner, Shared};

struct Accountant;

#[global_allocator]
static ACCOUNTANT: Accountant = Accountant;
static BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: `System`'s.
unsafe impl GlobalAlloc for Accountant {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) };
    }
}

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

/// The only test: others would allocate meanwhile.
#[test]
fn nothing_is_left_of_owners_handles_and_counters_that_went() {
    let (shared, receiver) = channel::<Shared<[u8; VALUE]>>();
    let (sender, done) = channel();
    let other = thread::spawn(move || {
        for handle in receiver {
            drop(handle.clone());
            drop(handle);
            sender.send(()).unwrap();
        }
    });
    come_and_go(100, &shared, &done);
    let before = BYTES.load(Relaxed);
    come_and_go(if cfg!(miri) { 10 } else { 2_000 }, &shared, &done);
    let grown = BYTES.load(Relaxed) - before;
    assert!(grown < VALUE as i64, "{grown} bytes are left");

    // Threads, one after the other, use the same cells.
    let owner = Owner::new(0);
    let visit = || {
        let handle = owner.share();
        thread::spawn(move || drop(handle.clone())).join().unwrap();
    };
    visit();
    let before = BYTES.load(Relaxed);
    (0..if cfg!(miri) { 3 } else { 300 }).for_each(|_| visit());
    let grown = BYTES.load(Relaxed) - before;
    assert!(grown < 300, "{grown} bytes are left of threads");

    // Tables of their own go with their cells.
    let before = BYTES.load(Relaxed);
    for _ in 0..3 {
        let (table, mut sum) = (Table::<Native>::new_in(), ThreadSum::new_in());
        sum.add(&table, 1);
        sum.retire(&table);
    }
    let grown = BYTES.load(Relaxed) - before;
    assert!(grown < 300, "{grown} bytes are left of tables");
    drop(shared);
    other.join().unwrap();
}
