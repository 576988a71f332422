//! Patterns by name, fast to ask: most names match none.

use rustc_hash::FxHashMap;

use crate::rules::{Glob, Specificity, is_identifier_byte, letters_of};

/// Which rules come first: see the rules' [module](crate::rules), "Which rule wins".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Precedence {
    /// Whose rules they are: 0 for the built-in ones, then each user's above the one before.
    pub(super) layer: u16,
    /// Of the pattern as a whole.
    pub(super) specificity: Specificity,
    /// Its place among the rules of its kind.
    pub(super) order: usize,
}

#[derive(Debug, Clone)]
struct Entry<V> {
    glob: Glob,
    precedence: Precedence,
    value: V,
}

/// What patterns say of names.
#[derive(Debug, Clone)]
pub(super) struct Table<V> {
    /// Patterns without a star, the best first.
    plain: FxHashMap<Box<str>, Vec<(Precedence, V)>>,
    /// Patterns that are all letters of identifiers, the best first.
    identifiers: Vec<Entry<V>>,
    /// Those that have brackets, colons, …: plain identifiers need not look at them.
    others: Vec<Entry<V>>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { plain: FxHashMap::default(), identifiers: Vec::new(), others: Vec::new() }
    }
}

impl<V: Copy> Table<V> {
    /// Adds patterns.
    pub(super) fn extend<'a>(&mut self, rules: impl Iterator<Item = (&'a Glob, Precedence, V)>) {
        for (glob, precedence, value) in rules {
            if glob.is_plain() {
                self.plain.entry(glob.as_str().into()).or_default().push((precedence, value));
            } else if glob.is_identifier() {
                self.identifiers.push(Entry { glob: glob.clone(), precedence, value });
            } else {
                self.others.push(Entry { glob: glob.clone(), precedence, value });
            }
        }
        for values in self.plain.values_mut() {
            values.sort_by_key(|(precedence, _)| std::cmp::Reverse(*precedence));
        }
        for list in [&mut self.identifiers, &mut self.others] {
            list.sort_by_key(|entry| std::cmp::Reverse(entry.precedence));
        }
    }

    /// What the rule that wins says of a name.
    pub(super) fn best(&self, name: &str) -> Option<(Precedence, V)> {
        let mut best = self.plain.get(name).and_then(|values| values.first()).copied();
        self.each_list(name, |letters, list| {
            for entry in list {
                if best.is_some_and(|(precedence, _)| precedence > entry.precedence) {
                    break;
                }
                if entry.glob.matches_with(letters, name) {
                    best = Some((entry.precedence, entry.value));
                    break;
                }
            }
        });
        best
    }

    /// Everything that is said of a name, in no particular order.
    pub(super) fn all(&self, name: &str, mut each: impl FnMut(Precedence, V)) {
        for &(precedence, value) in self.plain.get(name).into_iter().flatten() {
            each(precedence, value);
        }
        self.each_list(name, |letters, list| {
            for entry in list.iter().filter(|entry| entry.glob.matches_with(letters, name)) {
                each(entry.precedence, entry.value);
            }
        });
    }

    fn each_list(&self, name: &str, mut each: impl FnMut(u64, &[Entry<V>])) {
        if self.identifiers.is_empty() && self.others.is_empty() {
            return;
        }
        let letters = letters_of(name);
        each(letters, &self.identifiers);
        if !self.others.is_empty() && !name.bytes().all(is_identifier_byte) {
            each(letters, &self.others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(layers: &[&[(&str, u8)]]) -> Table<u8> {
        let mut table = Table::default();
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
    fn all_that_is_said_is_found() {
        let table = table(&[&[("a", 1), ("*", 2), ("a<*", 3)], &[("a", 4)]]);
        let mut all = Vec::new();
        table.all("a", |_, value| all.push(value));
        all.sort_unstable();
        assert_eq!(all, [1, 2, 4]);
    }
}
