//! Sets of cores.

use crate::machine::{Core, MOST_CPUS};
use std::ops::Range;

const WORDS: usize = MOST_CPUS / 64;

/// Cores that have a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sharers([u64; WORDS]);

impl Sharers {
    pub(crate) fn of(core: Core) -> Self {
        let mut set = Self([0; WORDS]);
        set.insert(core);
        set
    }

    pub(crate) fn insert(&mut self, core: Core) {
        self.0[core as usize / 64] |= 1 << (core % 64);
    }

    pub(crate) fn contains(&self, core: Core) -> bool {
        self.0[core as usize / 64] & (1 << (core % 64)) != 0
    }

    /// Whether a core of `range` but `except` is in the set.
    pub(crate) fn any_in(&self, range: Range<usize>, except: Core) -> bool {
        let mut words = range.start / 64..range.end.div_ceil(64);
        words.any(|word| {
            let mut bits = self.0[word];
            let first = word * 64;
            if range.start > first {
                bits &= u64::MAX << (range.start - first);
            }
            if range.end < first + 64 {
                bits &= !(u64::MAX << (range.end - first));
            }
            if except as usize / 64 == word {
                bits &= !(1 << (except % 64));
            }
            bits != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_sees_its_own_cores_only() {
        let mut set = Sharers::of(5);
        set.insert(130);
        assert!(set.contains(130) && !set.contains(66));
        assert!(set.any_in(0..6, 9) && !set.any_in(0..5, 9) && !set.any_in(6..130, 9));
        assert!(set.any_in(128..192, 9) && !set.any_in(128..192, 130));
        assert!(!set.any_in(64..128, 9));
        assert!(set.any_in(0..1024, 5));
    }
}
