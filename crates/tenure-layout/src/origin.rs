//! Whose a type or variable is: the program's, a dependency's, or a standard library's.

use std::collections::HashMap;

use tenure_debuginfo::model::{Declared, Model};
use tenure_debuginfo::names;
use tenure_model::Origin;

/// Crates of Rust's own; in C++ any namespace may have such a name.
const RUST: [&str; 6] =
    ["core", "alloc", "proc_macro", "test", "panic_unwind", "compiler_builtins"];

/// Namespaces of C++'s own, and Rust's `std`.
const STANDARD: [&str; 4] = ["std", "__gnu_cxx", "__gnu_pbds", "__cxxabiv1"];

/// Where cargo keeps the sources of dependencies, and systems those of headers.
const ELSEWHERE: [&str; 5] =
    ["/registry/src/", "/git/checkouts/", "/vendor/", "/rust/deps/", "/usr/include/"];

/// Where compilers keep the sources of standard libraries.
const OF_THE_COMPILER: [&str; 4] = ["/rustc/", "/rustlib/src/", "/usr/include/c++/", "/usr/lib/"];

#[derive(Debug)]
pub(crate) struct TypeOrigins<'m> {
    /// The origin of each of Rust's crates.
    crates: HashMap<&'m str, Origin>,
}

/// Whether a type is of a standard library, by its name: what it does inside is done for all programs alike.
pub(crate) fn is_standard(model: &Model, name: &str) -> bool {
    let first = names::first(name);
    STANDARD.contains(&first) || (RUST.contains(&first) && !model.crates().is_empty())
}

impl<'m> TypeOrigins<'m> {
    pub(crate) fn of(model: &'m Model) -> Self {
        let crates = model.crates().iter().map(|(name, path)| (&**name, of_file(path)));
        Self { crates: crates.collect() }
    }

    pub(crate) fn origin(&self, name: &str, declared: Option<&Declared>) -> Origin {
        let first = names::first(name);
        match (self.crates.get(first), declared) {
            _ if STANDARD.contains(&first) => Origin::Standard,
            _ if RUST.contains(&first) && !self.crates.is_empty() => Origin::Standard,
            (Some(origin), _) => *origin,
            (None, Some(at)) => of_file(&at.file),
            (None, None) if self.crates.is_empty() => Origin::Yours,
            (None, None) if first.is_empty() => Origin::Standard,
            (None, None) => Origin::Dependency,
        }
    }
}

fn of_file(path: &str) -> Origin {
    if OF_THE_COMPILER.iter().any(|part| path.contains(part)) {
        Origin::Standard
    } else if ELSEWHERE.iter().any(|part| path.contains(part)) {
        Origin::Dependency
    } else {
        Origin::Yours
    }
}
