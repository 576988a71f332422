//! Each thread goes from one object to the next: nothing that a local handle keeps is of use.

use super::workers::{Value, Work};
use crate::scenario::Host;
use std::hint::black_box;
use tenure::lazy::{Context, Domain, LocalHandle, Scheme};

/// How many there are.
pub(super) const OBJECTS: usize = 16;

/// A local handle enters the next of the objects and leaves it.
pub(super) struct Objects<S: Scheme<Memory: Host>> {
    domain: Domain<Value<S::Memory>, S>,
    objects: [Context<Value<S::Memory>, S>; OBJECTS],
}

impl<S: Scheme<Memory: Host>> Work for Objects<S> {
    /// And where it is.
    type Own = (LocalHandle<Value<S::Memory>, S>, usize);

    fn prepare() -> Self {
        let domain = Domain::new_in();
        let objects = std::array::from_fn(|_| domain.context(Value::new()));
        Self { domain, objects }
    }
    fn own(&self, thread: usize) -> Self::Own {
        (self.domain.register(), thread)
    }
    #[inline(always)]
    fn step(&self, (local, at): &mut Self::Own) {
        *at = (*at + 1) % OBJECTS;
        black_box(local.enter(&self.objects[*at]).read());
    }
}
