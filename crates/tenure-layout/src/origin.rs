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
        let crates = model.crates().iter().map(|(name, path)| (&**name, Origin::of_file(path)));
        Self { crates: crates.collect() }
    }

    pub(crate) fn origin(&self, name: &str, declared: Option<&Declared>) -> Origin {
        let first = names::first(name);
        match (self.crates.get(first), declared) {
            _ if STANDARD.contains(&first) => Origin::Standard,
            _ if RUST.contains(&first) && !self.crates.is_empty() => Origin::Standard,
            (Some(origin), _) => *origin,
            (None, Some(at)) => Origin::of_file(&at.file),
            (None, None) if self.crates.is_empty() => Origin::Yours,
            (None, None) if first.is_empty() => Origin::Standard,
            (None, None) => Origin::Dependency,
        }
    }
}
