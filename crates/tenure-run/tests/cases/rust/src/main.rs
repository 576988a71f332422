//! What `tenure run` has to find, and what it has to be silent about: the case is the argument.
//!
//! `cases CASE [ROUNDS]` runs a case once, with so many rounds of work after each of its iterations. `cases time CASE MENDED
//! ROUNDS SLICES` compares two of them, as `ci/predictions.py` does.

mod measure;

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering::*};
use std::sync::{Arc, Mutex};
use std::thread;

use measure::{run, run_with, Loop, THREADS, TIMES};

#[repr(align(64))]
#[derive(Default)]
struct Line<T>(T);

static COUNTERS: Line<[AtomicU64; THREADS]> = Line([const { AtomicU64::new(0) }; THREADS]);

fn adjacent() {
    run(|thread, all| all.each(|_| _ = COUNTERS.0[thread].fetch_add(1, Relaxed)));
}

#[derive(Default)]
struct Worker {
    done: u64,
    failed: u64,
    _id: u64,
}

fn work_at(worker: &mut Worker, all: Loop) {
    all.each(|i| {
        let worker = black_box(&mut *worker);
        worker.done += 1;
        worker.failed += i & 1;
    });
}

fn elements() {
    let mut workers: Vec<Worker> = (0..THREADS).map(|_| Worker::default()).collect();
    run_with(&mut workers, work_at);
}

fn elements_apart() {
    let mut workers: Vec<Line<Worker>> = (0..THREADS).map(|_| Line::default()).collect();
    run_with(&mut workers, |worker, all| work_at(&mut worker.0, all));
}

#[repr(C)]
#[derive(Default)]
struct Session {
    visits: AtomicU64,
    limit: AtomicU64,
    flags: AtomicU64,
}

fn beside() {
    let session = Box::<Line<Session>>::default();
    run(|_, all| {
        all.each(|_| {
            session.0.visits.fetch_add(1, Relaxed);
            black_box(session.0.limit.load(Relaxed) + session.0.flags.load(Relaxed));
        });
    });
}

fn beside_apart() {
    let (visits, rest) = (Box::<Line<AtomicU64>>::default(), Box::<Line<Session>>::default());
    run(|_, all| {
        all.each(|_| {
            visits.0.fetch_add(1, Relaxed);
            black_box(rest.0.limit.load(Relaxed) + rest.0.flags.load(Relaxed));
        });
    });
}

fn beside_cells() {
    let cells: Vec<Line<AtomicU64>> = (0..THREADS).map(|_| Line::default()).collect();
    let rest = Box::<Line<Session>>::default();
    run(|thread, all| {
        all.each(|_| {
            let cell = &cells[thread].0;
            cell.store(cell.load(Relaxed) + 1, Relaxed);
            black_box(rest.0.limit.load(Relaxed) + rest.0.flags.load(Relaxed));
        });
    });
}

fn two_locks() {
    static LOCKS: Line<[Mutex<u64>; THREADS]> = Line([const { Mutex::new(0) }; THREADS]);
    run(|thread, all| all.each(|_| *LOCKS.0[thread].lock().unwrap() += 1));
}

fn two_locks_apart() {
    static LOCKS: [Line<Mutex<u64>>; THREADS] = [const { Line(Mutex::new(0)) }; THREADS];
    run(|thread, all| all.each(|_| *LOCKS[thread].0.lock().unwrap() += 1));
}

#[repr(C)]
#[derive(Default)]
struct Queue {
    head: AtomicU64,
    tail: AtomicU64,
}

fn pass_on(head: &AtomicU64, tail: &AtomicU64) {
    const SLOTS: u64 = 1024;
    let slots: Vec<AtomicU64> = (0..SLOTS).map(|_| AtomicU64::new(0)).collect();
    run(|thread, all| {
        all.each(|i| {
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
        });
    });
}

fn head_and_tail() {
    let queue = Arc::new(Line(Queue::default()));
    pass_on(&queue.0.head, &queue.0.tail);
}

