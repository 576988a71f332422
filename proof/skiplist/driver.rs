//! One skip list: THREADS threads insert and remove keys of their own (`write`), or all but the first look keys up (`read`).

use crossbeam_skiplist::SkipSet;

mod timed;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let threads = words[0].parse().expect("how many threads");
    let set = SkipSet::new();
    let keys = 1 << 12;
    // Keys of all threads lie between each other, and half of them are there.
    (0..keys * threads).step_by(2).for_each(|key| {
        set.insert(key);
    });
    let reads = words[1] == "read";
    timed::rate(threads, |thread| {
        let (set, mut random) = (&set, thread as u64 + 1);
        move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let key = (random as usize >> 8) % keys * threads + thread;
            if reads && thread > 0 {
                std::hint::black_box(set.contains(&key));
            } else if random & 1 == 0 {
                set.insert(key);
            } else {
                set.remove(&key);
            }
        }
    });
}
