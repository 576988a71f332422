//! Types that stand where the program's own types stood: how the program names them, and the text of those that are written
//! into the program.

use super::place::{DeclaredItem, Home, declarations, reprs, scope_at};
use super::source::RustSource;
use crate::{EditOptions, Padding};
use syn::Visibility;
use tenure_model::SourceEdit;

/// A type that is written into a program that is to depend on nothing.
pub(super) struct OwnType {
    name: &'static str,
    /// Its member: one that no value's member is likely to be named like.
    member: &'static str,
    text: &'static str,
}

/// A type that stands where another did, as a file names it.
pub(super) struct StandIn {
    /// The last part of its path.
    pub(super) name: String,
    path: String,
    /// Of a type of the program's own: the scopes of its file that declare one.
    own: Option<Vec<Vec<Home>>>,
}

impl StandIn {
    /// What a value is padded with. One of the program's own is that of `scope`, and may have to be written: then its text
    /// comes too.
    pub(super) fn padding(
        source: &RustSource<'_>,
        scope: &[Home],
        options: &EditOptions,
    ) -> (Self, Option<&'static OwnType>) {
        match options.padding {
            Padding::Crossbeam => Self::outside("crossbeam_utils::CachePadded"),
            Padding::Tenure => Self::outside("tenure::cache_line::CachePadded"),
            Padding::Own => Self::own(source, scope, options, &LINE_PADDED),
        }
    }

    /// What counts per thread; subtracts too, if it is a gauge.
    pub(super) fn count(
        source: &RustSource<'_>,
        scope: &[Home],
        options: &EditOptions,
        is_gauge: bool,
    ) -> (Self, Option<&'static OwnType>) {
        match options.padding {
            Padding::Tenure if is_gauge => Self::outside("tenure::counter::Gauge"),
            Padding::Tenure => Self::outside("tenure::counter::Counter"),
            // crossbeam has none.
            Padding::Crossbeam | Padding::Own => {
                Self::own(source, scope, options, &PER_THREAD_COUNT)
            }
        }
    }

    fn outside(path: &str) -> (Self, Option<&'static OwnType>) {
        let name = path.rsplit("::").next().unwrap_or(path).to_owned();
        (Self { name, path: path.to_owned(), own: None }, None)
    }

    fn own(
        source: &RustSource<'_>,
        scope: &[Home],
        options: &EditOptions,
        own: &'static OwnType,
    ) -> (Self, Option<&'static OwnType>) {
        let all = declarations(source).all;
        let mut here = all.iter().filter(|found| found.scope == scope);
        let known = here.find(|found| own.is(source, found, options));
        let name = known.map_or_else(|| own.free_name(source), |found| found.ident().to_string());
        let stand_in = Self { path: name.clone(), name, own: Some(vec![scope.to_vec()]) };
        (stand_in, known.is_none().then_some(own))
    }

    /// The same type, in a file that declares it by now.
    pub(super) fn in_file(mut self, source: &RustSource<'_>) -> Self {
        if let Some(homes) = &mut self.own {
            let all = declarations(source).all.into_iter();
            let named = all.filter(|found| found.is_type() && *found.ident() == self.name);
            *homes = named.map(|found| found.scope).collect();
        }
        self
    }

    /// The path by which code at the byte names it. A type of the program's own has none in another file.
    pub(super) fn path_at(&self, source: &RustSource<'_>, at: usize, here: bool) -> Option<String> {
        match &self.own {
            None => Some(self.path.clone()),
            Some(_) if !here => None,
            Some(homes) => {
                let scope = scope_at(source, at);
                let paths = homes.iter().filter_map(|home| relative(home, &scope));
                Some(paths.min_by_key(String::len)? + &self.path)
            }
        }
    }

    /// What takes the value out of an expression of this type.
    pub(super) fn take(&self) -> &'static str {
        if self.own.is_some() { ".padded" } else { ".into_inner()" }
    }

    pub(super) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Whether the compiler's words are about this type, or a reference to one.
    pub(super) fn is(&self, words: &str) -> bool {
        let words = words.trim_start_matches('&').trim_start();
        let words = words.strip_prefix("mut ").unwrap_or(words);
        let path = words.split_once('<').map_or(words, |(path, _)| path);
        path.rsplit("::").next() == Some(self.name.as_str())
    }
}

/// The way from one scope of a file to what another declares: empty, `super::` or `inner::`.
fn relative(home: &[Home], from: &[Home]) -> Option<String> {
    let common = home.iter().zip(from).take_while(|(one, other)| one == other).count();
    let mut path = String::new();
    for scope in &from[common..] {
        // An item of a block is not seen by modules in the block.
        let Home::Module(_) = scope else { continue };
        if matches!(home.last(), Some(Home::Block(_))) {
            return None;
        }
        path += "super::";
    }
    for scope in &home[common..] {
        let Home::Module(name) = scope else { return None };
        path = path + name + "::";
    }
    Some(path)
}

impl OwnType {
    fn is(&self, source: &RustSource<'_>, found: &DeclaredItem<'_>, options: &EditOptions) -> bool {
        let Some(item) = found.as_struct() else { return false };
        let aligned = || {
            let reprs = reprs(source, &item.attrs).unwrap_or_default();
            reprs.iter().any(|repr| repr.bytes >= Some(options.line_bytes))
        };
        found.ident().to_string().starts_with(self.name)
            && item
                .fields
                .iter()
                .any(|field| field.ident.as_ref().is_some_and(|ident| ident == self.member))
            && (self.member != LINE_PADDED.member || aligned())
    }

