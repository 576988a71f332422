//! What all guards have in common, over [`InUse`](super::seat::InUse).

/// Implements `upgrade`, `Deref` and `Debug` for a guard with those generics, whose field is an `InUse` of that scheme.
macro_rules! guard {
    ([$($generics:tt)*] $guard:ty, $in_use:tt, $scheme:ty) => {
        impl<$($generics)*> $guard {
            /// A strong handle, unless the last one is gone. One atomic add on the object's count.
            ///
            /// With the schemes that count holders this guard's seat is one, so there always is a handle.
            #[must_use]
            pub fn upgrade(this: &Self) -> Option<$crate::lazy::Context<T, $scheme, M>> {
                this.$in_use.upgrade()
            }
        }

        impl<$($generics)*> core::ops::Deref for $guard {
            type Target = T;
            #[inline(always)]
            fn deref(&self) -> &T {
                self.$in_use.value()
            }
        }

        impl<$($generics)*> core::fmt::Debug for $guard
        where
            T: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

pub(super) use guard;
