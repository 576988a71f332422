//! lazy
mod block;
pub mod cached;
mod context;
mod counted;
mod domain;
mod mask;
mod protocol;
mod seat;
mod shootdown;
mod statistics;

#[doc(inline)]
pub use cached::Cached;
pub use context::Context;
pub use counted::Counted;
pub use domain::Domain;
pub use mask::Mask;
pub use seat::{Active, LazyGuard, Seat};
pub use shootdown::Shootdown;
pub use statistics::Statistics;

use crate::memory::Memory;

/// How a domain knows that nobody has an object any more: [`Shootdown`], [`Counted`] or [`Mask`].
///
/// Sealed: there is nothing in it to call, and no other type implements it.
pub trait Scheme<M: Memory>: protocol::Protocol<M> {}
