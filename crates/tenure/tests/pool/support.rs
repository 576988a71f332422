//! Objects that are counted, threads that keep slots and sleep.

use std::sync::{Arc, Barrier};
use std::thread;
use tenure::pool::generic::SlotPool;
use tenure::pool::list::List;

/// An object whose drop is seen by the count of its `Arc`.
pub(crate) struct Token(Arc<()>);

impl Token {
    pub(crate) fn check(&self) {
        assert!(Arc::strong_count(&self.0) > 1, "the object was dropped, or is the original");
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// A pool of tokens: as many as the `Arc`'s count, less its own and the pool's.
pub(crate) fn tokens<L: List>() -> (Arc<()>, SlotPool<Token, L>) {
    let token = Arc::new(());
    let original = Arc::clone(&token);
    let pool = SlotPool::builder(move || Token(Arc::clone(&original))).list().build();
    (token, pool)
}

pub(crate) fn beside_a_sleeper(before: impl FnOnce() + Send, meanwhile: impl FnOnce()) {
    let (done, go_on) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            before();
            done.wait();
            go_on.wait();
        });
        done.wait();
        meanwhile();
        go_on.wait();
        // By hand: a scope does not wait for thread-locals.
        sleeper.join().unwrap();
    });
}

/// Runs `meanwhile` while a sleeping thread keeps `n` objects, which it has used.
pub(crate) fn keeping<T: Send + 'static, L: List>(
    pool: &SlotPool<T, L>,
    n: usize,
    meanwhile: impl FnOnce(),
) {
    let use_some = || drop(Vec::from_iter((0..n).map(|_| pool.acquire().unwrap())));
    beside_a_sleeper(use_some, meanwhile);
}
