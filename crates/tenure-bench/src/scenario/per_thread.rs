//! [`PerThread`]: what each of a measurement's threads has to itself.

use std::sync::{Mutex, PoisonError};
use tenure::line::Isolated;

/// A part for each thread, on lines of its own.
pub(super) struct PerThread<T>(Vec<Isolated<Mutex<Option<T>>>>);

impl<T> PerThread<T> {
    /// Parts for so many threads; `part` is told whose.
    pub(super) fn new(threads: usize, part: impl FnMut(usize) -> T) -> Self {
        Self((0..threads).map(part).map(|part| Isolated::new(Mutex::new(Some(part)))).collect())
    }

    /// Calls `work` with the part of that thread, who calls: a local variable meanwhile, as it would be in a program.
    #[inline(always)]
    pub(super) fn with<R>(&self, thread: usize, work: impl FnOnce(&mut T) -> R) -> R {
        let mut home = self.0[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let mut part = home.take().expect("nobody has panicked with it");
        let result = work(&mut part);
        *home = Some(part);
        result
    }
}
