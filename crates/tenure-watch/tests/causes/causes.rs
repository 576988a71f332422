//! Programs in Rust of which it is known what holds them back. Usage: causes CAUSE SECONDS [WITHOUT]
//!
//! As in causes.c, with the locks and channels of std and `parking_lot`.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

/// About a nanosecond a round.
fn work(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// On a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Apart(AtomicU64);

#[derive(Default)]
struct Shared {
    beside: [AtomicU64; 16],
    apart: [Apart; 16],
    value: Arc<u64>,
    held: AtomicBool,
    mutex: Mutex<u64>,
    parking_lot: parking_lot::Mutex<u64>,
    rwlock: RwLock<u64>,
    turn: Mutex<usize>,
    changed: Condvar,
}

struct Ends {
    sender: SyncSender<u64>,
    receiver: Mutex<Receiver<u64>>,
    barrier: Barrier,
}

/// An iteration of a thread; `off` without the cause, but the same work.
fn run(cause: &str, off: bool, id: usize, threads: usize, shared: &Shared, ends: &Ends) {
    match cause {
        "false_sharing" => {
            let word = if off { &shared.apart[id].0 } else { &shared.beside[id] };
            for _ in 0..20 {
                word.fetch_add(1, Relaxed);
                work(2);
            }
        }
        "arc" => {
            let own = Arc::new(id as u64);
            let value = if off { &own } else { &shared.value };
            for _ in 0..20 {
                black_box(Arc::clone(value));
            }
        }
        _ if off => work(20_000),
        "spin_lock" => {
            while shared.held.swap(true, Acquire) {
                while shared.held.load(Relaxed) {
                    spin_loop();
                }
            }
            work(20_000);
            shared.held.store(false, Release);
        }
        "mutex" => {
            let mut held = shared.mutex.lock().unwrap();
            *held += 1;
            work(20_000);
        }
        "parking_lot" => {
            let mut held = shared.parking_lot.lock();
            *held += 1;
            work(20_000);
        }
        "rwlock" => {
            let mut held = shared.rwlock.write().unwrap();
            *held += 1;
            work(20_000);
        }
        "condition" => {
            let turn = shared.turn.lock().unwrap();
            drop(shared.changed.wait_while(turn, |turn| *turn % threads != id).unwrap());
            work(16_000);
            *shared.turn.lock().unwrap() += 1;
            shared.changed.notify_all();
            work(4_000);
        }
        // A thread that makes work for a pool, which has little to do.
        "channel" if id == 0 => {
            work(40_000);
            ends.sender.send(1).unwrap();
        }
        "channel" => {
            let received = ends.receiver.lock().unwrap().recv();
            work(10_000 * received.unwrap());
        }
        "barrier" => {
            work(if id == 0 { 40_000 } else { 2000 });
            ends.barrier.wait();
        }
        "park" => thread::park_timeout(Duration::from_millis(1)),
        other => panic!("no cause {other}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let cause = arguments[1].clone();
    let seconds: f64 = arguments[2].parse().unwrap();
    let off = arguments.len() > 3;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    if cause == "phases" {
        let mut done = 0;
        while Instant::now() < end {
            if !off {
                work(20_000_000);
            }
            thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(|| work(20_000_000)))));
            done += 1;
        }
        return println!("{done}");
    }
    let threads = match &*cause {
        "mutex" | "parking_lot" | "rwlock" => 4,
        "channel" => 3,
        _ => 2,
    };
    let (sender, receiver) = sync_channel(4);
    let ends = Ends { sender, receiver: Mutex::new(receiver), barrier: Barrier::new(threads) };
    let (ends, shared) = (Arc::new(ends), Arc::new(Shared::default()));
    let done = Arc::new([const { Apart(AtomicU64::new(0)) }; 16]);
    for id in 0..threads {
        let cause = cause.clone();
        let (shared, ends, done) = (Arc::clone(&shared), Arc::clone(&ends), Arc::clone(&done));
        thread::spawn(move || {
            loop {
                run(&cause, off, id, threads, &shared, &ends);
                done[id].0.fetch_add(1, Relaxed);
            }
        });
    }
    thread::sleep(Duration::from_secs_f64(seconds));
    println!("{}", done.iter().map(|it| it.0.load(Relaxed)).sum::<u64>());
}
