//! Negative twins: small broken copies of the protocols, which have to fail in the way that their flaw predicts.
//!
//! A twin does things in another order than the protocol, or by another algorithm, and runs in the model that guards its
//! rule; a sound copy passes the same models, so it is the flaw that fails and not the copying. Whatever shows in the
//! shipping code needs no copy: orderings and barriers ([`needed`](super::needed)), read-modify-writes
//! ([`torn`](super::torn)), and checks and steps that are gone (`ci/mutants.sh`).

/// Types that are a `Flaw` with some constants changed; or none: the control.
macro_rules! flaws {
    ($($(#[$doc:meta])* $name:ident { $($what:ident: $type:ty = $value:expr),* })*) => {$(
        $(#[$doc])*
        pub(crate) enum $name {}
        impl Flaw for $name {
            $(const $what: $type = $value;)*
        }
    )*};
}

mod cells;
#[cfg(feature = "registry")]
mod linger;
mod magazine;
mod pool;
mod rcuref;
#[cfg(feature = "registry")]
mod registry;
mod stack;
