//! A canary, a lock, threads.

use std::thread;
use tenure::memory::{Atomic, Memory, Native, Ordering, Plain, PlainCell};

pub(crate) const THREADS: usize = 4;

/// How many objects one thread makes, of `plain` in a run without `TENURE_STRESS`. Miri takes as long over a few.
pub(crate) fn objects(plain: u32) -> u32 {
    if cfg!(miri) {
        return plain.div_ceil(5_000).clamp(8, plain);
    }
    let factor = std::env::var("TENURE_STRESS").map_or(1.0, |text| {
        text.parse::<f64>().unwrap_or_else(|_| panic!("TENURE_STRESS is a number, not {text:?}"))
    });
    ((f64::from(plain) * factor) as u32).max(1)
}

pub(crate) fn on_threads<R: Send + 'static>(
    body: impl Fn(usize) -> R + Clone + Send + 'static,
) -> Vec<R> {
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let body = body.clone();
            thread::spawn(move || body(thread))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

const ALIVE: u64 = 0xA11F_E0B1_EC75_0000;
const DESTROYED: u64 = 0xDEAD_DEAD_DEAD_DEAD;

/// A word that says whether its object lives.
pub(crate) struct Canary(PlainCell<u64>);

impl Canary {
    pub(crate) fn new() -> Self {
        Self(Plain::new(ALIVE))
    }

    pub(crate) fn check(&self) {
        // SAFETY: the caller holds a reference, so no thread destroys the object, which is what the test checks.
        let word = unsafe { self.0.read() };
        assert_eq!(word, ALIVE, "a holder found the object destroyed");
    }

    /// Called by the only holder.
    pub(crate) fn rewrite(&self) {
        self.check();
        // SAFETY: there is no other reference, and none can be made.
        self.0.with_mut(|word| unsafe { word.write(ALIVE) });
    }

    pub(crate) fn destroy(&self) {
        self.check();
        // SAFETY: the caller's put was the last.
        self.0.with_mut(|word| unsafe { word.write(DESTROYED) });
    }
}

/// A spin lock: std's own is not instrumented.
pub(crate) struct Lock<T> {
    locked: <Native as Memory>::AtomicU32,
    value: PlainCell<T>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { locked: Atomic::new(0), value: Plain::new(value) }
    }

    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        // Acquire: pairs with the Release below.
        while self.locked.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            thread::yield_now();
        }
        // SAFETY: one thread at a time gets past the loop, and the pointer does not leave `action`.
        let result = self.value.with_mut(|value| action(unsafe { &mut *value }));
        // Release: pairs with the Acquire above.
        self.locked.store(0, Ordering::Release);
        result
    }
}
