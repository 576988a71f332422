//! Members in another order, of structs whose order the program sets: `repr(C)`.

use super::apart::fields_of;
use super::place::{DeclaredItem, declarations, refuse_foreign, reprs};
use super::source::RustSource;
use crate::{Refusal, SourcePlace};
use std::ops::Range;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Fields, GenericArgument, Path, PathArguments, Token, Type};
use tenure_model::SourceEdit;

/// Derives that mean the same in any order; the others, and those of other crates, may not.
const ORDERLESS: [&str; 7] = ["Clone", "Copy", "Debug", "Default", "Eq", "LineLayout", "PartialEq"];

/// Moves the members, each with its comments and attributes.
pub(super) fn order(
    source: &RustSource<'_>,
    members: &[String],
    place: &SourcePlace,
) -> Result<Vec<SourceEdit>, Refusal> {
    let all = declarations(source);
    let found = all.type_at(place, members)?;
    let fields = fields_of(source, found, members)?;
    let start = found.range.start;
    let name = found.ident();
    if !reprs(source, found.attrs())?.iter().any(|repr| repr.word == "C") {
        let why = format!("rustc orders the members of `{name}` by itself: it is not `repr(C)`");
        return Err(source.refuse(start, why));
    }
    refuse_foreign(source, found)?;
    refuse_derives(source, found)?;
    let Some(Fields::Named(named)) = found.as_struct().map(|item| &item.fields) else {
        return Err(
            source.refuse(start, format!("the members of `{name}` are named by their order"))
        );
    };
    if fields.len() != named.named.len() {
        return Err(source.refuse(start, format!("the order leaves out members of `{name}`")));
    }
    if fields.iter().map(|(at, _)| *at).is_sorted() {
        return Err(
            source.refuse(start, format!("the members of `{name}` are in this order already"))
        );
    }
    let mut dropped = fields.iter().filter(|(_, field)| !is_plain(&field.ty)).map(|(at, _)| *at);
    if !dropped.by_ref().is_sorted() {
        let why = format!(
            "members of `{name}` that may do something when dropped would be dropped in another order"
        );
        return Err(source.refuse(start, why));
    }
    let pieces = pieces(source, named);
    let whole = pieces.first().map_or(start, |piece| piece.field.start)
        ..pieces.last().map_or(start, |piece| piece.end);
    let mut text = String::new();
    for (count, (at, _)) in fields.iter().enumerate() {
        let piece = &pieces[*at];
        let comma = if named.named.trailing_punct() || count + 1 < fields.len() { "," } else { "" };
        text =
            text + &source.text[piece.field.clone()] + comma + &source.text[piece.comma..piece.end];
    }
    Ok(vec![source.replace(whole, text)])
}

/// A member with what belongs to it.
struct MovedMember {
    /// From the end of the one before: comments above it, attributes, name and type.
    field: Range<usize>,
    /// The end of its comma.
    comma: usize,
    /// The end of the comment on the rest of its line.
    end: usize,
}

fn pieces(source: &RustSource<'_>, named: &syn::FieldsNamed) -> Vec<MovedMember> {
    let mut done = rest_of_line(source, source.bytes(named.brace_token.span.open()).end);
    let mut pieces = Vec::new();
    for pair in named.named.pairs() {
        let field = done..source.range(pair.value()).end;
        let comma = pair.punct().map_or(field.end, |comma| source.range(comma).end);
        done = rest_of_line(source, comma);
        pieces.push(MovedMember { field, comma, end: done });
    }
    pieces
}

/// The end of the line, if nothing but a comment is on the rest of it.
fn rest_of_line(source: &RustSource<'_>, at: usize) -> usize {
    let line = source.text[at..].split(['\r', '\n']).next().unwrap_or_default();
    let rest = line.trim();
    let is_comment = rest.is_empty()
        || rest.starts_with("//") && !rest.starts_with("///")
        || rest.starts_with("/*") && rest.find("*/") == Some(rest.len() - 2);
    if is_comment { at + line.len() } else { at }
}

fn refuse_derives(source: &RustSource<'_>, found: &DeclaredItem<'_>) -> Result<(), Refusal> {
    for attr in found.attrs() {
        let start = source.range(attr).start;
        if attr.path().is_ident("cfg_attr") && source.of(attr).contains("derive") {
            return Err(source.refuse(start, "a derive is under a condition"));
        }
        if !attr.path().is_ident("derive") {
            continue;
        }
        let paths = attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
        for path in paths.into_iter().flatten() {
            let last = path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            if !ORDERLESS.contains(&last.as_str()) {
                let why = format!("`derive({last})` may depend on the order of members");
                return Err(source.refuse(source.range(&path).start, why));
            }
        }
    }
    Ok(())
}

/// Whether nothing happens when a value of the type is dropped, as far as its name shows.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Reference(_) | Type::Ptr(_) | Type::Never(_) => true,
        Type::Array(array) => is_plain(&array.elem),
        Type::Paren(inner) => is_plain(&inner.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_plain),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return false };
            let name = last.ident.unraw().to_string();
            let number = name.trim_start_matches(['u', 'i', 'f']);
            let is_number = number == "size" || number.parse::<u8>().is_ok();
            let of_others = ["Cell", "UnsafeCell", "Option", "CachePadded", "LinePadded"];
            let all_plain = || match &last.arguments {
                PathArguments::AngleBracketed(arguments) => arguments.args.iter().all(
                    |argument| matches!(argument, GenericArgument::Type(inner) if is_plain(inner)),
                ),
                _ => false,
            };
            is_number
                || [
                    "bool",
                    "char",
                    "PhantomData",
                    "ManuallyDrop",
                    "MaybeUninit",
                    "NonNull",
                    "Duration",
                    "Instant",
                ]
                .contains(&name.as_str())
                || name.starts_with("Atomic")
                || name.starts_with("NonZero")
                || of_others.contains(&name.as_str()) && all_plain()
        }
        _ => false,
    }
}
