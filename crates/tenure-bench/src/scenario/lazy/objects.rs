//! Each thread goes from one object to the next: nothing that a seat keeps is of use.

use super::workers::{Value, Work};
use crate::scenario::Host;
use std::hint::black_box;
use tenure::lazy::{Context, Domain, Scheme, Seat};

/// How many there are.
pub(super) const OBJECTS: usize = 16;

/// A seat enters the next of the objects and leaves it.
pub(super) struct Objects<S: Scheme<M>, M: Host> {
    domain: Domain<Value<M>, S, M>,
    objects: [Context<Value<M>, S, M>; OBJECTS],
}

impl<S: Scheme<M>, M: Host> Work for Objects<S, M> {
    /// And where it is.
    type Own = (Seat<Value<M>, S, M>, usize);

    fn prepare() -> Self {
        let domain = Domain::new_in();
        let objects = std::array::from_fn(|_| domain.context(Value::new()));
        Self { domain, objects }
    }
    fn own(&self, thread: usize) -> Self::Own {
        (self.domain.seat(), thread)
    }
    #[inline(always)]
    fn step(&self, (seat, at): &mut Self::Own) {
        *at = (*at + 1) % OBJECTS;
        black_box(seat.enter(&self.objects[*at]).read());
    }
}
