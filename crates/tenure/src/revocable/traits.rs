//! Handles and guards after a panic.

use super::generic::{
    Domain, Guard, LocalHandle, RcuCell, RcuGuard, RcuReader, Revoking, Scheme, Strong,
};
use core::panic::{RefUnwindSafe, UnwindSafe};

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
