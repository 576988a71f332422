//! The language of a source, by its file's name.

/// Those in which a repair says what to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C or C++.
    C,
    /// Rust.
    Rust,
}

impl Language {
    /// `None` for any other language, and for headers of C++ without an ending.
    #[must_use]
    pub fn of_file(path: &str) -> Option<Self> {
        const C: [&str; 9] = [".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".inl"];
        if path.ends_with(".rs") {
            return Some(Self::Rust);
        }
        C.iter().any(|end| path.ends_with(end)).then_some(Self::C)
    }
}
