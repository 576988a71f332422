//! Which key is asked for next, and its value.

use std::ops::RangeInclusive;
use std::sync::Arc;

use fastrand::Rng;

/// How often each key is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keys {
    /// All alike.
    Uniform,
    /// Key `k`, counted from 1, in proportion to `1 / k^s`.
    Zipf(f64),
    /// The first alone: an object that all cores want.
    Hot,
}

#[derive(Debug, Clone)]
pub(super) enum Draw {
    Uniform(u32),
    Table(Arc<[Column]>),
    Hot,
}

/// A column of Walker's alias method. All are equally wide; what a rare key leaves belongs to another key. A draw is
/// one column and one throw, however many keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    own: f32,
    other: u32,
}

impl Draw {
    pub(super) fn new(keys: Keys, count: u32) -> Self {
        match keys {
            Keys::Uniform => Self::Uniform(count),
            Keys::Hot => Self::Hot,
            Keys::Zipf(s) => {
                let weights: Vec<f64> = (1..=count).map(|key| f64::from(key).powf(-s)).collect();
                Self::Table(columns(&weights))
            }
        }
    }

    #[inline]
    pub(super) fn next(&self, random: &mut Rng) -> u32 {
        match self {
            Self::Hot => 1,
            Self::Uniform(count) => random.u32(1..=*count),
            Self::Table(columns) => {
                let key = random.u32(..columns.len() as u32);
                let column = columns[key as usize];
                1 + if random.f32() < column.own { key } else { column.other }
            }
        }
    }
}

/// Fills the column of each rare key with a frequent one.
fn columns(weights: &[f64]) -> Arc<[Column]> {
    let width = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut left: Vec<f64> = weights.iter().map(|weight| weight / width).collect();
    let mut columns: Vec<Column> =
        (0..weights.len() as u32).map(|other| Column { own: 1.0, other }).collect();
    let (mut rare, mut frequent): (Vec<u32>, Vec<u32>) =
        (0..weights.len() as u32).partition(|&key| left[key as usize] < 1.0);
    while let (Some(small), Some(&large)) = (rare.pop(), frequent.last()) {
        let own = left[small as usize];
        columns[small as usize] = Column { own: own as f32, other: large };
        left[large as usize] -= 1.0 - own;
        if left[large as usize] < 1.0 {
            frequent.pop();
            rare.push(large);
        }
    }
    columns.into()
}

const STARTS: usize = 4096;

/// Length and bytes of a value follow from its key, so that every answer can be checked.
#[derive(Debug, Clone)]
pub(super) struct Values {
    shortest: usize,
    lengths: u64,
    text: Arc<[u8]>,
}

impl Values {
    pub(super) fn new(lengths: &RangeInclusive<usize>) -> Self {
        let mut random = fastrand::Rng::with_seed(0x7e40);
        let text = (0..STARTS + lengths.end()).map(|_| random.alphanumeric() as u8).collect();
        Self {
            shortest: *lengths.start(),
            lengths: (lengths.end() - lengths.start()) as u64 + 1,
            text,
        }
    }

    #[inline]
    pub(super) fn len(&self, key: u32) -> usize {
        self.shortest + (mixed(key) % self.lengths) as usize
    }

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

    fn shares(keys: Keys, count: u32) -> Vec<f64> {
        const DRAWS: u32 = 400_000;
        let (draw, mut random) = (Draw::new(keys, count), Rng::with_seed(7));
        let mut counts = vec![0_u32; count as usize];
        for _ in 0..DRAWS {
            counts[draw.next(&mut random) as usize - 1] += 1;
        }
        counts.into_iter().map(|count| f64::from(count) / f64::from(DRAWS)).collect()
    }

    #[test]
    fn zipf_draws_each_key_as_often_as_its_weight_says() {
        for s in [0.5, 1.0, 1.3] {
            let all: f64 = (1..=50).map(|key| f64::from(key).powf(-s)).sum();
            for (index, share) in shares(Keys::Zipf(s), 50).into_iter().enumerate() {
                let wanted = (index as f64 + 1.0).powf(-s) / all;
                // Five standard deviations, of a seed that is always the same.
                let width = 5.0 * (wanted / 400_000.0).sqrt();
                assert!((share - wanted).abs() < width, "{s}: {index} {share} {wanted}");
            }
        }
    }

    #[test]
    fn uniform_draws_all_and_hot_draws_one() {
        let uniform = shares(Keys::Uniform, 4);
        assert!(uniform.iter().all(|share| (share - 0.25).abs() < 0.01), "{uniform:?}");
        assert_eq!(shares(Keys::Hot, 3), [1.0, 0.0, 0.0]);
        assert_eq!(shares(Keys::Zipf(1.0), 1), [1.0]);
    }

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
