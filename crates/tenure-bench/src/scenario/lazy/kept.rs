//! What a local handle kept is used again, without a strong handle, if it is still there: what a `Weak` is for.

use super::workers::{Value, Work};
use crate::scenario::{Host, Member};
use std::hint::black_box;
use tenure::lazy::{Context, Domain, LocalHandle, Scheme};

/// A local handle uses what it keeps, and leaves it.
pub(super) struct Kept<S: Scheme<Memory: Host>> {
    domain: Domain<Value<S::Memory>, S>,
    object: Context<Value<S::Memory>, S>,
}

impl<S: Scheme<Memory: Host>> Work for Kept<S> {
    type Own = LocalHandle<Value<S::Memory>, S>;

    fn prepare() -> Self {
        let domain = Domain::new_in();
        Self { object: domain.context(Value::new()), domain }
    }
    fn own(&self, _thread: usize) -> Self::Own {
        let mut local = self.domain.register();
        drop(local.enter(&self.object));
        local
    }
    #[inline(always)]
    fn step(&self, local: &mut Self::Own) {
        let kept = local.lazy().expect("there is a handle");
        black_box(kept.read());
    }
    fn members(&self) -> Vec<Member> {
        vec![Member::of("value", &*self.object)]
    }
}
