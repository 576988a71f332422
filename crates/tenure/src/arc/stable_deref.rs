//! [`StableDeref`]: an `Arc`'s value stays where it is when the `Arc` moves.

use super::Arc;
use ::stable_deref_trait::{CloneStableDeref, StableDeref};

// SAFETY: the value is in the allocation that the `Arc` points to, which moves with nothing; `deref` gives that place
// every time, and nothing but `make_mut`, which takes `&mut`, lets an `Arc` point elsewhere.
unsafe impl<T: ?Sized> StableDeref for Arc<T> {}

// SAFETY: a clone points to the same allocation.
unsafe impl<T: ?Sized> CloneStableDeref for Arc<T> {}
