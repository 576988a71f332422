//! Finds whether a program or library calls the runtime.

use std::fs::File;
use std::path::Path;

use object::{Object, ObjectSymbol, ReadCache};

/// What a file does with the runtime's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instrumentation {
    /// It does not call them.
    None,
    /// It calls a runtime that it does not have.
    Open,
    /// It calls a runtime that it has.
    Closed,
}

impl Instrumentation {
    /// Reads a file; `None` if it is no program or library, or cannot be read.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        object::File::parse(&cache).ok().map(|file| Self::of_symbols(&file))
    }

    fn of_symbols<'data>(file: &impl Object<'data>) -> Self {
        let is_ours = |name: &[u8]| name.starts_with(b"__tsan_");
        let mut symbols =
            file.dynamic_symbols().filter(|symbol| symbol.name_bytes().is_ok_and(is_ours));
        if symbols.any(|symbol| symbol.is_undefined()) {
            return Self::Open;
        }
        let mut all = file.symbols().chain(file.dynamic_symbols());
        match all.any(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(b"__tsan_init"))
        {
            true => Self::Closed,
            false => Self::None,
        }
    }
}
