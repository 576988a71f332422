//! A sign of life from the thread that simulates, for the thread that waits for it.

use std::sync::Arc;
use tenure::memory::{Atomic, Memory, Native, Ordering};

type Word = <Native as Memory>::AtomicU64;

/// What the two threads share.
#[derive(Debug, Clone)]
pub(crate) struct Beat(Arc<(Word, Word)>);

impl Beat {
    pub(crate) fn new() -> Self {
        Self(Arc::new((Atomic::new(0), Atomic::new(0))))
    }

    /// The simulator goes on.
    #[inline]
    pub(crate) fn tick(&self) {
        // Relaxed, here and below: a statistic with one writer; nothing is published through it.
        self.0.0.store(self.0.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// This CPU has the simulator's thread now.
    pub(crate) fn runs(&self, cpu: usize) {
        self.0.1.store(cpu as u64, Ordering::Relaxed);
    }

    /// How often it has beaten.
    pub(crate) fn count(&self) -> u64 {
        self.0.0.load(Ordering::Relaxed)
    }

    /// The CPU that has the simulator's thread.
    #[allow(clippy::cast_possible_truncation, reason = "it was a usize")]
    pub(crate) fn cpu(&self) -> usize {
        self.0.1.load(Ordering::Relaxed) as usize
    }
}
