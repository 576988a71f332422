//! What all guards have in common, over [`InUse`](super::seat::InUse).

/// Implements `upgrade` and the usual traits for a guard with those generics, whose field is an `InUse` of that scheme.
macro_rules! guard {
    ([$($generics:tt)*] $guard:ty, $in_use:tt, $scheme:ty, $about:literal) => {
        impl<$($generics)*> $guard {
            #[doc = $about]
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

        impl<$($generics)*> AsRef<T> for $guard {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<$($generics)*> core::fmt::Display for $guard
        where
            T: core::fmt::Display,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
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
