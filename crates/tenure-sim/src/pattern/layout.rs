//! Where the words of a pattern lie, and which thread does what: the same whatever the host.

use super::{Copies, Operation, Pattern, PatternAccess, PatternObject};
use crate::machine::LINE_BYTES;
use std::cmp::Reverse;

/// The addresses of objects begin here, so that 0 is none.
const FIRST: usize = 1 << 20;

impl Pattern {
    /// The role of each of `cpus` threads, or fewer if no role grows. More CPUs add threads to these.
    pub(super) fn assigned(&self, cpus: usize) -> Vec<usize> {
        let mut roles: Vec<usize> = (0..self.roles.len()).collect();
        let mut counts = vec![1_u64; roles.len()];
        let pools = roles.clone().into_iter().filter(|&role| self.roles[role].share > 0);
        let pools: Vec<usize> = pools.collect();
        while roles.len() < cpus && !pools.is_empty() {
            // Webster's method: each thread goes to the role that lags most behind its share.
            let lag = |&role: &usize| {
                let share = f64::from(self.roles[role].share);
                let lag = share / (2 * counts[role] + 1) as f64;
                (lag.to_bits(), Reverse(role))
            };
            let role = pools.iter().copied().max_by_key(lag).expect("there are pools");
            counts[role] += 1;
            roles.push(role);
        }
        roles
    }

    /// The address of each object's first copy, with so many threads.
    pub(super) fn bases(&self, threads: usize) -> Vec<usize> {
        let mut next = FIRST;
        let mut bases = Vec::with_capacity(self.objects.len());
        for object in 0..self.objects.len() {
            bases.push(next + self.objects[object].phase);
            next += self.footprint(object, threads);
        }
        bases
    }

    /// Bytes of whole lines that all copies of an object take, with so many threads that use it.
    pub(super) fn footprint(&self, object: usize, threads: usize) -> usize {
        let copies = self.copies(object, threads);
        let PatternObject { stride, phase, .. } = self.objects[object];
        let bytes = phase + (copies - 1) * stride + self.extent(object);
        bytes.next_multiple_of(LINE_BYTES)
    }

    /// Bytes of one copy, up to its last word's end.
    pub(super) fn extent(&self, object: usize) -> usize {
        let words = self.words.iter().filter(|word| word.object == object);
        let end = words.map(|word| word.offset + word.bytes).max().unwrap_or(1);
        end.max(self.objects[object].stride)
    }

    /// Copies of the object, at least one.
    pub(super) fn copies(&self, object: usize, threads: usize) -> usize {
        match self.objects[object].copies {
            Copies::Once => 1,
            Copies::PerThread => threads.max(1),
            Copies::Random(copies) | Copies::InTurn(copies) => copies,
        }
    }

    /// The objects of which an iteration of the role uses a copy.
    pub(super) fn uses(&self, role: usize) -> Vec<bool> {
        let mut uses = vec![false; self.objects.len()];
        visit(&self.roles[role].steps, 1.0, &mut |access, _| {
            if !matches!(access.operation, Operation::LoadAll(_))
                && let Some(word) = access.operation.word()
            {
                uses[self.words[word].object] = true;
            }
        });
        uses
    }
}

/// Calls `each` for every step, also those within locks, with how often an iteration does it.
pub(super) fn visit<'a>(
    steps: &'a [PatternAccess],
    times: f64,
    each: &mut impl FnMut(&'a PatternAccess, f64),
) {
    for access in steps {
        let times = times * access.times;
        each(access, times);
        visit(access.operation.inside(), times, each);
    }
}
