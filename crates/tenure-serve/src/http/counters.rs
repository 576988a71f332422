//! Requests, which each worker counts on its own line.

use std::fmt;
use std::sync::Arc;

use tenure::line::Isolated;

use crate::lock::Lock;
use crate::relaxed::Relaxed;

pub(super) type Counters = Isolated<Words>;

#[derive(Default)]
pub(super) struct Words {
    pub(super) requests: Relaxed<u64>,
    pub(super) refused: Relaxed<u64>,
}

/// The counters of all workers, past and present.
#[derive(Default)]
pub(super) struct All(Lock<Vec<Arc<Counters>>>);

impl All {
    pub(super) fn of_a_worker(&self) -> Arc<Counters> {
        let counters = Arc::<Counters>::default();
        self.0.lock().push(Arc::clone(&counters));
        counters
    }

    pub(super) fn read(&self, files: usize) -> Statistics {
        let all = self.0.lock();
        let sum =
            |figure: fn(&Words) -> &Relaxed<u64>| all.iter().map(|one| figure(one).get()).sum();
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

/// Requests so far, and files in use now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests, good and bad.
    pub requests: u64,
    /// Those answered with an error.
    pub refused: u64,
    /// Versions of files in use, without the answer of a fixed size.
    pub files: u64,
}

impl Statistics {
    /// The figures with their names.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("requests", self.requests),
            ("refused_requests", self.refused),
            ("curr_files", self.files),
        ]
    }
}
