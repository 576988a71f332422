//! Patterns of names: `*` stands for any letters, also for none.

use std::cmp::Reverse;
use std::fmt;

use wildmatch::WildMatchPattern;

/// A name in which `*` stands for any number of any characters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Glob {
    text: Box<str>,
    /// A name of debugging information may have a question mark, but no NUL.
    pattern: WildMatchPattern<'*', '\0'>,
    /// Characters that a name must have: see [`letters_of`].
    letters: u64,
}

/// Fewer stars say more; then more letters do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Specificity {
    stars: Reverse<usize>,
    letters: usize,
}

impl Specificity {
    /// What two patterns say together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { stars: Reverse(self.stars.0 + other.stars.0), letters: self.letters + other.letters }
    }
}

/// The characters that a name has, as a set in which some share a place. A name can match only if its set holds the pattern's: one
/// `and` spares most comparisons.
pub(crate) fn letters_of(name: &str) -> u64 {
    name.bytes().fold(0, |set, byte| set | 1 << (byte & 63))
}

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        let letters = text.split('*').fold(0, |set, piece| set | letters_of(piece));
        Self { text: text.into(), pattern: WildMatchPattern::new(text), letters }
    }

    /// Whether the whole name is like it.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }

    /// The same, given [`letters_of`] the name.
    pub(crate) fn matches_with(&self, letters: u64, name: &str) -> bool {
        letters & self.letters == self.letters && self.matches(name)
    }

    /// Whether it has no star.
    pub(crate) fn is_plain(&self) -> bool {
        !self.text.contains('*')
    }

    /// Whether every name is like it.
    pub(crate) fn is_any(&self) -> bool {
        &*self.text == "*"
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// How much it says.
    pub(crate) fn specificity(&self) -> Specificity {
        let stars = self.text.matches('*').count();
        Specificity { stars: Reverse(stars), letters: self.text.len() - stars }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_letters_and_for_none() {
        for (pattern, yes, no) in [
            ("lock", "lock", "locks"),
            ("lock*", "lock", "clock"),
            ("*lock", "clock", "locks"),
            ("*lock*", "clocks", "loc"),
            ("a*b*c", "abc", "acb"),
            ("a*b*c", "axbxbxc", "axbxbx"),
            ("std::atomic<*>", "std::atomic<std::pair<int, int>>", "std::atomic_flag"),
            ("ab*ba", "abba", "aba"),
            ("*", "", "\0no"),
        ] {
            let glob = Glob::new(pattern);
            assert!(glob.matches(yes), "{pattern} {yes}");
            assert!(glob.matches_with(letters_of(yes), yes), "{pattern} {yes}");
            assert_eq!(glob.matches(no), pattern == "*", "{pattern} {no}");
        }
    }

    #[test]
    fn fewer_stars_say_more_and_then_more_letters() {
        let order = ["*ref*", "*refs*", "*", "*ref", "*_refs", "ref", "refs"];
        assert!(order.is_sorted_by_key(|text| Glob::new(text).specificity()));
    }
}
