//! Uses what earlier versions of some crates, and std, put on one line: for ci/recall.sh.

use std::sync::{Arc, RwLock};
use std::thread;

use crossbeam_utils::atomic::AtomicCell;
use dashmap::DashMap;
use tokio::sync::mpsc;

#[derive(Clone, Copy, Default)]
struct Wide([u64; 4]);

struct Settings {
    limit: u64,
    name: String,
}

struct Shared {
    cell: AtomicCell<Wide>,
    map: DashMap<u64, u64>,
    settings: RwLock<Settings>,
}

impl Shared {
    fn turn(&self, number: u64) -> u64 {
        let wide = self.cell.load();
        self.cell.store(Wide([number; 4]));
        *self.map.entry(number % 8).or_default() += 1;
        let guard = crossbeam_epoch::pin();
        guard.flush();
        let settings = self.settings.read().unwrap();
        wide.0[1] + settings.limit + settings.name.len() as u64
    }
}

async fn channel(turns: u64) -> u64 {
    let (send, mut receive) = mpsc::channel(16);
    let sender = tokio::spawn(async move {
        for number in 0..turns {
            send.send(number).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Some(number) = receive.recv().await {
        sum += number;
    }
    sender.await.unwrap();
    sum
}

fn main() {
    let turns = std::env::args().len() as u64 * 1000;
    let settings = RwLock::new(Settings { limit: 3, name: "shared".to_owned() });
    let shared = Arc::new(Shared { cell: AtomicCell::default(), map: DashMap::new(), settings });
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || (0..turns).map(|number| shared.turn(number)).sum::<u64>())
        })
        .collect();
    let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    println!("{}", sum + runtime.block_on(channel(turns)));
}
