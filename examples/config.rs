//! A configuration that every request reads, and that one thread replaces as a whole.
//!
//! `cargo run -p tenure-examples --example config`

use std::thread;
use std::time::Duration;

use tenure::rcu::RcuCell;

#[derive(Clone)]
struct Config {
    version: u32,
    upstreams: Vec<String>,
}

impl Config {
    fn load(version: u32) -> Self {
        Self { version, upstreams: (0..version).map(|at| format!("10.0.0.{at}:80")).collect() }
    }
}

#[cfg_attr(test, test)]
fn main() {
    let config = RcuCell::new(Config::load(1));
    thread::scope(|scope| {
        for _ in 0..4 {
            // One reader per thread. A read is four loads and two stores; other threads write those lines only when the
            // value is replaced.
            let mut reader = config.reader();
            scope.spawn(move || {
                let mut newest = 0;
                while newest < 10 {
                    let config = reader.load();
                    assert!(config.version >= newest, "never an older one");
                    assert_eq!(
                        config.upstreams.len(),
                        config.version as usize,
                        "never half of one"
                    );
                    newest = config.version;
                    drop(config);
                    thread::yield_now();
                }
            });
        }
        for version in 2..=10 {
            thread::sleep(Duration::from_millis(1));
            // Drops the old one now, unless a thread is reading it: even if the others sleep.
            config.store(Config::load(version));
        }
    });
    println!("4 threads have seen version {}", config.load().version);
}
