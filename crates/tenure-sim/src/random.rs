use crate::machine::Ps;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

/// Determined by its seed, on any host.
#[derive(Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// `end` is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.scaled(end as u64) as usize
    }

    pub(crate) fn within(&mut self, [low, high]: [Ps; 2]) -> Ps {
        if low == high { low } else { low + self.scaled(high - low + 1) }
    }

    /// From 0 to below `end`; the bias is too small for any simulation to show.
    #[allow(clippy::cast_possible_truncation, reason = "the upper half of the product fits")]
    fn scaled(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_for_all_time() {
        let mut random = Random::new(1);
        let drawn: Vec<usize> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, [811, 747, 100, 746, 184, 590, 986, 523]);
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert!((0..1000).all(|_| (5..=9).contains(&random.within([5, 9]))));
        assert_eq!(random.within([4, 4]), 4);
    }
}
