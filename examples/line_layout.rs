//! A struct whose hot counter stays off the cache lines of the fields that everybody reads. The compiler checks it,
//! today and after the next change.
//!
//! Take `CachePadded` away, and the program does not compile: the error names both fields and their offsets.
//! `cargo run -p tenure-examples --example line_layout`

use std::thread;

use tenure::cache_line::{CachePadded, LINE_BYTES, LineLayout, line_of};
use tenure::memory::{Atomic, Memory, Native, Ordering};

// std's `AtomicU64` is as good; the lints of this workspace ask for this spelling.
type Counter = <Native as Memory>::AtomicU64;

#[derive(LineLayout)]
struct Upstream {
    /// Every request adds one.
    #[line(contended)]
    requests: CachePadded<Counter>,
    /// Every request reads these.
    #[line(read_mostly)]
    address: [u8; 16],
    #[line(read_mostly)]
    timeout_ms: u64,
}

#[cfg_attr(test, test)]
fn main() {
    let upstream = Upstream {
        requests: CachePadded::new(Atomic::new(0)),
        address: *b"10.0.0.1:80\0\0\0\0\0",
        timeout_ms: 500,
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    assert!(upstream.timeout_ms == 500 && upstream.address[0] == b'1');
                    // Relaxed: a statistic.
                    upstream.requests.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let counter = line_of((&raw const *upstream.requests).addr());
    assert_ne!(counter, line_of((&raw const upstream.timeout_ms).addr()));
    println!(
        "{} requests, counted {} bytes from what they read; a line has {LINE_BYTES}",
        upstream.requests.load(Ordering::Relaxed),
        (&raw const upstream.timeout_ms).addr().abs_diff((&raw const *upstream.requests).addr()),
    );
}
