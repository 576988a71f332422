//! What the counts of one `word` share: constructors, the raw word, reports, [`RefCount`](super::RefCount) and the
//! common traits; and what counts in other types have of it.

macro_rules! impl_ref_count {
    (@asks) => {
        false
    };
    (@asks $shown:ident) => {
        true
    };
    (
        $count:ident of $atomic:ident: $word:ty,
        one reference $one:expr,
        put_last by $put_last:ident,
        proof $proof:ty $(as $shown:ident)?
    ) => {
        impl $count {
            /// A count that holds `word`, as [`raw`](Self::raw) returned it.
            #[doc(hidden)]
            #[must_use]
            pub const fn from_raw(word: $word) -> Self {
                Self { word: <Native as Memory>::$atomic::new(word) }
            }
        }

        impl<M: Memory> $count<M> {
            /// [`new`](Self::new) on any machine.
            #[doc(hidden)]
            #[must_use]
            pub fn new_in() -> Self {
                Self { word: Atomic::new($one) }
            }

            /// The word as stored, for debuggers and tests.
            #[doc(hidden)]
            #[must_use]
            pub fn raw(&self) -> $word {
                // Relaxed: a snapshot, stale on arrival.
                self.word.load(Ordering::Relaxed)
            }

            #[track_caller]
            fn report(&self, kind: FaultKind, found: $word) {
                report(kind, Self::NAME, (&raw const *self).addr(), found.into());
            }
        }

        impl<M: Memory> super::sealed::Sealed for $count<M> {}

        impl<M: Memory> RefCount for $count<M> {
            type Readable<'w> = $proof;
            const NAME: &'static str = stringify!($count);
            const NEEDS_GRACE_PERIOD: bool = impl_ref_count!(@asks $($shown)?);

            fn new_in() -> Self {
                Self::new_in()
            }
            forward! { self =>
                fn get(&self) -> GetResult;
                fn get_acquire(&self) -> GetResult;
                fn get_many(&self, n: NonZeroU16) -> GetResult;
                fn read(&self) -> u32;
                fn is_dead(&self) -> bool;
            }
            #[inline(always)]
            #[track_caller]
            fn put(&self, _readable: Self::Readable<'_>) -> PutResult {
                $(let $shown = _readable;)?
                self.put($($shown)?)
            }
            #[inline(always)]
            #[track_caller]
            fn put_by<R: KeepsReadable>(&self, _enter: impl FnOnce() -> R) -> PutResult {
                $(
                    let guard = _enter();
                    let $shown = Readable::by(&guard);
                )?
                self.put($($shown)?)
            }
            #[inline(always)]
            #[track_caller]
            fn put_many(&self, n: NonZeroU16, _readable: Self::Readable<'_>) -> PutResult {
                $(let $shown = _readable;)?
                self.put_many(n $(, $shown)?)
            }
            #[inline(always)]
            #[track_caller]
            fn put_last(&self, _readable: Self::Readable<'_>) -> PutResult {
                $(let $shown = _readable;)?
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

/// What a count in another type has of [`RefCount`](super::RefCount): all but its constructor.
macro_rules! as_inner_count {
    ($this:ident: $inner:expr, $type:ty) => {
        type Readable<'w> = <$type as RefCount>::Readable<'w>;
        const NAME: &'static str = <$type as RefCount>::NAME;
        const NEEDS_GRACE_PERIOD: bool = <$type as RefCount>::NEEDS_GRACE_PERIOD;

        as_inner_count! { @ $this: $inner =>
            fn get() -> GetResult;
            fn get_acquire() -> GetResult;
            fn get_many(n: NonZeroU16) -> GetResult;
            fn put(readable: Self::Readable<'_>) -> PutResult;
            fn put_many(n: NonZeroU16, readable: Self::Readable<'_>) -> PutResult;
            fn put_last(readable: Self::Readable<'_>) -> PutResult;
            fn read() -> u32;
            fn is_dead() -> bool;
        }
        #[inline(always)]
        #[track_caller]
        fn put_by<R: KeepsReadable>(&$this, enter: impl FnOnce() -> R) -> PutResult {
            RefCount::put_by(&$inner, enter)
        }
    };
    (@ $this:ident: $inner:expr => $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[inline(always)]
        #[track_caller]
        fn $name(&$this $(, $argument: $type)*) -> $result {
            // By the trait: an inherent method of the name may take something else.
            RefCount::$name(&$inner $(, $argument)*)
        }
    )*};
}
