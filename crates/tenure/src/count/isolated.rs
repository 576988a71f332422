//! Counts on a line of their own.

use super::{GetResult, KeepsReadable, PutResult, RefCount, sealed};
use crate::cache_line::CachePadded;
use core::num::NonZeroU16;

impl<C: RefCount> sealed::Sealed for CachePadded<C> {}

impl<C: RefCount> RefCount for CachePadded<C> {
    type Readable<'w> = C::Readable<'w>;
    const NAME: &'static str = C::NAME;
    const NEEDS_GRACE_PERIOD: bool = C::NEEDS_GRACE_PERIOD;

    fn new_in() -> Self {
        Self::new(C::new_in())
    }
    forward! { (**self) =>
        fn get(&self) -> GetResult;
        fn get_acquire(&self) -> GetResult;
        fn get_many(&self, n: NonZeroU16) -> GetResult;
        fn put(&self, readable: Self::Readable<'_>) -> PutResult;
        fn put_many(&self, n: NonZeroU16, readable: Self::Readable<'_>) -> PutResult;
        fn put_last(&self, readable: Self::Readable<'_>) -> PutResult;
        fn read(&self) -> u32;
        fn is_dead(&self) -> bool;
    }
    #[inline(always)]
    #[track_caller]
    fn put_by<R: KeepsReadable>(&self, enter: impl FnOnce() -> R) -> PutResult {
        (**self).put_by(enter)
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
