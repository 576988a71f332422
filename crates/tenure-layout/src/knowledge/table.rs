//! Patterns by name, fast to look up: most names match none.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::rules::{Glob, Specificity, letters_of};

/// See the rules' [module](crate::rules), "Which rule wins".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Precedence {
    /// 0 for the built-in rules, then each user's file above the one before.
    pub(super) layer: u16,
    pub(super) specificity: Specificity,
    pub(super) order: usize,
}

#[derive(Debug, Clone)]
struct RuleEntry<V> {
    glob: Glob,
    precedence: Precedence,
    value: V,
}

#[derive(Debug, Clone)]
pub(super) struct RuleTable<V> {
    /// Patterns without a star, the best first.
    plain: FxHashMap<Box<str>, Vec<(Precedence, V)>>,
    /// By first byte, the lengths of plain patterns: a set of lengths modulo 64.
    lengths: Vec<u64>,
    /// The best first.
    globs: Vec<RuleEntry<V>>,
    /// By a name's first byte, the globs that may match it: a set of indices.
    by_first: Vec<u64>,
    /// By the last byte.
    by_last: Vec<u64>,
}

impl<V> Default for RuleTable<V> {
    fn default() -> Self {
        Self {
            plain: FxHashMap::default(),
            lengths: vec![0; BYTES],
            globs: Vec::new(),
            by_first: Vec::new(),
            by_last: Vec::new(),
        }
    }
}

impl<V: Copy> RuleTable<V> {
    pub(super) fn extend<'a>(&mut self, rules: impl Iterator<Item = (&'a Glob, Precedence, V)>) {
        for (glob, precedence, value) in rules {
            if glob.is_plain() {
                let name = glob.as_str();
                self.lengths[first(name)] |= length(name);
                self.plain.entry(name.into()).or_default().push((precedence, value));
            } else {
                self.globs.push(RuleEntry { glob: glob.clone(), precedence, value });
            }
        }
        for values in self.plain.values_mut() {
            values.sort_by_key(|(precedence, _)| Reverse(*precedence));
        }
        self.globs.sort_by_key(|entry| Reverse(entry.precedence));
        let begins = |glob: &Glob| glob.begin().bytes().next();
        self.by_first = sets(self.globs.iter().map(|entry| begins(&entry.glob)));
        let ends = |glob: &Glob| glob.end().bytes().next_back();
        self.by_last = sets(self.globs.iter().map(|entry| ends(&entry.glob)));
    }

    pub(super) fn best(&self, name: &str) -> Option<(Precedence, V)> {
        let plain = self.plain(name).first().copied();
        let glob = self.globs(name).next().map(|entry| (entry.precedence, entry.value));
        match (plain, glob) {
            (Some(plain), Some(glob)) => Some(if glob.0 > plain.0 { glob } else { plain }),
            (plain, glob) => plain.or(glob),
        }
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = (Precedence, V)> {
        let globs = self.globs(name).map(|entry| (entry.precedence, entry.value));
        self.plain(name).iter().copied().chain(globs)
    }

    fn plain(&self, name: &str) -> &[(Precedence, V)] {
        if self.lengths[first(name)] & length(name) == 0 {
            return &[];
        }
        self.plain.get(name).map_or(&[], Vec::as_slice)
    }

    fn globs(&self, name: &str) -> impl Iterator<Item = &RuleEntry<V>> {
        let words = self.globs.len().div_ceil(64);
        let last = usize::from(name.bytes().next_back().unwrap_or(0));
        let by_first = &self.by_first[first(name) * words..][..words];
        let by_last = &self.by_last[last * words..][..words];
        let mut letters = None;
        by_first
            .iter()
            .zip(by_last)
            .enumerate()
            .flat_map(|(word, (a, b))| bits(a & b).map(move |bit| word * 64 + bit))
            .map(|at| &self.globs[at])
            .filter(move |entry| {
                let letters = *letters.get_or_insert_with(|| letters_of(name));
                entry.glob.matches_with(letters, name)
            })
    }
}

const BYTES: usize = 256;

fn first(name: &str) -> usize {
    usize::from(name.bytes().next().unwrap_or(0))
}

fn length(name: &str) -> u64 {
    1 << (name.len() & 63)
}

/// For each byte the set of indices that have it; those without a byte are in every set.
fn sets(bytes: impl ExactSizeIterator<Item = Option<u8>>) -> Vec<u64> {
    let words = bytes.len().div_ceil(64);
    let mut sets = vec![0; BYTES * words];
    for (at, byte) in bytes.enumerate() {
        let (word, bit) = (at / 64, 1 << (at % 64));
        match byte {
            Some(byte) => sets[usize::from(byte) * words + word] |= bit,
            None => (0..BYTES).for_each(|byte| sets[byte * words + word] |= bit),
        }
    }
    sets
}

/// The indices of set bits, from the lowest.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.checked_sub(1)?;
        Some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(layers: &[&[(&str, u8)]]) -> RuleTable<u8> {
        let mut table = RuleTable::default();
        for (layer, rules) in (0..).zip(layers) {
            let globs: Vec<_> =
                rules.iter().map(|(text, value)| (Glob::new(text), *value)).collect();
            table.extend((0..).zip(&globs).map(|(order, (glob, value))| {
                (glob, Precedence { layer, specificity: glob.specificity(), order }, *value)
            }));
        }
        table
    }

    #[test]
    fn the_more_specific_pattern_wins_and_the_later_one_on_ties() {
        let table =
            table(&[&[("ref*", 1), ("*", 2), ("refs", 3), ("*fs", 4), ("*es", 5), ("*fs", 6)]]);
        for (name, value) in [("refs", 3), ("refx", 1), ("bufs", 6), ("a::<b>", 2)] {
            assert_eq!(table.best(name).unwrap().1, value, "{name}");
        }
    }

    #[test]
    fn a_user_s_star_wins_over_a_built_in_name() {
        let table = table(&[&[("refs", 1)], &[("r*", 2)]]);
        assert_eq!(table.best("refs").unwrap().1, 2);
    }

    #[test]
    fn names_of_any_length_and_patterns_of_any_number_are_found() {
        let many: Vec<_> = (0..200).map(|at| format!("p{at}_*")).collect();
        let many: Vec<_> = many.iter().map(|text| (text.as_str(), 1)).collect();
        let long = "x".repeat(200);
        let table = table(&[&many, &[(&long, 2), ("*", 3)]]);
        assert_eq!(table.best("p199_x").unwrap().1, 3);
        assert_eq!(table.all("p199_x").count(), 2);
        assert_eq!(table.best(&long).unwrap().1, 2);
        assert_eq!(table.best("").unwrap().1, 3);
        assert!(RuleTable::<u8>::default().best("").is_none());
    }

    #[test]
    fn all_that_is_said_is_found() {
        let table = table(&[&[("a", 1), ("*", 2), ("a<*", 3)], &[("a", 4)]]);
        let mut all: Vec<_> = table.all("a").map(|(_, value)| value).collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 4]);
    }
}
