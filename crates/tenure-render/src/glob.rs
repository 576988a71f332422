//! Patterns of names: `*` stands for any letters, also for none.

use std::cmp::Reverse;
use std::fmt;

/// A name in which `*` stands for any number of any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    text: Box<str>,
    /// What stands between the stars: one piece for a plain name, else one more than there are stars.
    pieces: Box<[Box<str>]>,
    /// Characters that a name must have: see [`letters_of`].
    letters: u64,
}

/// Fewer stars say more; then more letters do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    stars: Reverse<usize>,
    letters: usize,
}

impl Specificity {
    /// Of two patterns together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { stars: Reverse(self.stars.0 + other.stars.0), letters: self.letters + other.letters }
    }
}

/// Which characters a name has, as a set in which some share a place. A name can match only if its set holds the
/// pattern's: one `and` spares most comparisons.
#[must_use]
pub fn letters_of(name: &str) -> u64 {
    name.bytes().fold(0, |set, byte| set | 1 << (byte & 63))
}

impl Glob {
    /// The pattern that the text is.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let pieces: Box<[Box<str>]> = text.split('*').map(Into::into).collect();
        let letters = pieces.iter().fold(0, |set, piece| set | letters_of(piece));
        Self { text: text.into(), pieces, letters }
    }

    /// Whether the whole name is like it.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let [first, middle @ .., last] = &*self.pieces else { return *self.text == *name };
        // The first and the last piece may not overlap.
        let Some(mut rest) =
            name.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last))
        else {
            return false;
        };
        for piece in middle {
            // The first place at which a piece fits leaves the most to those after it.
            let Some(at) = rest.find(&**piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        true
    }

    /// The same, given [`letters_of`] the name.
    #[must_use]
    pub fn matches_with(&self, letters: u64, name: &str) -> bool {
        letters & self.letters == self.letters && self.matches(name)
    }

    /// Whether it has no star.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Whether every name is like it.
    #[must_use]
    pub fn is_any(&self) -> bool {
        &*self.text == "*"
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How much it says.
    #[must_use]
    pub fn specificity(&self) -> Specificity {
        let stars = self.pieces.len() - 1;
        Specificity { stars: Reverse(stars), letters: self.text.len() - stars }
    }

    /// What comes before its first star.
    #[must_use]
    pub fn begin(&self) -> &str {
        self.pieces.first().map_or("", |piece| piece)
    }

    /// What comes after its last star.
    #[must_use]
    pub fn end(&self) -> &str {
        self.pieces.last().map_or("", |piece| piece)
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
            ("*", "", "\0no"),
        ] {
            let glob = Glob::new(pattern);
            assert!(glob.matches(yes), "{pattern} {yes}");
            assert!(glob.matches_with(letters_of(yes), yes), "{pattern} {yes}");
            assert_eq!(glob.matches(no), pattern == "*", "{pattern} {no}");
        }
    }

    #[test]
    fn the_two_ends_of_a_pattern_do_not_overlap() {
        assert!(!Glob::new("aba*aba").matches("aba"));
        assert!(!Glob::new("ab*ba").matches("aba"));
        assert!(Glob::new("ab*ba").matches("abba"));
    }

    #[test]
    fn fewer_stars_say_more_and_then_more_letters() {
        let order = ["*ref*", "*refs*", "*", "*ref", "*_refs", "ref", "refs"];
        assert!(order.is_sorted_by_key(|text| Glob::new(text).specificity()));
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        assert!(!Glob::new(&("a*".repeat(200) + "b")).matches(&"a".repeat(100_000)));
    }
}
