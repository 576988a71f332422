//! Panics: what may be used after one that was caught.
//!
//! All that these types do themselves is complete whenever a user's code runs, so a panic in there leaves them in order. They
//! lead to values by shared references. So they ask of `T` what std's `Arc` asks.

use super::seat::InUse;
use super::{Cached, CachedGuard, Context, Domain, Reader, Scheme, Seat};
use crate::memory::{Memory, Threads};
use core::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! if_the_value_is {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> UnwindSafe for $type where T: RefUnwindSafe {}
        impl<$($generics)*> RefUnwindSafe for $type where T: RefUnwindSafe {}
    )*};
}

if_the_value_is! {
    [T, S: Scheme<M>, M: Memory] Domain<T, S, M>;
    [T, S: Scheme<M>, M: Memory] Context<T, S, M>;
    [T, S: Scheme<M>, M: Memory] Seat<T, S, M>;
    // Of which the guards are made.
    [T, S: Scheme<M>, M: Memory] InUse<'_, T, S, M>;
    [T, M: Threads] Cached<T, M>;
    [T, M: Threads] Reader<T, M>;
    [T, M: Threads] CachedGuard<'_, T, M>;
}
