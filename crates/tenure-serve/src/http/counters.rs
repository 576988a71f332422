//! What was asked for: each worker counts on a line of its own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tenure::line::Isolated;

use crate::net::Counter;

/// The counters of one worker.
#[derive(Default)]
pub(super) struct Counters(Isolated<Words>);

#[derive(Default)]
pub(super) struct Words {
    pub(super) requests: Counter,
    pub(super) refused: Counter,
}

impl std::ops::Deref for Counters {
    type Target = Words;
    fn deref(&self) -> &Words {
        &self.0
    }
}

/// The counters of all workers that there were.
#[derive(Default)]
pub(super) struct All(Mutex<Vec<Arc<Counters>>>);

impl All {
    /// Those of another worker.
    pub(super) fn of_a_worker(&self) -> Arc<Counters> {
        let counters = Arc::<Counters>::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counters));
        counters
    }

    pub(super) fn read(&self, files: usize) -> Statistics {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |figure: fn(&Words) -> &Counter| all.iter().map(|one| figure(one).get()).sum();
        Statistics {
            requests: sum(|words| &words.requests),
            refused: sum(|words| &words.refused),
            files: files as u64,
        }
    }
}

impl fmt::Debug for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(0).fmt(f)
    }
}

/// What was asked for so far, and what is held now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests, in whatever state they came.
    pub requests: u64,
    /// Of those: answered with an error.
    pub refused: u64,
    /// Versions of files that a worker or an answer has now; the answer of a fixed size is none.
    pub files: u64,
}

impl Statistics {
    /// The figures with their names.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 3] {
        [
            ("requests", self.requests),
            ("refused_requests", self.refused),
            ("curr_files", self.files),
        ]
    }
}
