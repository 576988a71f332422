//! What `more.c` has, in Rust. Each case runs until it is killed.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::thread;
use std::time::Duration;

const THREADS: usize = 2;

#[repr(align(64))]
struct Line<T>(T);

/// Runs a closure on all threads, with the number of each.
fn run(work: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

struct Spinlock {
    held: AtomicBool,
    guarded: AtomicU64,
}

impl Spinlock {
    fn with(&self, work: impl Fn(&AtomicU64)) {
        while self.held.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {}
        work(&self.guarded);
        self.held.store(false, Release);
    }
}

fn spinning() {
    static SPINLOCK: Line<Spinlock> =
        Line(Spinlock { held: AtomicBool::new(false), guarded: AtomicU64::new(0) });
    run(|_| loop {
        SPINLOCK.0.with(|guarded| guarded.store(guarded.load(Relaxed) + 1, Relaxed));
    });
}

fn compare_exchange() {
    static TAKEN: Line<AtomicU64> = Line(AtomicU64::new(0));
    run(|_| loop {
        let _ = TAKEN.0.fetch_update(Relaxed, Relaxed, |now| Some(black_box(now + 1)));
    });
}

/// Objects that the allocator puts next to each other.
fn neighbours() {
    #[derive(Default)]
    struct Counter {
        count: AtomicU64,
        _other: u64,
    }
    let is_near = |one: &Counter, other: &Counter| {
        std::ptr::from_ref(one) as usize / 64 == std::ptr::from_ref(other) as usize / 64
    };
    let mut all: Vec<Box<Counter>> = vec![Box::default()];
    while all.len() < 2 || !is_near(&all[all.len() - 2], &all[all.len() - 1]) {
        all.push(Box::default());
    }
    let pair = all.split_off(all.len() - 2);
    run(|number| loop {
        let count = &pair[number].count;
        count.store(count.load(Relaxed) + 1, Relaxed);
    });
}

static CALLED: Line<AtomicU64> = Line(AtomicU64::new(0));

#[inline(never)]
fn bump() {
    CALLED.0.fetch_add(1, Relaxed);
}

#[inline(never)]
fn often() {
    for _ in 0..9 {
        bump();
    }
    black_box(());
}

#[inline(never)]
fn seldom() {
    bump();
    black_box(());
}

fn calls() {
    run(|_| loop {
        often();
        seldom();
    });
}

fn thread_local_word() {
    thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });
    run(|_| loop {
        OWN.with(|own| black_box(own).set(own.get() + 1));
    });
}

fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as usize
}

fn misses() {
    let table = vec![0_u64; 1 << 23];
    run(|number| {
        let (mut at, mut sum) = (number as u64, 0);
        loop {
            sum += black_box(&table)[random(&mut at) % table.len()];
            black_box(sum);
        }
    });
}

fn work() {
    run(|number| {
        let mut at = number as u64;
        loop {
            random(&mut at);
            if at == 1 {
                println!("{at}");
            }
        }
    });
}

fn flag() {
    static STOP: Line<AtomicU64> = Line(AtomicU64::new(0));
    run(|number| loop {
        if number == 0 {
            thread::sleep(Duration::from_millis(200));
            STOP.0.store(2, Relaxed);
        } else if STOP.0.load(Relaxed) == 1 {
            return;
        }
    });
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("spinning") => spinning(),
        Some("loop") => compare_exchange(),
        Some("neighbours") => neighbours(),
        Some("thread_local_word") => thread_local_word(),
        Some("misses") => misses(),
        Some("work") => work(),
        Some("flag") => flag(),
        Some("calls") => calls(),
        other => panic!("no case {other:?}"),
    }
}
