//! Counts on a line of their own.

use super::{GetResult, KeepsReadable, PutResult, RefCount, sealed};
use crate::cache_line::CachePadded;
use core::num::NonZeroU16;

impl<C: RefCount> sealed::Sealed for CachePadded<C> {}

impl<C: RefCount> RefCount for CachePadded<C> {
    as_inner_count! { self: **self, C }

    fn new_in() -> Self {
        Self::new(C::new_in())
    }
    #[inline(always)]
    unsafe fn put_raw_by<R: KeepsReadable>(
        this: *const Self,
        enter: impl FnOnce() -> R,
    ) -> PutResult {
        // SAFETY: the count can be read up to the put (caller).
        unsafe { C::put_raw_by(CachePadded::raw(this), enter) }
    }
}
