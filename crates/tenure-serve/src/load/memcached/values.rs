//! What is stored under a key: its length and its bytes follow from the key, so that every answer can be checked.

use std::ops::RangeInclusive;
use std::sync::Arc;

/// Values begin at so many different places of one text.
const STARTS: usize = 4096;

/// The values of all keys.
#[derive(Debug, Clone)]
pub(super) struct Values {
    shortest: usize,
    /// Different lengths.
    lengths: u64,
    text: Arc<[u8]>,
}

impl Values {
    /// Of lengths in that range.
    pub(super) fn new(lengths: &RangeInclusive<usize>) -> Self {
        let mut random = fastrand::Rng::with_seed(0x7e40);
        let text = (0..STARTS + lengths.end()).map(|_| random.alphanumeric() as u8).collect();
        Self {
            shortest: *lengths.start(),
            lengths: (lengths.end() - lengths.start()) as u64 + 1,
            text,
        }
    }

    /// How long the value of a key is.
    #[inline]
    pub(super) fn len(&self, key: u32) -> usize {
        self.shortest + (mixed(key) % self.lengths) as usize
    }

    /// The value of a key.
    #[inline]
    pub(super) fn of(&self, key: u32) -> &[u8] {
        let start = (mixed(key) >> 32) as usize % STARTS;
        &self.text[start..start + self.len(key)]
    }
}

/// The finaliser of SplitMix64: neighbouring keys have nothing in common.
#[inline]
fn mixed(key: u32) -> u64 {
    let mut bits = (u64::from(key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fill_their_range_and_values_differ() {
        let values = Values::new(&(32..=35));
        let lengths: std::collections::BTreeSet<_> = (0..100).map(|key| values.len(key)).collect();
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [32, 33, 34, 35]);
        let distinct: std::collections::BTreeSet<_> = (0..100).map(|key| values.of(key)).collect();
        assert!(distinct.len() > 90);
        assert_eq!(Values::new(&(0..=0)).of(3), b"");
        assert_eq!(Values::new(&(32..=35)).of(9), values.of(9), "the same in every run");
    }
}
