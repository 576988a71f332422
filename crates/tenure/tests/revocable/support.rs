//! Every scheme, objects that are counted, workers with a guard out.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test binary uses a part")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tenure::revocable::Stats;
use tenure::revocable::generic::{
    Counted, Domain, Guard, LocalHandle, Mask, Scheme, Shootdown, Strong, Verified,
};

/// Makes each function, generic over a scheme, a test for every scheme.
macro_rules! claims {
    ($($claim:ident,)*) => {
        claims! { ($($claim)*) over
            shootdown: tenure::revocable::generic::Shootdown,
            shootdown_verified: tenure::revocable::generic::Verified,
            counted: tenure::revocable::generic::Counted,
            mask: tenure::revocable::generic::Mask,
        }
    };
    ($claims:tt over $($module:ident: $scheme:ty,)*) => {
        $(claims! { $claims in $module: $scheme })*
    };
    (($($claim:ident)*) in $module:ident: $scheme:ty) => {
        mod $module {
            $(#[test]
            fn $claim() {
                super::$claim::<$scheme>();
            })*
        }
    };
}

pub(crate) trait Kind: Scheme {
    /// Whether an object stays alive while a local handle keeps it.
    const KEEPS: bool;
}

impl Kind for Shootdown {
    const KEEPS: bool = false;
}

impl Kind for Verified {
    const KEEPS: bool = false;
}

impl Kind for Counted {
    const KEEPS: bool = true;
}

impl Kind for Mask {
    const KEEPS: bool = true;
}

pub(crate) fn domain<S: Kind>() -> (Token, Domain<Token, S>) {
    (Token::new(), Domain::new_in())
}

type Registered<S> = (Token, Domain<Token, S>, Strong<Token, S>, LocalHandle<Token, S>);

/// With an object, which has one strong handle, and a local handle that has nothing.
pub(crate) fn registered<S: Kind>() -> Registered<S> {
    let (token, domain) = domain();
    let (strong, local) = (domain.strong(token.clone()), domain.register());
    (token, domain, strong, local)
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

/// Retired, barriers, revoked, donated.
pub(crate) fn figures(statistics: &Stats) -> [u64; 4] {
    [statistics.retired, statistics.barriers, statistics.revoked, statistics.donated]
}

/// The message of the panic.
pub(crate) fn panics(action: impl FnOnce()) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(action)).expect_err("it does not panic");
    panic.downcast_ref::<&str>().copied().expect("the panic is one of a test's own")
}

/// A local handle, with its guard while one is out.
pub(crate) struct Worker<T: 'static, S: Scheme> {
    guard: Option<Guard<'static, T, S>>,
    /// From a box. Borrowed by the guard.
    local: *mut LocalHandle<T, S>,
}

impl<T, S: Scheme> Worker<T, S> {
    pub(crate) fn new(domain: &Domain<T, S>) -> Self {
        Self { guard: None, local: Box::into_raw(Box::new(domain.register())) }
    }

    /// After the guard has left.
    pub(crate) fn local(&mut self) -> &'static mut LocalHandle<T, S> {
        self.leave();
        // SAFETY: the local handle lives until the drop, after that of the guard; no other guard is out.
        unsafe { &mut *self.local }
    }

    pub(crate) fn enter(&mut self, strong: &Strong<T, S>) {
        self.guard = Some(self.local().enter(strong));
    }

    pub(crate) fn kept(&mut self) -> bool {
        self.guard = self.local().kept();
        self.guard.is_some()
    }

    pub(crate) fn leave(&mut self) {
        self.guard = None;
    }

    pub(crate) fn forget(&mut self) {
        std::mem::forget(self.guard.take());
    }

    pub(crate) fn value(&self) -> Option<&T> {
        self.guard.as_deref()
    }

    pub(crate) fn upgrade(&self) -> Option<Strong<T, S>> {
        self.guard.as_ref().and_then(Guard::upgrade)
    }
}

// SAFETY: the local handle is the worker's alone, as if the box were there.
unsafe impl<T: Send + Sync, S: Scheme> Send for Worker<T, S> {}

impl<T, S: Scheme> Drop for Worker<T, S> {
    fn drop(&mut self) {
        self.leave();
        // SAFETY: from a box, and no guard borrows it any more.
        drop(unsafe { Box::from_raw(self.local) });
    }
}

pub(crate) struct Last {
    pub(crate) token: Token,
    pub(crate) at_drop: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Last {
    pub(crate) fn idle(token: &Token) -> Self {
        Self { token: token.clone(), at_drop: None }
    }

    pub(crate) fn acts(token: &Token, at_drop: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { token: token.clone(), at_drop: Some(Box::new(at_drop)) }
    }

    pub(crate) fn panics(token: &Token) -> Self {
        Self::acts(token, || panic!("in drop"))
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(act) = self.at_drop.take() {
            act();
        }
    }
}
