//! The language of a source, by the names of its files.

use tenure_model::Language;

/// The language of a file; `None` for any other language, and for C++ headers without an extension.
#[must_use]
pub fn of_file(path: &str) -> Option<Language> {
    const C: [&str; 9] = [".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".inl"];
    if path.ends_with(".rs") {
        return Some(Language::Rust);
    }
    C.iter().any(|end| path.ends_with(end)).then_some(Language::C)
}

/// The language of a program that has code at these lines, which are `file:line`. Libraries that Rust calls do not make it
/// another's.
#[must_use]
pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<Language> {
    let files = lines.into_iter().map(|line| line.split(':').next().unwrap_or_default());
    let all: Vec<_> = files.map(of_file).collect();
    // A file of a third language: neither of the two is known to be the program's.
    [Language::Rust, Language::C].into_iter().find(|language| all.contains(&Some(*language)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_files_if_it_is_known() {
        use Language::{C, Rust};
        for (lines, expected) in [
            (&["src/main.rs:3", "malloc.c:10"][..], Some(Rust)),
            (&["thread.c:71"], Some(C)),
            (&["db/memtable.cc:20", "std_mutex.h:5"], Some(C)),
            (&["main.go:11"], None),
            (&["server.js:11"], None),
            // A program without debugging information.
            (&[], None),
        ] {
            assert_eq!(of_lines(lines.iter().copied()), expected, "{lines:?}");
        }
    }
}
