//! One counter that THREADS threads add to, `int` or `float`, with STEPS of work between two additions.

use prometheus::{Counter, IntCounter};
use std::hint::black_box;

mod timed;

/// Steps of a generator of random numbers, a few nanoseconds each.
fn request(mut state: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let threads = words[0].parse().expect("how many threads");
    let steps: u64 = words[2].parse().expect("steps of work between two additions");
    let int = IntCounter::new("requests", "all requests").unwrap();
    let float = Counter::new("seconds", "all requests").unwrap();
    let is_int = words[1] == "int";
    timed::rate(threads, |thread| {
        let (int, float, mut state) = (int.clone(), float.clone(), thread as u64 + 1);
        move || {
            state = black_box(request(state, steps));
            if is_int { int.inc() } else { float.inc() }
        }
    });
    assert!(if is_int { int.get() } else { float.get() as u64 } > 0);
}
