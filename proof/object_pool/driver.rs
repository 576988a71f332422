//! One pool from which THREADS threads take an object, use it and give it back, while HELD others are in use.

use lockfree_object_pool::LinearObjectPool;

mod timed;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    let pool = LinearObjectPool::new(|| Vec::<u8>::with_capacity(4096), Vec::clear);
    let held: Vec<_> = (0..number(1)).map(|_| pool.pull()).collect();
    timed::rate(number(0), |_| || pool.pull().push(1));
    drop(held);
}
