//! Traits that all handles and guards have.

use super::shootdown::Revoking;
use super::{Domain, Guard, LocalHandle, RcuCell, RcuGuard, RcuReader, Scheme, Strong};
use core::fmt::{Debug, Display, Formatter, Result};
use core::panic::{RefUnwindSafe, UnwindSafe};

/// Those that deref show what their value shows.
macro_rules! smart_pointer {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> AsRef<T> for $type {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<$($generics)*> Display for $type
        where
            T: Display,
        {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                (**self).fmt(f)
            }
        }

        impl<$($generics)*> Debug for $type
        where
            T: Debug,
        {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                (**self).fmt(f)
            }
        }
    )*};
}

smart_pointer! {
    [T, S: Scheme] Strong<T, S>;
    [T, S: Scheme] Guard<'_, T, S>;
    [T, S: Revoking] RcuGuard<'_, T, S>;
}

/// A panic in a user's code leaves these types in order, since they are in order whenever it runs. They lead to values
/// by shared references, so they ask of `T` what std's `Arc` asks.
macro_rules! unwind_safe {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> UnwindSafe for $type where T: RefUnwindSafe {}
        impl<$($generics)*> RefUnwindSafe for $type where T: RefUnwindSafe {}
    )*};
}

unwind_safe! {
    [T, S: Scheme] Domain<T, S>;
    [T, S: Scheme] Strong<T, S>;
    [T, S: Scheme] LocalHandle<T, S>;
    [T, S: Scheme] Guard<'_, T, S>;
    [T, S: Revoking] RcuCell<T, S>;
    [T, S: Revoking] RcuReader<T, S>;
    [T, S: Revoking] RcuGuard<'_, T, S>;
}
