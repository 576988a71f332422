//! Places that allocate a type that is aligned to lines: malloc, and `new` before C++17, align to 16 bytes.
//!
//! `malloc(n * sizeof(T))` becomes `aligned_alloc`, and `calloc` a function that calls it: the size is a multiple of the alignment, and
//! `free` frees it. Other allocators are the program's own, so they are named in a note.

use std::collections::BTreeSet;

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::AlignmentNote;
use super::declarations::{insertion, named};
use super::initializers::{around, type_name};
use super::parse::{Parsed, descendants};

/// Declares `aligned_alloc` where the C library's header does not.
const DECLARATION: &str = "#if !defined(__cplusplus) && __STDC_VERSION__ < 201112L\nvoid *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);\n#endif\n";

/// What allocates some types, or a type that has one: the edits that align it, and notes where there is none.
pub(super) fn aligned(
    all: &[Parsed<'_>],
    names: &[&str],
    line_bytes: u64,
) -> (Vec<SourceEdit>, Vec<AlignmentNote>) {
    let types = around(all, names);
    let (mut edits, mut notes) = (Vec::new(), Vec::new());
    for parsed in all {
        let mut first: Option<(Node<'_>, bool)> = None;
        for node in parsed.all(&["call_expression", "new_expression"]) {
            let Some(how) = allocator(all, parsed, node, &types) else { continue };
            if let Some((edit, is_calloc)) = align(parsed, node, how, line_bytes) {
                edits.extend(edit);
                let needs_calloc = first.is_some_and(|(_, needs)| needs) || is_calloc;
                first = Some((first.map_or(node, |(first, _)| first), needs_calloc));
            } else {
                let place = parsed.refuse(node, String::new()).place;
                let why = match how {
                    "new" => "`new` aligns to 16 bytes only, before C++17".into(),
                    "placement new" => {
                        format!("the memory of this `new` has to be aligned to {line_bytes} bytes")
                    }
                    how => format!("`{how}` may align to 16 bytes only"),
                };
                notes.push(AlignmentNote { place, why });
            }
        }
        if let Some((node, needs_calloc)) = first {
            let calloc = if needs_calloc { include_str!("line_calloc.h") } else { "" };
            let lines = DECLARATION.to_string() + &calloc.replace("64", &line_bytes.to_string());
            edits.push(insertion(parsed, node, &lines));
        }
    }
    (edits, notes)
}

/// What allocates one of some types in an expression: a function's name, or `new`.
fn allocator<'t>(
    all: &[Parsed<'_>],
    parsed: &'t Parsed<'_>,
    node: Node<'t>,
    types: &BTreeSet<&str>,
) -> Option<&'t str> {
    if node.kind() == "new_expression" {
        let placed = node.child_by_field_name("placement").is_some();
        return type_name(parsed, node)
            .filter(|name| types.contains(name))
            .map(|_| if placed { "placement new" } else { "new" });
    }
    let function = node.child_by_field_name("function")?;
    let name = parsed.text(function);
    if let Some(of) =
        function.child_by_field_name("name").and_then(|name| name.child_by_field_name("arguments"))
    {
        let makes = name.contains("make_unique") || name.contains("make_shared");
        let of_type = descendants(of).into_iter().any(|node| types.contains(parsed.text(node)));
        return (makes && of_type).then_some("new");
    }
    let is_allocator = name.to_lowercase().contains("alloc") && !name.contains("align");
    let arguments = node.child_by_field_name("arguments").filter(|_| is_allocator)?;
    let sizes =
        descendants(arguments).into_iter().filter(|node| node.kind() == "sizeof_expression");
    sizes.into_iter().any(|size| is_of(all, parsed, size, types)).then_some(name)
}

/// Whether a `sizeof` is of one of some types: by its name, or by a pointer to it that is dereferenced.
fn is_of(all: &[Parsed<'_>], parsed: &Parsed<'_>, size: Node<'_>, types: &BTreeSet<&str>) -> bool {
    if size.child_by_field_name("type").is_some() {
        let is_pointer =
            descendants(size).iter().any(|node| node.kind() == "abstract_pointer_declarator");
        return !is_pointer && type_name(parsed, size).is_some_and(|name| types.contains(name));
    }
    let mut value = size.child_by_field_name("value");
    while let Some(inner) = value.filter(|value| value.kind() == "parenthesized_expression") {
        value = inner.named_child(0);
    }
    let Some(value) = value else { return false };
    if value.kind() == "identifier" {
        return types.contains(parsed.text(value));
    }
    let Some(pointer) = value
        .child_by_field_name("argument")
        .filter(|_| matches!(value.kind(), "pointer_expression" | "subscript_expression"))
    else {
        return false;
    };
    let is_member = pointer.kind() == "field_expression";
    let name = pointer.child_by_field_name("field").unwrap_or(pointer);
    let declarations = named(all, parsed.text(name), is_member);
    // The last declaration before the use, or else any.
    let here = declarations.iter().rfind(|found| {
        std::ptr::eq(&raw const all[found.file], parsed)
            && found.node.start_byte() < size.start_byte()
    });
    here.or(declarations.first())
        .and_then(|found| type_name(&all[found.file], found.node))
        .is_some_and(|name| types.contains(name))
}

/// The edits that align what `malloc` or `calloc` allocates, and whether it is `calloc`.
fn align(
    parsed: &Parsed<'_>,
    call: Node<'_>,
    how: &str,
    line_bytes: u64,
) -> Option<(Vec<SourceEdit>, bool)> {
    let function = call.child_by_field_name("function")?.byte_range();
    let arguments = call.child_by_field_name("arguments")?;
    match how {
        "calloc" => Some((vec![parsed.edit(function, "line_calloc".into())], true)),
        // A sum may be no multiple of the alignment.
        "malloc" if descendants(arguments).iter().all(|node| !matches!(node.kind(), "+" | "-")) => {
            let at = arguments.start_byte() + 1;
            let alignment = parsed.edit(at..at, format!("{line_bytes}, "));
            Some((vec![parsed.edit(function, "aligned_alloc".into()), alignment], false))
        }
        _ => None,
    }
}
