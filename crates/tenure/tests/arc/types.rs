//! `Arc` and `Weak` have the auto traits and the variance of std's. Half of the test is that this file compiles.
#![forbid(unsafe_code)]

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::fmt::Debug;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync::MutexGuard;
use tenure::sync::{Arc, Weak};

macro_rules! as_std {
    ([$($trait:ident)*] for $types:tt) => {
        $(as_std!(@each $trait for $types);)*
    };
    (@each $trait:ident for [$($type:ty),* $(,)?]) => {$(
        let what = concat!(stringify!($type), ": ", stringify!($trait));
        assert_eq!(
            has!(Arc<$type>: $trait),
            has!(std::sync::Arc<$type>: $trait),
            "an Arc of {what}"
        );
        assert_eq!(
            has!(Weak<$type>: $trait),
            has!(std::sync::Weak<$type>: $trait),
            "a Weak of {what}"
        );
    )*};
}

#[test]
fn auto_traits_are_those_of_std() {
    as_std! { [Send Sync Unpin UnwindSafe RefUnwindSafe Clone Debug Copy] for [
        u8,
        Cell<u8>,
        UnsafeCell<u8>,
        Rc<u8>,
        *const u8,
        &'static mut u8,
        &'static Cell<u8>,
        MutexGuard<'static, u8>,
        PhantomPinned,
        str,
        [Cell<u8>],
        dyn Any,
        dyn Any + Send,
        dyn Any + Send + Sync,
        dyn Any + Send + Sync + UnwindSafe + RefUnwindSafe,
    ] }
}

#[test]
fn a_longer_lifetime_is_taken_for_a_shorter_one() {
    fn arc<'short>(long: Arc<&'static str>) -> Arc<&'short str> {
        long
    }
    fn weak<'short>(long: Weak<&'static str>) -> Weak<&'short str> {
        long
    }
    fn function<'long>(any: Arc<fn(&str) -> usize>) -> Arc<fn(&'long str) -> usize> {
        any
    }
    let text = arc(Arc::new("text"));
    assert_eq!(weak(Arc::downgrade(&text)).upgrade(), Some(text));
    assert_eq!(function(Arc::new(str::len))("four"), 4);
}
