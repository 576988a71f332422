//! Members and types on lines of their own.

use std::collections::BTreeSet;

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::declarations::{respecify, shared};
use super::initializers::own_names;
use super::members::{self, DataMember, DeclaredMembers, Struct, tail};
use super::parse::{Parsed, descendants};
use crate::Refusal;

/// Gives each run of members that may share lines its own: the run starts a line, and so does the member after it.
pub(super) fn members(
    all: &[Parsed<'_>],
    at: usize,
    line: u64,
    lines: &[Vec<String>],
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let declaring = members::declaring(all, at, line, lines)?;
    let edits = declaring.iter().map(|it| of_struct(all, it, line_bytes));
    Ok(edits.collect::<Result<Vec<_>, _>>()?.concat())
}

fn of_struct(
    all: &[Parsed<'_>],
    declared: &DeclaredMembers<'_>,
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let DeclaredMembers { file, found, lines } = declared;
    let parsed = &all[*file];
    found.check_layout(parsed)?;
    let line_of = |index: usize| {
        let is_there = |name: &&str| found.index(name) == Some(index);
        lines.iter().position(|line| line.iter().any(|name| is_there(&name.as_str())))
    };
    // What only fills the line up goes with it.
    let after =
        |index: &usize| *index >= found.members.len() || !is_filler(parsed, &found.members[*index]);
    let starts: BTreeSet<_> = (0..=found.members.len())
        .filter(|&index| index.checked_sub(1).and_then(line_of) != line_of(index))
        .filter_map(|index| match line_of(index) {
            Some(_) => Some(index),
            None => (index..=found.members.len()).find(after),
        })
        .collect();
    let mut edits = Vec::new();
    let mut done = None;
    for &index in &starts {
        let Some(member) = found.members.get(index) else {
            edits.extend(end_marker(all, parsed, found, line_bytes));
            continue;
        };
        found.check_member(parsed, member)?;
        if done != Some(member.declaration.id()) {
            done = Some(member.declaration.id());
            edits.extend(align_member(parsed, found, member, &starts, line_bytes)?);
        }
    }
    Ok(edits)
}

/// Whether a member is padding by hand: an array of bytes that is named so.
fn is_filler(parsed: &Parsed<'_>, member: &DataMember<'_>) -> bool {
    let is_array = member.declarator.is_some_and(|it| it.kind() == "array_declarator");
    let type_ = member.declaration.child_by_field_name("type").map(|it| parsed.text(it));
    let is_of_bytes = type_
        .is_some_and(|it| matches!(it, "char" | "unsigned char" | "uint8_t" | "std::byte" | "u8"));
    let is_number = |it: char| it == '_' || it.is_ascii_digit();
    let name = member.name.to_lowercase();
    is_array && is_of_bytes && matches!(name.trim_matches(is_number), "pad" | "padding")
}

/// Aligns those members of a declaration that start a line.
fn align_member(
    parsed: &Parsed<'_>,
    found: &Struct<'_>,
    member: &DataMember<'_>,
    starts: &BTreeSet<usize>,
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let declaration = member.declaration;
    if member.declarator.is_none() {
        let type_ = declaration.child_by_field_name("type").unwrap_or(declaration);
        return Ok(align_type(parsed, type_, line_bytes).into_iter().collect());
    }
    let of_declaration = |index: &usize| {
        found.members.get(*index).is_some_and(|member| member.declaration == declaration)
    };
    let first =
        found.members.iter().position(|member| member.declaration == declaration).unwrap_or(0);
    let starts: BTreeSet<_> =
        starts.iter().filter(|index| of_declaration(index)).map(|index| index - first).collect();
    align_declaration(parsed, declaration, &starts, line_bytes)
}

/// Aligns some declarators of a declaration, and splits it where they share it with others.
pub(super) fn align_declaration(
    parsed: &Parsed<'_>,
    declaration: Node<'_>,
    starts: &BTreeSet<usize>,
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let start = parsed.start(declaration);
    if parsed.declared_alignment(start..declaration.end_byte()) >= line_bytes {
        return Ok(Vec::new());
    }
    let aligned = format!("{} {}", parsed.alignment(line_bytes), shared(parsed, declaration));
    let specifiers = starts.iter().map(|index| (*index, aligned.clone())).collect();
    respecify(parsed, declaration, &specifiers)
}

/// Gives the struct at a line whole lines.
pub(super) fn type_(
    parsed: &Parsed<'_>,
    line: u64,
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let found = Struct::at(parsed, line, &[])?;
    found.check_layout(parsed)?;
    Ok(align_type(parsed, found.node, line_bytes).into_iter().collect())
}

/// Aligns a struct or union, if it is not aligned already.
fn align_type(parsed: &Parsed<'_>, type_: Node<'_>, line_bytes: u64) -> Option<SourceEdit> {
    let keyword = type_.child(0)?.end_byte();
    let body = type_.child_by_field_name("body")?;
    let head = keyword..body.start_byte();
    let declared =
        parsed.declared_alignment(head).max(parsed.declared_alignment(tail(parsed, body)));
    let text = format!(" {}", parsed.alignment(line_bytes));
    (declared < line_bytes).then(|| parsed.edit(keyword..keyword, text))
}

/// A derived class's first member may lie in the padding at a base's end, so a base that ends with the run gets a marker that takes
/// no bytes: the base's data then ends where its last line does.
fn end_marker(
    all: &[Parsed<'_>],
    parsed: &Parsed<'_>,
    found: &Struct<'_>,
    line_bytes: u64,
) -> Option<SourceEdit> {
    let names = own_names(parsed, found.node);
    let is_base = all.iter().any(|parsed| {
        parsed.all(&["base_class_clause"]).into_iter().any(|clause| {
            let names_of_bases = descendants(clause).into_iter();
            names_of_bases
                .filter(|node| node.kind() == "type_identifier")
                .any(|node| names.contains(&parsed.text(node)))
        })
    });
    if !is_base {
        return None;
    }
    let last = found.members.last()?.declaration;
    let text = parsed.source.text;
    let start = text[..last.start_byte()].rfind('\n').map_or(0, |at| at + 1);
    let after = last.end_byte();
    let end = text[after..].find('\n').map_or(text.len(), |length| after + length);
    let rest = text[after..end].trim();
    let marker = format!("__extension__ alignas({line_bytes}) char line_end_[0];");
    let is_alone = text[start..last.start_byte()].trim().is_empty()
        && (rest.is_empty() || rest.starts_with('/'));
    if !is_alone {
        return Some(parsed.edit(after..after, format!(" {marker}")));
    }
    let indent: String = text[start..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let at = start + text[start..end].trim_end().len();
    let newline = if text[..end].ends_with('\r') { "\r\n" } else { "\n" };
    Some(parsed.edit(at..at, format!("{newline}{indent}{marker}")))
}
