//! `Arc` and `Weak` as the library makes them of its counts, step by step, on a value and an allocation that loom
//! watches.

use super::memory::Loom;
use super::stage::{Heap, Value};
use tenure::arc::Counts;
use tenure::count::{Get, Put};

/// What the models need of an `Arc`'s counts: the shipping ones' methods of the same names.
macro_rules! arc_counts {
    ($(fn $name:ident(&self) $(-> $result:ty)?;)*) => {
        pub(crate) trait ArcCounts: Sized + 'static {
            fn one() -> Self;
            fn unborn() -> Self;
            $(fn $name(&self) $(-> $result)?;)*
        }

        impl<const S: bool> ArcCounts for Counts<Loom<S>> {
            fn one() -> Self {
                Self::new_in()
            }
            fn unborn() -> Self {
                Self::unborn_in()
            }
            $(fn $name(&self) $(-> $result)? {
                self.$name()
            })*
        }
    };
}

arc_counts! {
    fn born(&self);
    fn clone_strong(&self);
    fn upgrade(&self) -> Get;
    fn drop_strong(&self) -> Put;
    fn downgrade(&self);
    fn drop_weak(&self) -> bool;
    fn drop_common(&self) -> bool;
    fn is_unique(&self) -> bool;
    fn try_take(&self) -> bool;
}

pub(crate) struct Inner<C> {
    pub(crate) counts: C,
    pub(crate) value: Value,
}

/// For looks after all handles are gone.
pub(crate) struct Allocation<C>(pub(crate) Heap<Inner<C>>);

impl<C: ArcCounts> Allocation<C> {
    pub(crate) fn assert_gone(&self) {
        assert!(self.0.value.is_destroyed(), "the value leaks");
        assert!(self.0.is_freed(), "the allocation leaks");
    }
}

/// An `Arc`. Given up by name, not dropped, so that a failed model can unwind.
pub(crate) struct Strong<C: ArcCounts>(pub(crate) Heap<Inner<C>>);

pub(crate) struct Weak<C: ArcCounts>(pub(crate) Heap<Inner<C>>);

impl<C: ArcCounts> Strong<C> {
    pub(crate) fn new() -> (Self, Allocation<C>) {
        let inner = Heap::new(Inner { counts: C::one(), value: Value::new(1) });
        (Self(inner.clone()), Allocation(inner))
    }

    fn look(&self) -> u32 {
        self.0.value.look()
    }

    pub(crate) fn clone(&self) -> Self {
        self.0.counts.clone_strong();
        Self(self.0.clone())
    }

    pub(crate) fn downgrade(&self) -> Weak<C> {
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

impl<C: ArcCounts> Weak<C> {
    pub(crate) fn upgrade(&self) -> Option<Strong<C>> {
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
