//! [`RefCount`](super::RefCount) and the common traits for a count that is one `word`, by its inherent methods.

macro_rules! impl_ref_count {
    (@asks) => {
        false
    };
    (@asks $shown:ident) => {
        true
    };
    ($count:ident, put_last by $put_last:ident, witness $witness:ty $(as $shown:ident)?) => {
        impl<M: Memory> super::sealed::Sealed for $count<M> {}

        impl<M: Memory> RefCount for $count<M> {
            type Witness<'w> = $witness;
            const NAME: &'static str = stringify!($count);
            const NEEDS_GRACE_PERIOD: bool = impl_ref_count!(@asks $($shown)?);

            fn new_in() -> Self {
                Self::new_in()
            }
            forward! { self =>
                fn get(&self) -> Get;
                fn get_acquire(&self) -> Get;
                fn get_many(&self, n: NonZeroU16) -> Get;
                fn read(&self) -> u32;
                fn is_dead(&self) -> bool;
            }
            #[inline(always)]
            #[track_caller]
            fn put(&self, _witness: Self::Witness<'_>) -> Put {
                $(let $shown = _witness;)?
                self.put($($shown)?)
            }
            #[inline(always)]
            #[track_caller]
            fn put_by<R: ReadSide>(&self, _enter: impl FnOnce() -> R) -> Put {
                $(
                    let guard = _enter();
                    let $shown = Readable::by(&guard);
                )?
                self.put($($shown)?)
            }
            #[inline(always)]
            #[track_caller]
            fn put_many(&self, n: NonZeroU16, _witness: Self::Witness<'_>) -> Put {
                $(let $shown = _witness;)?
                self.put_many(n $(, $shown)?)
            }
            #[inline(always)]
            #[track_caller]
            fn put_last(&self, _witness: Self::Witness<'_>) -> Put {
                $(let $shown = _witness;)?
                self.$put_last($($shown)?)
            }
        }

        impl Default for $count {
            /// One reference, which the caller owns.
            fn default() -> Self {
                Self::new()
            }
        }

        impl<M: Memory> core::fmt::Debug for $count<M> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(Self::NAME).field(&self.read()).finish()
            }
        }
    };
}