fn head_and_tail_apart() {
    let (head, tail) = (Arc::new(Line(AtomicU64::new(0))), Arc::new(Line(AtomicU64::new(0))));
    pass_on(&head.0, &tail.0);
}

fn hot_arc() {
    let shared = Arc::new(7_u64);
    run(|_, all| all.each(|_| drop(black_box(Arc::clone(&shared)))));
}

#[cfg(feature = "fixed")]
fn hot_arc_revocable() {
    let shared = tenure::rcu::RcuCell::new(7_u64);
    run(|_, all| {
        let mut reader = shared.reader();
        all.each(|_| _ = black_box(*reader.load()));
    });
}

fn mutex() {
    let count = Box::new(Line(Mutex::new(0_u64)));
    run(|_, all| all.each(|_| *count.0.lock().unwrap() += 1));
}

/// A lock that is taken and given back by compare-exchanges, as parking_lot's.
#[derive(Default)]
struct Spin {
    state: AtomicU8,
    value: UnsafeCell<u64>,
    step: u64,
}

// SAFETY: `value` is used by the thread that has set `state` alone.
unsafe impl Sync for Spin {}

fn exchanged() {
    let spin = Box::new(Line(Spin { step: 1, ..Spin::default() }));
    run(|_, all| {
        let spin = black_box(&spin.0);
        all.each(|_| {
            while spin.state.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
                thread::yield_now();
            }
            // SAFETY: this thread has the lock.
            unsafe { *spin.value.get() += spin.step };
            _ = spin.state.compare_exchange(1, 0, Release, Relaxed);
        });
    });
}

fn mutex_one_add() {
    let count = Box::<Line<AtomicU64>>::default();
    run(|_, all| all.each(|_| _ = count.0.fetch_add(1, Relaxed)));
}

fn apart() {
    let counters: Vec<Line<AtomicU64>> = (0..THREADS).map(|_| Line::default()).collect();
    run(|thread, all| all.each(|_| _ = counters[thread].0.fetch_add(1, Relaxed)));
}

fn read_only() {
    let table: Vec<u64> = (0..64).collect();
    run(|_, all| all.each(|i| _ = black_box(black_box(&table)[i as usize % 64])));
}

fn private_heap() {
    run(|_, _| {
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
    run(|_, _| {
        for _ in 0..20 {
            let _guard = one_at_a_time.0.lock().unwrap();
            let mut words = vec![0_u64; 512];
            (0..TIMES as usize / 20).for_each(|j| *black_box(&mut words[j % 512]) += 1);
        }
    });
}

fn case(name: &str) -> fn() {
    match name {
        "adjacent" => adjacent,
        "elements" => elements,
        "elements_apart" => elements_apart,
        "beside" => beside,
        "beside_apart" => beside_apart,
        "beside_cells" => beside_cells,
        "two_locks" => two_locks,
        "two_locks_apart" => two_locks_apart,
        "head_and_tail" => head_and_tail,
        "head_and_tail_apart" => head_and_tail_apart,
        "hot_arc" => hot_arc,
        #[cfg(feature = "fixed")]
        "hot_arc_revocable" => hot_arc_revocable,
        "mutex" => mutex,
        "exchanged" => exchanged,
        "mutex_one_add" => mutex_one_add,
        "apart" => apart,
        "read_only" => read_only,
        "private_heap" => private_heap,
        "hand_over" => hand_over,
        "reused" => reused,
        other => panic!("no case {other:?}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(|argument| &**argument).collect();
    let number = |text: &str| text.parse().expect("a number");
    match arguments[..] {
        ["time", one, other, rounds, slices] => {
            measure::compare([case(one), case(other)], number(rounds), number(slices));
        }
        [name] => measure::once(case(name), 0),
        [name, rounds] => measure::once(case(name), number(rounds)),
        _ => panic!("usage: cases CASE [ROUNDS] | cases time CASE MENDED ROUNDS SLICES"),
    }
}
