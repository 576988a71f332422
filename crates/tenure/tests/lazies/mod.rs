//! What the tests of lazy references share: every scheme, objects that are counted, seats with a guard out.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod staged;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tenure::lazy::{Active, Context, Counted, Domain, Mask, Scheme, Seat, Shootdown, Statistics};
use tenure::memory::{Memory, Native, Threads};

/// Makes each of the functions, which are generic over a scheme, a test for every scheme.
#[macro_export]
macro_rules! claims {
    ($($claim:ident,)*) => {
        $crate::claims! { ($($claim)*) over
            shootdown: tenure::lazy::Shootdown,
            shootdown_verified: tenure::lazy::Shootdown<true>,
            counted: tenure::lazy::Counted,
            mask: tenure::lazy::Mask,
        }
    };
    ($claims:tt over $($room:ident: $scheme:ty,)*) => {
        $($crate::claims! { $claims in $room: $scheme })*
    };
    (($($claim:ident)*) in $room:ident: $scheme:ty) => {
        mod $room {
            $(#[test]
            fn $claim() {
                super::$claim::<$scheme>();
            })*
        }
    };
}

/// A scheme, and what it does otherwise than the others.
pub(crate) trait Kind<M: Memory = Native>: Scheme<M> {
    /// Whether what a seat keeps stays alive for it.
    const KEEPS: bool;
}

impl<M: Threads, const VERIFY: bool> Kind<M> for Shootdown<VERIFY> {
    const KEEPS: bool = false;
}

impl<M: Memory> Kind<M> for Counted {
    const KEEPS: bool = true;
}

impl<M: Memory> Kind<M> for Mask {
    const KEEPS: bool = true;
}

/// An object whose drop is seen by the count of its `Arc`.
#[derive(Clone)]
pub(crate) struct Token(Arc<()>);

impl Token {
    /// The original, which no domain has.
    pub(crate) fn new() -> Self {
        Self(Arc::new(()))
    }

    /// How many objects there are besides the original.
    pub(crate) fn objects(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }

    /// Whether both are of one original.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn check(&self) {
        assert!(Arc::strong_count(&self.0) > 1, "the object was dropped, or is the original");
    }
}

/// The figures of slow paths: ended, barriers, revoked, donated.
pub(crate) fn figures(statistics: &Statistics) -> [u64; 4] {
    [statistics.ended, statistics.barriers, statistics.revoked, statistics.donated]
}

/// The message of the panic.
pub(crate) fn panics(action: impl FnOnce()) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(action)).expect_err("it does not panic");
    panic.downcast_ref::<&str>().copied().expect("the panic is one of a test's own")
}

/// A seat, with its guard while one is out.
pub(crate) struct Worker<T: 'static, S: Scheme<M>, M: Memory = Native> {
    guard: Option<Active<'static, T, S, M>>,
    /// From a box. Borrowed by the guard.
    seat: *mut Seat<T, S, M>,
}

impl<T, S: Scheme<M>, M: Memory> Worker<T, S, M> {
    pub(crate) fn new(domain: &Domain<T, S, M>) -> Self {
        Self { guard: None, seat: Box::into_raw(Box::new(domain.seat())) }
    }

    /// The seat, without a guard.
    pub(crate) fn seat(&mut self) -> &'static mut Seat<T, S, M> {
        self.leave();
        // SAFETY: the seat lives until the drop, which comes after that of the guard; no other guard is out.
        unsafe { &mut *self.seat }
    }

    /// Leaves, and enters.
    pub(crate) fn enter(&mut self, context: &Context<T, S, M>) {
        self.guard = Some(self.seat().enter(context));
    }

    /// Leaves, and uses what the seat kept, if it still does.
    pub(crate) fn lazy(&mut self) -> bool {
        self.guard = self.seat().lazy().map(Active::from);
        self.guard.is_some()
    }

    pub(crate) fn leave(&mut self) {
        self.guard = None;
    }

    /// The guard is gone and has not left.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(self.guard.take());
    }

    /// What is in use.
    pub(crate) fn value(&self) -> Option<&T> {
        self.guard.as_deref()
    }

    /// A handle to what is in use.
    pub(crate) fn upgrade(&self) -> Option<Context<T, S, M>> {
        self.guard.as_ref().and_then(Active::upgrade)
    }
}

// SAFETY: the seat is the worker's alone, as if the box were there.
unsafe impl<T: Send + Sync, S: Scheme<M>, M: Memory> Send for Worker<T, S, M> {}

impl<T, S: Scheme<M>, M: Memory> Drop for Worker<T, S, M> {
    fn drop(&mut self) {
        self.leave();
        // SAFETY: from a box, and no guard borrows it any more.
        drop(unsafe { Box::from_raw(self.seat) });
    }
}
