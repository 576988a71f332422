//! [`Owner`]: what the handles of a pool own together.

use super::objects::{Objects, close};
use crate::memory::Resident;
use crate::pool::list::FreeList;
use crate::shared::Shared;

/// Closes the pool when the last handle is gone.
pub(super) struct Owner<T, L: FreeList> {
    pub(super) shared: Shared<Objects<T, L>, L::Memory>,
}

impl<T: Send, L: FreeList> Resident for Owner<T, L> {
    unsafe fn leave(&self, thread: usize) {
        // SAFETY: the caller's.
        unsafe { self.shared.shelf.idle().leave(thread) };
    }
}

impl<T, L: FreeList> Drop for Owner<T, L> {
    fn drop(&mut self) {
        // Again, if it was closed: a fork may have come in the middle of that.
        close(&self.shared);
    }
}
