//! [`Noted`]: how work tells its progress, for tests.

use std::sync::{Mutex, PoisonError};
use tenure_model::Progress;

/// Records its calls, for tests.
#[derive(Debug, Default)]
pub(crate) struct Noted(Mutex<Vec<NotedEvent>>);

#[derive(Debug)]
enum NotedEvent {
    Begin(u64),
    At,
    Advance(u64),
    End,
}

impl Noted {
    fn note(&self, event: NotedEvent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Asserts that one piece of work was announced, named, done in full by steps, and ended.
    #[track_caller]
    pub(crate) fn assert_complete(&self) {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [NotedEvent::Begin(total), steps @ .., NotedEvent::End] = &events[..] else {
            panic!("it begins and ends: {events:?}");
        };
        let (mut done, mut before_last) = (0, 0);
        for step in steps {
            match step {
                NotedEvent::At => before_last = done,
                NotedEvent::Advance(more) => done += more,
                NotedEvent::Begin(_) | NotedEvent::End => {
                    panic!("it begins and ends once: {events:?}")
                }
            }
            assert!(done <= *total, "{done} of {total} done");
        }
        assert!(done == *total && before_last < done, "{done} of {total} done: {events:?}");
    }
}

impl Progress for Noted {
    fn begin(&self, _: &str, total: u64) {
        self.note(NotedEvent::Begin(total));
    }
    fn at(&self, _: &str, _: &str) {
        self.note(NotedEvent::At);
    }
    fn advance(&self, done: u64) {
        self.note(NotedEvent::Advance(done));
    }
    fn end(&self) {
        self.note(NotedEvent::End);
    }
}
