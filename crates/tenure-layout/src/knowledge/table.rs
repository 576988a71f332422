//! Patterns by name, fast to look up: most names match none.

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
pub(super) struct RuleTable<V> {
    /// Patterns without a star.
    plain: FxHashMap<Box<str>, Vec<(Precedence, V)>>,
    globs: Vec<(Glob, (Precedence, V))>,
}

impl<V> Default for RuleTable<V> {
    fn default() -> Self {
        Self { plain: FxHashMap::default(), globs: Vec::new() }
    }
}

impl<V: Copy> RuleTable<V> {
    pub(super) fn add(&mut self, glob: &Glob, precedence: Precedence, value: V) {
        if glob.is_plain() {
            self.plain.entry(glob.as_str().into()).or_default().push((precedence, value));
        } else {
            self.globs.push((glob.clone(), (precedence, value)));
        }
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = (Precedence, V)> {
        let letters = letters_of(name);
        let globs = self.globs.iter().filter(move |(glob, _)| glob.matches_with(letters, name));
        self.plain.get(name).into_iter().flatten().copied().chain(globs.map(|(_, rule)| *rule))
    }

    pub(super) fn best(&self, name: &str) -> Option<(Precedence, V)> {
        self.all(name).max_by_key(|(precedence, _)| *precedence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(layers: &[&[(&str, u8)]]) -> RuleTable<u8> {
        let mut table = RuleTable::default();
        for (layer, rules) in (0..).zip(layers) {
            for (order, (text, value)) in rules.iter().enumerate() {
                let glob = Glob::new(text);
                let precedence = Precedence { layer, specificity: glob.specificity(), order };
                table.add(&glob, precedence, *value);
            }
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
    fn all_that_is_said_is_found() {
        let table = table(&[&[("a", 1), ("*", 2), ("a<*", 3)], &[("a", 4)]]);
        let mut all: Vec<_> = table.all("a").map(|(_, value)| value).collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 4]);
    }
}
