//! A slot is acquired and released by the same thread at once.

use super::slots::Slots;
use crate::scenario::{Member, Operation};
use std::hint::black_box;

/// Free slots for all threads together, so that hardly one has to be made while it is measured.
pub(super) const FREE: u32 = 64;

/// Acquire and release, with so many slots in use beside.
pub(super) struct Cycle<S, const IN_USE: u32>(S);

impl<S: Slots, const IN_USE: u32> Operation for Cycle<S, IN_USE> {
    fn prepare() -> Self {
        Self(S::prepared(IN_USE, FREE))
    }
    #[inline(always)]
    fn step(&self, _retries: &mut u64) {
        self.0.release(black_box(self.0.acquire()));
    }
    fn members(&self) -> Vec<Member> {
        self.0.members()
    }
}
