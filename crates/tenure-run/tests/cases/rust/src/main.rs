//! What `tenure run` has to find, and what it has to be silent about: the case is the argument.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

const THREADS: usize = 2;
/// ci/run_cost.py asks for more than a start takes.
const TIMES: u64 = if option_env!("LONG").is_some() { 20_000_000 } else { 2_000_000 };

/// Runs a closure on all threads at once.
fn run(work: impl Fn(usize) + Sync) {
    let all_are_there = Barrier::new(THREADS);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (work, all_are_there) = (&work, &all_are_there);
            scope.spawn(move || {
                all_are_there.wait();
                work(thread);
            });
        }
    });
}

#[repr(align(64))]
#[derive(Default)]
struct Line<T>(T);

static COUNTERS: Line<[AtomicU64; THREADS]> = Line([const { AtomicU64::new(0) }; THREADS]);

fn adjacent() {
    run(|thread| (0..TIMES).for_each(|_| _ = COUNTERS.0[thread].fetch_add(1, Relaxed)));
}

#[derive(Default)]
struct Worker {
    done: u64,
    failed: u64,
    _id: u64,
}

fn elements() {
    let mut workers: Vec<Worker> = (0..THREADS).map(|_| Worker::default()).collect();
    let all_are_there = Barrier::new(THREADS);
    thread::scope(|scope| {
        for worker in &mut workers {
            let all_are_there = &all_are_there;
            scope.spawn(move || {
                all_are_there.wait();
                for i in 0..TIMES {
                    let worker = black_box(&mut *worker);
                    worker.done += 1;
                    worker.failed += i & 1;
                }
            });
        }
    });
}

#[repr(C)]
#[derive(Default)]
struct Session {
    refs: AtomicU64,
    limit: AtomicU64,
    flags: AtomicU64,
}

fn beside() {
    let session = Box::<Line<Session>>::default();
    run(|_| {
        for _ in 0..TIMES {
            session.0.refs.fetch_add(1, Relaxed);
            black_box(session.0.limit.load(Relaxed) + session.0.flags.load(Relaxed));
        }
    });
}

fn two_locks() {
    static LOCKS: Line<[Mutex<u64>; THREADS]> = Line([const { Mutex::new(0) }; THREADS]);
    run(|thread| (0..TIMES).for_each(|_| *LOCKS.0[thread].lock().unwrap() += 1));
}

#[repr(C)]
#[derive(Default)]
struct Queue {
    head: AtomicU64,
    tail: AtomicU64,
}

fn head_and_tail() {
    const SLOTS: u64 = 1024;
    let queue = Arc::new(Line(Queue::default()));
    let slots: Vec<AtomicU64> = (0..SLOTS).map(|_| AtomicU64::new(0)).collect();
    run(|thread| {
        let Queue { head, tail } = &queue.0;
        for i in 0..TIMES {
            let slot = &slots[(i % SLOTS) as usize];
            if thread == 0 {
                while i - head.load(Acquire) >= SLOTS {
                    thread::yield_now();
                }
                slot.store(i, Relaxed);
                tail.store(i + 1, Release);
            } else {
                while tail.load(Acquire) == i {
                    thread::yield_now();
                }
                black_box(slot.load(Relaxed));
                head.store(i + 1, Release);
            }
        }
    });
}

fn hot_arc() {
    let shared = Arc::new(7_u64);
    run(|_| (0..TIMES).for_each(|_| drop(black_box(Arc::clone(&shared)))));
}

fn mutex() {
    let count = Box::new(Line(Mutex::new(0_u64)));
    run(|_| (0..TIMES).for_each(|_| *count.0.lock().unwrap() += 1));
}

fn apart() {
    let counters: Vec<Line<AtomicU64>> = (0..THREADS).map(|_| Line::default()).collect();
    run(|thread| (0..TIMES).for_each(|_| _ = counters[thread].0.fetch_add(1, Relaxed)));
}

fn read_only() {
    let table: Vec<u64> = (0..64).collect();
    run(|_| (0..TIMES).for_each(|i| _ = black_box(black_box(&table)[i as usize % 64])));
}

fn private_heap() {
    run(|_| {
        for i in 0..TIMES / 100 {
            let mut words = vec![i; 8];
            (0..100).for_each(|j| words[j % 8] += 1);
            black_box(words);
        }
    });
}

fn hand_over() {
    let finish = |words: &mut [u64; 8]| (0..TIMES).for_each(|i| *black_box(&mut words[i as usize % 8]) += 1);
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let mut words = Box::new(Line([0; 8]));
            finish(&mut words.0);
            thread::spawn(move || {
                finish(&mut words.0);
                words
            })
        })
        .collect();
    for thread in threads {
        finish(&mut thread.join().unwrap().0);
    }
}

fn reused() {
    let one_at_a_time = Box::new(Line(Mutex::new(())));
    run(|_| {
        for _ in 0..20 {
            let _guard = one_at_a_time.0.lock().unwrap();
            let mut words = vec![0_u64; 512];
            (0..TIMES as usize / 20).for_each(|j| *black_box(&mut words[j % 512]) += 1);
        }
    });
}

fn main() {
    let case: fn() = match std::env::args().nth(1).as_deref() {
        Some("adjacent") => adjacent,
        Some("elements") => elements,
        Some("beside") => beside,
        Some("two_locks") => two_locks,
        Some("head_and_tail") => head_and_tail,
        Some("hot_arc") => hot_arc,
        Some("mutex") => mutex,
        Some("apart") => apart,
        Some("read_only") => read_only,
        Some("private_heap") => private_heap,
        Some("hand_over") => hand_over,
        Some("reused") => reused,
        other => panic!("no case {other:?}"),
    };
    case();
}
