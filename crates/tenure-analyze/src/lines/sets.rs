//! Disjoint sets, of lines or of instructions.

use std::collections::HashMap;
use std::hash::Hash;

/// Disjoint sets of numbers.
pub(super) struct Sets(Vec<usize>);

impl Sets {
    pub(super) fn new(len: usize) -> Self {
        Self((0..len).collect())
    }

    pub(super) fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    pub(super) fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }

    /// Unites with the member that had this key before.
    pub(super) fn join<K: Hash + Eq>(
        &mut self,
        member: usize,
        seen: &mut HashMap<K, usize>,
        key: K,
    ) {
        let first = *seen.entry(key).or_insert(member);
        self.unite(first, member);
    }
}
