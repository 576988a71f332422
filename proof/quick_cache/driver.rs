//! A cache with one hot key: THREADS threads get its value, an `Arc` (`plain`) or a `Shared` (`tenure`), and read a byte. With
//! `kept` a thread gets the value once, then clones and drops what it has.

use quick_cache::sync::Cache;
use std::hint::black_box;
use std::ops::Deref;
use std::sync::Arc;
use tenure::owner::Owner;

mod timed;

type Page = [u8; 4096];

fn run<P: Deref<Target = Page> + Clone + Send + Sync>(threads: usize, is_kept: bool, value: P) {
    let cache = Cache::new(1000);
    cache.insert("index", value);
    timed::rate(threads, |_| {
        let (cache, kept) = (&cache, cache.get("index").unwrap());
        move || {
            let page = if is_kept { kept.clone() } else { cache.get("index").unwrap() };
            black_box(page[0]);
        }
    });
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (threads, is_kept) = (words[1].parse().expect("how many threads"), words[2] == "kept");
    if words[0] == "tenure" {
        let owner = Owner::new([0; 4096]);
        run(threads, is_kept, owner.share());
    } else {
        run(threads, is_kept, Arc::new([0; 4096]));
    }
}
