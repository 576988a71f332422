//! Edits of C and C++ sources.
//!
//! A tree-sitter parser reads a copy of the file in which attributes and annotations, which its grammars do not know everywhere, are
//! blank. Their bytes keep their places, so every edit applies to the file as it is.
//!
//! | change | what is written |
//! |---|---|
//! | [`SourceChange::MembersApart`] | each run of members that share lines, and the member after it, starts a line |
//! | [`SourceChange::TypeApart`] | the struct is aligned to lines, so its size is whole lines |
//! | [`SourceChange::VariablesApart`] | each variable, and the one that is defined next, starts a line |
//! | [`SourceChange::Order`] | members move with their comments; initializers by position get names, those of constructors move |
//! | [`SourceChange::CountPerThread`] | a count becomes a line for each thread, and a sum |
//! | [`SourceChange::TestBeforeStore`] | the store is guarded by a load: `if (x->flag != 1) x->flag = 1;` |
//!
//! Alignment is `alignas(64)` in C++. In C, and in headers that both languages include, it is `__attribute__((aligned(64)))`, which gcc
//! and clang take in every standard: `_Alignas` needs C11 and warns before it, and aligns no type. What `malloc` and `calloc` allocate
//! of such a type is aligned as well, and [`alignment_notes`] has the places of other allocators.

mod allocate;
mod apart;
mod count;
mod declarations;
mod initializers;
mod members;
mod order;
mod parse;
mod store;
mod variables;

use std::path::Path;

use tenure_model::{Language, SourceEdit};

use self::members::Struct;
use self::parse::Parsed;
use crate::{EditOptions, Refusal, SourceChange, SourcePlace};

/// A C or C++ file.
#[derive(Debug, Clone, Copy)]
pub struct SourceText<'a> {
    /// Its path.
    pub file: &'a Path,
    /// What it has.
    pub text: &'a str,
    /// C or C++.
    pub language: Language,
}

/// A place that may not align what it allocates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignmentNote {
    /// Where it allocates.
    pub place: SourcePlace,
    /// Why: a clause such as "`new` aligns to 16 bytes only, before C++17".
    pub why: String,
}

/// The edits that make a change, sorted by file and place.
///
/// `sources` has the file of the place, and every other file of the tree that mentions the names of the change: headers, and the
/// files that include them. A use in a file that is not given is not seen.
///
/// # Errors
/// Says what is not edited and why: a declaration that a macro makes, that `#if` guards or that does not parse, a bit-field, a packed
/// struct, a struct with a flexible array, or a change that C and C++ do not have.
pub fn edits(
    sources: &[SourceText<'_>],
    change: &SourceChange,
    place: &SourcePlace,
    options: &EditOptions,
) -> Result<Vec<SourceEdit>, Refusal> {
    let refusal = |why: &str| Refusal { place: place.clone(), why: why.to_string() };
    let parsed: Vec<_> = sources.iter().map(Parsed::new).collect();
    let at = parsed.iter().position(|parsed| parsed.source.file == place.file);
    let at = at.ok_or_else(|| refusal("the file is not among the sources"))?;
    let (at, line) = start(&parsed, change, at, place.line);
    let bytes = options.line_bytes;
    let mut edits = match change {
        SourceChange::MembersApart { lines } => apart::members(&parsed, at, line, lines, bytes)?,
        SourceChange::TypeApart => apart::type_(&parsed[at], line, bytes)?,
        SourceChange::VariablesApart { names } => {
            variables::apart(&parsed, at, line, names, bytes)?
        }
        SourceChange::Order { members } => order::ordered(&parsed, at, line, members)?,
        SourceChange::CountPerThread { name } => count::per_thread(&parsed, at, line, name, bytes)?,
        SourceChange::TestBeforeStore { name } => store::tested(&parsed, at, line, name)?,
        _ => return Err(refusal("C and C++ have no such edit")),
    };
    if edits.is_empty() {
        return Err(refusal("it is aligned so already"));
    }
    let names = aligned_types(&parsed, at, change, line);
    if !names.is_empty() {
        edits.extend(allocate::aligned(&parsed, &names, bytes).0);
    }
    edits.sort();
    edits.dedup();
    Ok(edits)
}

/// Where the sources allocate a type that a change aligns, and no edit aligns the memory.
#[must_use]
pub fn alignment_notes(
    sources: &[SourceText<'_>],
    change: &SourceChange,
    place: &SourcePlace,
    options: &EditOptions,
) -> Vec<AlignmentNote> {
    let parsed: Vec<_> = sources.iter().map(Parsed::new).collect();
    let Some(at) = parsed.iter().position(|parsed| parsed.source.file == place.file) else {
        return Vec::new();
    };
    let (at, line) = start(&parsed, change, at, place.line);
    let names = aligned_types(&parsed, at, change, line);
    if names.is_empty() {
        return Vec::new();
    }
    allocate::aligned(&parsed, &names, options.line_bytes).1
}

/// The file and the line that a change begins with.
fn start(parsed: &[Parsed<'_>], change: &SourceChange, at: usize, line: u64) -> (usize, u64) {
    match change {
        SourceChange::MembersApart { .. }
        | SourceChange::TypeApart
        | SourceChange::Order { .. }
        | SourceChange::CountPerThread { .. } => members::start(parsed, at, line),
        SourceChange::VariablesApart { .. }
        | SourceChange::TestBeforeStore { .. }
        | SourceChange::Borrow => (at, line),
    }
}

/// The names of the types that a change aligns.
fn aligned_types<'t>(
    all: &'t [Parsed<'_>],
    at: usize,
    change: &SourceChange,
    line: u64,
) -> Vec<&'t str> {
    let found = match change {
        SourceChange::MembersApart { lines } => members::declaring(all, at, line, lines),
        SourceChange::TypeApart => Struct::at(&all[at], line, &[])
            .map(|found| vec![members::DeclaredMembers { file: at, found, lines: Vec::new() }]),
        _ => return Vec::new(),
    };
    let names =
        |it: members::DeclaredMembers<'t>| initializers::own_names(&all[it.file], it.found.node);
    found.unwrap_or_default().into_iter().flat_map(names).collect()
}
