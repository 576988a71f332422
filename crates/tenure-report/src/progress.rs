//! [`Progress`]: how a user who waits sees long work go on.

#![allow(clippy::disallowed_types, reason = "counts of core's")]

use std::sync::atomic::{AtomicU64, Ordering};

/// Shows how far long work is. Several threads may call it at once.
pub trait Progress: Sync {
    /// Work of `total` units begins: `what` is one to three words, such as `reading types` or `measuring`.
    fn begin(&self, what: &str, total: u64);

    /// Its subject is `subject` now, such as `refs/get-put`, under a condition such as `2 threads`.
    fn at(&self, subject: &str, condition: &str) {
        let _ = (subject, condition);
    }

    /// `done` more units are done.
    fn advance(&self, done: u64);

    /// The work is over.
    fn end(&self);
}

/// Shows nothing.
impl Progress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

/// Notes what it is told, for tests of what calls it.
#[derive(Debug, Default)]
pub struct Noted {
    total: AtomicU64,
    done: AtomicU64,
    ends: AtomicU64,
}

impl Noted {
    /// Asserts that the work was announced, done in full, and ended.
    ///
    /// # Panics
    ///
    /// If it was not.
    #[track_caller]
    pub fn assert_complete(&self) {
        // Relaxed: asked when the work is over.
        let [total, done, ends] =
            [&self.total, &self.done, &self.ends].map(|count| count.load(Ordering::Relaxed));
        assert!(total > 0 && done == total && ends > 0, "{done} of {total} done, {ends} ends");
    }
}

impl Progress for Noted {
    fn begin(&self, _: &str, total: u64) {
        // Relaxed, here and below: counts.
        self.total.fetch_add(total, Ordering::Relaxed);
    }
    fn advance(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }
    fn end(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
    }
}
