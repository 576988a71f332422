//! [`Progress`]: shows a user how far long work is.

use std::sync::{Mutex, PoisonError};

/// Shows the progress of long work. Several threads may call it at once.
pub trait Progress: Sync {
    /// Work of `total` units begins: `what` is one to three words, such as `reading types` or `measuring`.
    fn begin(&self, what: &str, total: u64);

    /// The present subject, such as `refs/get-put`, and condition, such as `2 threads`.
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

/// Records its calls, for tests.
#[derive(Debug, Default)]
pub struct Noted(Mutex<Vec<Event>>);

#[derive(Debug)]
enum Event {
    Begin(u64),
    At,
    Advance(u64),
    End,
}

impl Noted {
    fn note(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Asserts that one piece of work was announced, named, done in full by steps, and ended.
    ///
    /// # Panics
    ///
    /// If not.
    #[track_caller]
    pub fn assert_complete(&self) {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [Event::Begin(total), steps @ .., Event::End] = &events[..] else {
            panic!("it begins and ends: {events:?}");
        };
        let (mut done, mut before_last) = (0, 0);
        for step in steps {
            match step {
                Event::At => before_last = done,
                Event::Advance(more) => done += more,
                Event::Begin(_) | Event::End => panic!("it begins and ends once: {events:?}"),
            }
            assert!(done <= *total, "{done} of {total} done");
        }
        assert!(done == *total && before_last < done, "{done} of {total} done: {events:?}");
    }
}

impl Progress for Noted {
    fn begin(&self, _: &str, total: u64) {
        self.note(Event::Begin(total));
    }
    fn at(&self, _: &str, _: &str) {
        self.note(Event::At);
    }
    fn advance(&self, done: u64) {
        self.note(Event::Advance(done));
    }
    fn end(&self) {
        self.note(Event::End);
    }
}
