//! Programs in Rust of which it is known what holds them back. Usage: causes CAUSE[,CAUSE] SECONDS [without]
//!
//! As in causes.c, with std's locks and channels.

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

#[derive(Default)]
struct Shared {
    beside: [AtomicU64; 16],
    value: Arc<u64>,
    held: AtomicBool,
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    turn: Mutex<usize>,
    changed: Condvar,
    blocks: Mutex<Vec<u64>>,
}

struct Ends {
    sender: SyncSender<u64>,
    receiver: Mutex<Receiver<u64>>,
    barrier: Barrier,
}

fn run(cause: &str, id: usize, threads: usize, shared: &Shared, ends: &Ends) {
    match cause {
        "false_sharing" => {
            for _ in 0..20 {
                shared.beside[id].fetch_add(1, Relaxed);
                work(2);
            }
        }
        "arc" => {
            for _ in 0..20 {
                black_box(Arc::clone(&shared.value));
            }
        }
        "spin_lock" => {
            while shared.held.swap(true, Acquire) {
                while shared.held.load(Relaxed) {
                    spin_loop();
                }
            }
            work(300);
            shared.held.store(false, Release);
        }
        "mutex" => {
            let mut held = shared.mutex.lock().unwrap();
            *held += 1;
            work(20_000);
        }
        "short_mutex" => {
            let mut held = shared.mutex.lock().unwrap();
            *held += 1;
            work(1000);
        }
        "rwlock" => {
            let mut held = shared.rwlock.write().unwrap();
            *held += 1;
            work(20_000);
        }
        "condition" => {
            let turn = shared.turn.lock().unwrap();
            let mut turn = shared.changed.wait_while(turn, |turn| *turn % threads != id).unwrap();
            *turn += 1;
            shared.changed.notify_all();
            drop(turn);
            work(5000);
        }
        "channel" if id == 0 => {
            work(20_000);
            ends.sender.send(1).unwrap();
        }
        "channel" => drop(ends.receiver.lock().unwrap().recv().unwrap()),
        "barrier" => {
            work(if id == 0 { 400_000 } else { 20_000 });
            ends.barrier.wait();
        }
        "park" => thread::park_timeout(Duration::from_millis(1)),
        "sleep" => thread::sleep(Duration::from_millis(1)),
        "vec" => shared.blocks.lock().unwrap().push(1),
        "own" => work(20_000),
        other => panic!("no cause {other}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let causes: Vec<&str> = arguments[1].split(',').collect();
    let seconds: f64 = arguments[2].parse().unwrap();
    let without = arguments.len() > 3;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    if causes == ["phases"] {
        let mut done = 0;
        while Instant::now() < end {
            if !without {
                work(20_000_000);
            }
            thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(|| work(20_000_000)))));
            done += 1;
        }
        return println!("{done}");
    }
    let threads = if causes.iter().any(|it| it.contains("mutex") || *it == "rwlock") { 4 } else { 2 };
    let (sender, receiver) = sync_channel(4);
    let ends = Arc::new(Ends { sender, receiver: Mutex::new(receiver), barrier: Barrier::new(threads) });
    let shared = Arc::new(Shared::default());
    let done = Arc::new(AtomicU64::new(0));
    for id in 0..threads {
        let causes: Vec<String> = causes.iter().map(|&cause| cause.to_owned()).collect();
        let (shared, ends, done) = (Arc::clone(&shared), Arc::clone(&ends), Arc::clone(&done));
        thread::spawn(move || {
            let mut since = 0;
            loop {
                for (at, cause) in causes.iter().enumerate() {
                    match without && at == 0 {
                        true => work(2000),
                        false => run(cause, id, threads, &shared, &ends),
                    }
                }
                since += 1;
                if since % 64 == 0 {
                    done.fetch_add(64, Relaxed);
                }
            }
        });
    }
    thread::sleep(Duration::from_secs_f64(seconds));
    println!("{}", done.load(Relaxed));
}
