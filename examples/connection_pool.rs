//! A pool of connections: each is made once, keeps its buffer between uses, and any thread may give it back.
//!
//! `cargo run -p tenure-examples --example connection_pool`

use std::error::Error;
use std::thread;

use tenure::pool::{SlotMut, SlotPool, SlotRef};

/// Stands for a connection to a database.
struct Connection {
    /// Keeps its memory from one use to the next.
    buffer: Vec<u8>,
    queries: u32,
}

impl Connection {
    fn open() -> Self {
        Self { buffer: Vec::with_capacity(16 << 10), queries: 0 }
    }

    /// Runs when a connection goes back to the pool.
    fn reset(&mut self) {
        self.buffer.clear();
    }

    fn query(&mut self, text: &str) -> usize {
        self.queries += 1;
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.len()
    }
}

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let pool = SlotPool::with(Connection::open, Connection::reset);
    thread::scope(|scope| {
        for worker in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                for _ in 0..1_000 {
                    // No lock, and no cache line that all threads write.
                    let mut connection = pool.acquire().expect("the pool has no limit and is open");
                    assert_eq!(
                        connection.query("select 1"),
                        8,
                        "worker {worker} got a clean buffer"
                    );
                }
            });
        }
    });

    let made = pool.stats().made;
    println!("4,000 queries took {made} connections");
    assert!(made <= 4, "one for each thread at most");

    // A shared connection is found by its key, as long as a thread holds it.
    let shared = SlotMut::share(pool.acquire()?);
    let key = SlotRef::key(&shared);
    assert!(pool.get(key).is_some());
    drop(shared);
    assert!(pool.get(key).is_none(), "never another's connection");
    Ok(())
}
