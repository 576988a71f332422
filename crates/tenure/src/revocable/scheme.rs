//! [`Scheme`]: the choice between [`Shootdown`](super::Shootdown) and [`Mask`](super::Mask).

use super::protocol::Protocol;
use core::marker::PhantomData;

/// How a domain finds out that no local handle has an object any more. Sealed.
///
/// ```
/// use tenure::revocable::{Domain, Mask, Scheme, Shootdown};
///
/// fn length<S: Scheme>() -> usize {
///     let domain = Domain::<String, S>::new_in();
///     let strong = domain.strong("hello".into());
///     domain.register().enter(&strong).len()
/// }
///
/// assert_eq!([length::<Shootdown>(), length::<Mask>()], [5; 2]);
/// ```
/// ```compile_fail,E0277
/// enum Mine {}
/// impl tenure::revocable::Scheme for Mine {} // error: `Mine` is not a scheme of this crate
/// ```
pub trait Scheme: Protocol {}

#[doc(hidden)]
impl<S: Protocol> Scheme for S {}

/// The scheme `S` on the machine `M`, for models and simulators.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct On<M, S>(PhantomData<(M, S)>);
