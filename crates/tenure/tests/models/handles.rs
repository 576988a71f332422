//! `Arc` and `Weak` as the library makes them of its counts, step by step, on a value and an allocation that loom
//! watches.

use super::stage::{Heap, Value};
use tenure::arc::Counts;
use tenure::memory::Threads;

pub(crate) struct Inner<M: Threads> {
    pub(crate) counts: Counts<M>,
    pub(crate) value: Value,
}

/// For looks after all handles are gone.
pub(crate) struct Allocation<M: Threads>(pub(crate) Heap<Inner<M>>);

impl<M: Threads> Allocation<M> {
    pub(crate) fn assert_gone(&self) {
        assert!(self.0.value.is_destroyed(), "the value leaks");
        assert!(self.0.is_freed(), "the allocation leaks");
    }
}

/// An `Arc`. Given up by name, not dropped, so that a failed model can unwind.
pub(crate) struct Strong<M: Threads>(pub(crate) Heap<Inner<M>>);

pub(crate) struct Weak<M: Threads>(pub(crate) Heap<Inner<M>>);

impl<M: Threads> Strong<M> {
    pub(crate) fn new() -> (Self, Allocation<M>) {
        let inner = Heap::new(Inner { counts: Counts::new_in(), value: Value::new(1) });
        (Self(inner.clone()), Allocation(inner))
    }

    fn look(&self) -> u32 {
        self.0.value.look()
    }

    pub(crate) fn clone(&self) -> Self {
        self.0.counts.clone_strong();
        Self(self.0.clone())
    }

    pub(crate) fn downgrade(&self) -> Weak<M> {
        self.0.counts.downgrade();
        Weak(self.0.clone())
    }

    pub(crate) fn drop(self) {
        self.look();
        if self.0.counts.drop_strong().is_last() {
            self.destroy();
        }
    }

    /// Makes a `Weak`, goes, and comes back through it.
    pub(crate) fn go_and_come_back(self) {
        let weak = self.downgrade();
        self.drop();
        weak.visit_and_drop();
    }

    /// `Arc::get_mut`, and a write. Returns whether it was given one.
    pub(crate) fn write_if_unique(&mut self) -> bool {
        let unique = self.0.counts.is_unique();
        if unique {
            self.0.value.write(2);
        }
        unique
    }

    /// `Arc::try_unwrap`, or drop. Returns whether it took the value.
    pub(crate) fn take_or_drop(self) -> bool {
        let taken = self.0.counts.try_take();
        if taken {
            self.destroy();
        } else {
            self.drop();
        }
        taken
    }

    pub(crate) fn into_inner(self) -> bool {
        self.look();
        let last = self.0.counts.drop_strong().is_last();
        if last {
            self.destroy();
        }
        last
    }

    fn destroy(self) {
        self.0.value.destroy();
        if self.0.counts.drop_common() {
            self.0.free();
        }
    }
}

impl<M: Threads> Weak<M> {
    pub(crate) fn upgrade(&self) -> Option<Strong<M>> {
        self.0.counts.upgrade().is_acquired().then(|| Strong(self.0.clone()))
    }

    pub(crate) fn visit(&self) {
        self.upgrade().into_iter().for_each(Strong::drop);
    }

    pub(crate) fn visit_and_drop(self) {
        self.visit();
        self.drop();
    }

    pub(crate) fn drop(self) {
        if self.0.counts.drop_weak() {
            self.0.free();
        }
    }
}
