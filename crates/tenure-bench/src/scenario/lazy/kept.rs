//! What a seat kept is used again, without a handle, if it is still there: what a `Weak` is for.

use super::workers::{Value, Work};
use crate::scenario::{Host, Member};
use std::hint::black_box;
use tenure::lazy::{Context, Domain, Scheme, Seat};

/// A seat uses what it keeps, and leaves it.
pub(super) struct Kept<S: Scheme<M>, M: Host> {
    domain: Domain<Value<M>, S, M>,
    object: Context<Value<M>, S, M>,
}

impl<S: Scheme<M>, M: Host> Work for Kept<S, M> {
    type Own = Seat<Value<M>, S, M>;

    fn prepare() -> Self {
        let domain = Domain::new_in();
        Self { object: domain.context(Value::new()), domain }
    }
    fn own(&self, _thread: usize) -> Self::Own {
        let mut seat = self.domain.seat();
        drop(seat.enter(&self.object));
        seat
    }
    #[inline(always)]
    fn step(&self, seat: &mut Self::Own) {
        let kept = seat.lazy().expect("there is a handle");
        black_box(kept.read());
    }
    fn members(&self) -> Vec<Member> {
        vec![Member::of("value", &*self.object)]
    }
}
