//! [`Scheme`]: the choice between [`Shootdown`](super::Shootdown) and [`Mask`](super::Mask).

use super::protocol::Protocol;
use core::marker::PhantomData;

/// How a domain finds out that no local handle has an object any more.
pub trait Scheme: Protocol {}

impl<S: Protocol> Scheme for S {}

/// The scheme `S` on the machine `M`, for models and simulators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct On<M, S>(PhantomData<(M, S)>);
