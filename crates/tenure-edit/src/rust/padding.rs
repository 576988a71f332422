//! The type that puts a value on a line of its own: how the program names it, and its text where the program has none.

use super::place::{DeclaredItem, Home, declarations, reprs, scope_at};
use super::source::RustSource;
use crate::{EditOptions, Padding};
use syn::Visibility;
use tenure_model::SourceEdit;

/// The name of a type of the program's own.
const OWN: &str = "LinePadded";
/// The member of a type of the program's own: one that no value's member is likely to be named like.
const INNER: &str = "padded";

/// The padding type, as a file names it.
pub(super) struct Padded {
    /// The last part of its path.
    pub(super) name: String,
    path: String,
    /// Of a type of the program's own: the scopes of its file that declare one.
    own: Option<Vec<Vec<Home>>>,
}

impl Padded {
    /// The type that `options` ask for. One of the program's own is that of `scope`, which may have to be written first.
    pub(super) fn new(
        source: &RustSource<'_>,
        scope: &[Home],
        options: &EditOptions,
    ) -> (Self, bool) {
        let path = match options.padding {
            Padding::Crossbeam => "crossbeam_utils::CachePadded",
            Padding::Tenure => "tenure::cache_line::CachePadded",
            Padding::Own => {
                let all = declarations(source).all;
                let here = |found: &&DeclaredItem<'_>| found.scope == scope;
                let known = all.iter().filter(here).find(|found| is_own(source, found, options));
                let name = match known {
                    Some(found) => found.ident().to_string(),
                    None => free_name(source),
                };
                let own = Some(vec![scope.to_vec()]);
                return (Self { path: name.clone(), name, own }, known.is_none());
            }
        };
        let name = "CachePadded".to_owned();
        (Self { name, path: path.to_owned(), own: None }, false)
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
        let Some((path, _)) = words.split_once('<') else { return false };
        path.rsplit("::").next() == Some(self.name.as_str())
    }
}

/// The way from one scope of a file to what another declares: empty, `super::` or `inner::`.
pub(super) fn relative(home: &[Home], from: &[Home]) -> Option<String> {
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

fn is_own(source: &RustSource<'_>, found: &DeclaredItem<'_>, options: &EditOptions) -> bool {
    let Some(item) = found.as_struct() else { return false };
    let only = item.fields.iter().next();
    item.fields.len() == 1
        && only.and_then(|field| field.ident.as_ref()).is_some_and(|ident| ident == INNER)
        && reprs(source, &item.attrs).is_ok_and(|reprs| {
            reprs.iter().any(|repr| repr.word == "align" && repr.bytes >= Some(options.line_bytes))
        })
}

fn free_name(source: &RustSource<'_>) -> String {
    let names = std::iter::once(OWN.to_owned()).chain((2..).map(|n| format!("{OWN}{n}")));
    names.into_iter().find(|name| !source.text.contains(name.as_str())).unwrap_or_default()
}

/// The declaration of a type of the program's own, behind the one that needs it.
pub(super) fn declare(
    source: &RustSource<'_>,
    behind: &DeclaredItem<'_>,
    padded: &Padded,
    seen: &str,
    options: &EditOptions,
) -> SourceEdit {
    let text = OWN_TEXT
        .replace("NAME", &padded.name)
        .replace("ALIGN", &options.line_bytes.to_string())
        .replace("SEEN ", seen);
    source.insert(behind.range.end, placed(source, behind.range.start, &text))
}

/// Text as items behind one that begins at the byte: with its indentation and the file's line ends.
pub(super) fn placed(source: &RustSource<'_>, at: usize, text: &str) -> String {
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
    let first = OWN_TEXT.lines().next().unwrap_or_default();
    let placed = |(_, words): &(u64, &str)| words.trim_start() == first;
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

const OWN_TEXT: &str = "\
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