    fn free_name(&self, source: &RustSource<'_>) -> String {
        let numbered = (2..).map(|n| format!("{}{n}", self.name));
        let mut names = std::iter::once(self.name.to_owned()).chain(numbered);
        names.find(|name| !source.text.contains(name.as_str())).unwrap_or_default()
    }

    /// Its declaration, behind the one that needs it. `seen` is what [`seen_by`] gives.
    pub(super) fn declare(
        &self,
        source: &RustSource<'_>,
        behind: &DeclaredItem<'_>,
        stand_in: &StandIn,
        seen: &str,
        options: &EditOptions,
    ) -> SourceEdit {
        let text = self
            .text
            .replace("NAME", &stand_in.name)
            .replace("ALIGN", &options.line_bytes.to_string())
            .replace("SEEN ", seen);
        source.insert(behind.range.end, placed(source, behind.range.start, &text))
    }
}

/// Text as items behind one that begins at the byte: with its indentation and the file's line ends.
fn placed(source: &RustSource<'_>, at: usize, text: &str) -> String {
    let (indent, newline) = (source.indent(at), source.newline());
    let mut placed = newline.to_owned();
    for line in text.lines() {
        placed += newline;
        if !line.is_empty() {
            placed = placed + indent + line;
        }
    }
    placed
}

/// The line, before anything was [placed], of one that has this number now.
pub(super) fn line_before(before: &str, now: &str, line: u64) -> u64 {
    let placed = |(_, words): &(u64, &str)| {
        let first = |own: &OwnType| own.text.lines().next() == Some(words.trim_start());
        first(&LINE_PADDED) || first(&PER_THREAD_COUNT)
    };
    let all: Vec<u64> = (1..).zip(now.lines()).filter(placed).map(|(line, _)| line).collect();
    let added = now.lines().count().saturating_sub(before.lines().count()) as u64;
    let above = all.iter().filter(|start| **start < line).count() as u64;
    line - (added * above).checked_div(all.len() as u64).unwrap_or(0)
}

/// What a new type is declared with, so that all see it who see these: empty, or a word and a blank.
pub(super) fn seen_by<'a>(
    all: impl Iterator<Item = &'a Visibility>,
    source: &RustSource<'_>,
) -> String {
    let all = all.filter(|seen| !matches!(seen, Visibility::Inherited));
    let mut words: Vec<&str> = all.map(|seen| source.of(seen)).collect();
    words.dedup();
    match words[..] {
        [] => String::new(),
        [one] => format!("{one} "),
        _ if words.contains(&"pub") => "pub ".to_owned(),
        _ => "pub(crate) ".to_owned(),
    }
}

const LINE_PADDED: OwnType = OwnType { name: "LinePadded", member: "padded", text: PADDED_TEXT };
const PER_THREAD_COUNT: OwnType =
    OwnType { name: "PerThreadCount", member: "cells", text: COUNT_TEXT };

const PADDED_TEXT: &str = "\
/// A value on cache lines of its own.
#[repr(C, align(ALIGN))]
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
SEEN struct NAME<T> {
    SEEN padded: T,
}

impl<T> NAME<T> {
    /// Puts `padded` on lines of its own.
    SEEN const fn new(padded: T) -> Self {
        Self { padded }
    }
}

impl<T> From<T> for NAME<T> {
    fn from(padded: T) -> Self {
        Self::new(padded)
    }
}

impl<T> core::ops::Deref for NAME<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.padded
    }
}

impl<T> core::ops::DerefMut for NAME<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.padded
    }
}

impl<T: core::fmt::Debug> core::fmt::Debug for NAME<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.padded.fmt(f)
    }
}

impl<T: core::fmt::Display> core::fmt::Display for NAME<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.padded.fmt(f)
    }
}
";

const COUNT_TEXT: &str = "\
/// A count that every thread adds to on cache lines of its own: threads share a cell once more than 64 have added.
SEEN struct NAME {
    cells: [NAMECell; 64],
}

#[repr(align(ALIGN))]
struct NAMECell(core::sync::atomic::AtomicU64);

impl NAME {
    /// A count of 0.
    SEEN const fn new() -> Self {
        #[allow(clippy::declare_interior_mutable_const)]
        const ZERO: NAMECell = NAMECell(core::sync::atomic::AtomicU64::new(0));
        Self { cells: [ZERO; 64] }
    }

    /// Adds `n`, and wraps around.
    SEEN fn add(&self, n: u64) {
        use core::sync::atomic::{AtomicUsize, Ordering};
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        std::thread_local!(static CELL: usize = THREADS.fetch_add(1, Ordering::Relaxed) % 64);
        CELL.with(|&cell| self.cells[cell].0.fetch_add(n, Ordering::Relaxed));
    }

    /// What all threads added.
    SEEN fn sum(&self) -> u64 {
        let cells = self.cells.iter();
        let counts = cells.map(|cell| cell.0.load(core::sync::atomic::Ordering::Relaxed));
        counts.fold(0, u64::wrapping_add)
    }
}

impl Default for NAME {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for NAME {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.sum().fmt(f)
    }
}
";
