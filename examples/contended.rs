//! A server as one first writes it: with more workers it gets no faster, and no profile says why.
//!
//! `tenure run -- cargo run --release --example contended` says which cache lines its workers contend for. With the
//! argument `fixed` the same server has the repairs:
//!
//! `cargo run --release -p tenure-examples --example contended -- fixed`
#![allow(clippy::disallowed_types, reason = "what a program uses that has not heard of tenure yet")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use tenure::cache_line::CachePadded;
use tenure::rcu::RcuCell;

/// Every request reads them; an operator replaces them now and then.
struct Settings {
    rounds: u64,
}

/// What one worker counts.
#[derive(Default)]
struct Worker {
    requests: AtomicU64,
    bytes: AtomicU64,
}

trait Server: Send + Sync + 'static {
    fn handle(&self, worker: usize, request: u64);
    fn requests(&self) -> u64;
}

struct Contended {
    settings: Mutex<Arc<Settings>>,
    /// Changed by every request, beside what every request reads.
    in_flight: AtomicU64,
    quota: AtomicU64,
    /// Neighbours in memory.
    workers: Vec<Worker>,
}

impl Server for Contended {
    fn handle(&self, worker: usize, request: u64) {
        let settings = Arc::clone(&self.settings.lock().unwrap());
        self.in_flight.fetch_add(1, Relaxed);
        let bytes = serve(request, settings.rounds) % self.quota.load(Relaxed);
        self.in_flight.fetch_sub(1, Relaxed);
        self.workers[worker].requests.fetch_add(1, Relaxed);
        self.workers[worker].bytes.fetch_add(bytes, Relaxed);
    }

    fn requests(&self) -> u64 {
        self.workers.iter().map(|worker| worker.requests.load(Relaxed)).sum()
    }
}

struct Fixed {
    /// A read writes nothing that other threads use.
    settings: RcuCell<Settings>,
    quota: u64,
    /// A line for each, which also has its part of `in_flight`.
    workers: Vec<CachePadded<(Worker, AtomicU64)>>,
}

impl Server for Fixed {
    fn handle(&self, worker: usize, request: u64) {
        let settings = self.settings.load();
        let (worker, in_flight) = &*self.workers[worker];
        in_flight.fetch_add(1, Relaxed);
        let bytes = serve(request, settings.rounds) % self.quota;
        in_flight.fetch_sub(1, Relaxed);
        worker.requests.fetch_add(1, Relaxed);
        worker.bytes.fetch_add(bytes, Relaxed);
    }

    fn requests(&self) -> u64 {
        self.workers.iter().map(|worker| worker.0.requests.load(Relaxed)).sum()
    }
}

/// What a request is about: some hundred nanoseconds of work.
fn serve(request: u64, rounds: u64) -> u64 {
    let round =
        |hash: u64, round: u64| (hash ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    (0..rounds).fold(request, round)
}

fn run(server: impl Server, workers: usize, requests: u64) -> u64 {
    let server = Arc::new(server);
    let start = |worker| {
        let server = Arc::clone(&server);
        thread::spawn(move || (0..requests).for_each(|request| server.handle(worker, request)))
    };
    let threads: Vec<_> = (0..workers).map(start).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a worker does not panic"));
    server.requests()
}

fn main() {
    const REQUESTS: u64 = 2_000_000;
    let workers = thread::available_parallelism().map_or(2, usize::from).max(2);
    let start = Instant::now();
    let served = if std::env::args().nth(1).is_some_and(|word| word == "fixed") {
        run(fixed(workers), workers, REQUESTS)
    } else {
        run(contended(workers), workers, REQUESTS)
    };
    println!(
        "{workers} workers served {:.1} M requests/s",
        served as f64 / start.elapsed().as_secs_f64() / 1e6
    );
}

fn contended(workers: usize) -> Contended {
    Contended {
        settings: Mutex::new(Arc::new(Settings { rounds: 40 })),
        in_flight: AtomicU64::new(0),
        quota: AtomicU64::new(1000),
        workers: (0..workers).map(|_| Worker::default()).collect(),
    }
}

fn fixed(workers: usize) -> Fixed {
    Fixed {
        settings: RcuCell::new(Settings { rounds: 40 }),
        quota: 1000,
        workers: (0..workers).map(|_| CachePadded::default()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_serve_every_request() {
        assert_eq!(run(contended(3), 3, 1000), 3000);
        assert_eq!(run(fixed(3), 3, 1000), 3000);
    }
}
