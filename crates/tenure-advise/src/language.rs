//! The language of a source, by the names of its files.

use tenure_model::Language;

/// What names of files end in. A header's `.h` is C, unless another file of the program is C++.
const ENDS: [(Language, &[&str]); 6] = [
    (Language::Rust, &[".rs"]),
    (Language::Go, &[".go"]),
    (Language::Java, &[".java", ".kt", ".scala"]),
    (Language::JavaScript, &[".js", ".mjs", ".cjs", ".ts", ".mts"]),
    (Language::Cpp, &[".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".inl", ".C"]),
    (Language::C, &[".c", ".h"]),
];

/// The language of a file; `None` for any other language, and for C++ headers without an extension.
#[must_use]
pub fn of_file(path: &str) -> Option<Language> {
    let is_of = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    ENDS.iter().find(|(_, ends)| is_of(ends)).map(|(language, _)| *language)
}

/// The language of a program that has code at these lines, which are `file:line`. Libraries that it calls do not make it
/// another's: C's are everywhere, and C++'s under Java and JavaScript.
#[must_use]
pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Option<Language> {
    let files = lines.into_iter().map(|line| line.split(':').next().unwrap_or_default());
    let all: Vec<_> = files.map(of_file).collect();
    ENDS.iter().map(|(language, _)| *language).find(|language| all.contains(&Some(*language)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_files_if_it_is_known() {
        use Language::{C, Cpp, Go, Java, JavaScript, Rust};
        for (lines, expected) in [
            (&["src/main.rs:3", "malloc.c:10"][..], Some(Rust)),
            (&["thread.c:71"], Some(C)),
            (&["db/memtable.cc:20", "std_mutex.h:5"], Some(Cpp)),
            (&["main.go:11"], Some(Go)),
            (&["Counter.java:7", "os_linux.cpp:4"], Some(Java)),
            (&["server.js:11"], Some(JavaScript)),
            (&["main.zig:11"], None),
            // A program without debugging information.
            (&[], None),
        ] {
            assert_eq!(of_lines(lines.iter().copied()), expected, "{lines:?}");
        }
    }
}
