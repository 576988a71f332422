//! Declarations of a name in every file, and their types.

use std::collections::BTreeMap;

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::parse::{Parsed, children, declared, is_data};
use crate::Refusal;

/// A declaration of a variable, a parameter or a member.
pub(super) struct DataDeclaration<'t> {
    /// The index of its file.
    pub(super) file: usize,
    pub(super) node: Node<'t>,
    pub(super) declarator: Node<'t>,
    /// What stands before the first declarator.
    pub(super) text: &'t str,
}

/// The declarators of a declaration.
pub(super) fn declarators(declaration: Node<'_>) -> Vec<Node<'_>> {
    declaration.children_by_field_name("declarator", &mut declaration.walk()).collect()
}

/// What all declarators of a declaration share: `static const char`.
pub(super) fn shared<'t>(parsed: &'t Parsed<'_>, declaration: Node<'_>) -> &'t str {
    let first = declarators(declaration).first().map_or(declaration.end_byte(), Node::start_byte);
    parsed.source.text[parsed.start(declaration)..first].trim_end()
}

/// Gives some declarators of a declaration other specifiers, each by its index, and splits it where they share it with others.
pub(super) fn respecify(
    parsed: &Parsed<'_>,
    declaration: Node<'_>,
    specifiers: &BTreeMap<usize, String>,
) -> Result<Vec<SourceEdit>, Refusal> {
    let declarators = declarators(declaration);
    let shared = shared(parsed, declaration);
    let start = parsed.start(declaration);
    let mut edits = Vec::new();
    match specifiers.get(&0) {
        Some(own) if own.ends_with(shared) => {
            edits.push(parsed.edit(start..start, own[..own.len() - shared.len()].into()));
        }
        Some(own) => edits.push(parsed.edit(start..start + shared.len(), own.clone())),
        None => {}
    }
    let commas = children(declaration).into_iter().filter(|child| child.kind() == ",");
    for (index, comma) in (1..declarators.len()).zip(commas) {
        let own = specifiers.get(&index);
        if own.is_none() && !specifiers.contains_key(&(index - 1)) {
            continue;
        }
        if shared.contains('{') {
            let why = "its type is declared with several members at once".into();
            return Err(parsed.refuse(declaration, why));
        }
        edits.push(parsed.edit(comma.byte_range(), ";".into()));
        let next = declarators[index].start_byte();
        edits.push(parsed.edit(next..next, format!("{} ", own.map_or(shared, String::as_str))));
    }
    Ok(edits)
}

/// Inserts lines before the outermost declaration that has a node and its comments, indented and ended as the file's lines are.
pub(super) fn insertion(parsed: &Parsed<'_>, node: Node<'_>, lines: &str) -> SourceEdit {
    let text = parsed.source.text;
    let is_top =
        |node: &Node<'_>| node.kind() == "translation_unit" || node.kind().starts_with("preproc_");
    let mut outer = node;
    while let Some(above) = outer.parent().filter(|above| !is_top(above)) {
        outer = above;
    }
    while let Some(before) = outer.prev_sibling().filter(|before| {
        before.kind() == "comment" && before.end_position().row + 1 == outer.start_position().row
    }) {
        outer = before;
    }
    let start = text[..parsed.start(outer)].rfind('\n').map_or(0, |at| at + 1);
    let lines = if text.contains("\n\t") { lines.replace("    ", "\t") } else { lines.into() };
    let lines = if text.contains("\r\n") { lines.replace('\n', "\r\n") } else { lines };
    parsed.edit(start..start, lines)
}

/// The declarations of a name as data: as a member of a struct, or else as a variable or parameter, which members of classes are
/// too.
pub(super) fn named<'t>(
    all: &'t [Parsed<'_>],
    name: &str,
    is_member: bool,
) -> Vec<DataDeclaration<'t>> {
    let kinds = ["field_declaration", "declaration", "parameter_declaration"];
    let kinds = if is_member { &kinds[..1] } else { &kinds };
    let mut found = Vec::new();
    for (file, parsed) in all.iter().enumerate() {
        for node in parsed.all(kinds) {
            let of_name = |declarator: &Node<'_>| {
                parsed.text(declared(*declarator)) == name && is_data(*declarator)
            };
            if let Some(declarator) = declarators(node).into_iter().find(of_name) {
                found.push(DataDeclaration { file, node, declarator, text: shared(parsed, node) });
            }
        }
    }
    found
}

/// What a type's name is defined as: by `typedef`, `using` or `enum`.
fn definition<'t>(all: &'t [Parsed<'_>], name: &str) -> Option<(&'t Parsed<'t>, Node<'t>)> {
    all.iter().find_map(|parsed| {
        let nodes = parsed.all(&["type_definition", "alias_declaration", "enum_specifier"]);
        let named = |node: &Node<'_>| {
            let own = node.child_by_field_name("name").into_iter().chain(declarators(*node));
            own.into_iter().any(|own| parsed.text(own) == name)
        };
        nodes.into_iter().find(named).map(|node| (parsed, node))
    })
}

/// Whether a type is atomic, by its text or by that of what it names.
pub(super) fn is_atomic(all: &[Parsed<'_>], text: &str) -> bool {
    let atomic = |text: &str| text.replace("sig_atomic_t", "").to_lowercase().contains("atomic");
    atomic(text)
        || names(text).any(|name| {
            definition(all, name).is_some_and(|(parsed, node)| atomic(parsed.text(node)))
        })
}

/// Words of a type's text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a declaration is of a pointer, an enumeration or an integer.
pub(super) fn is_scalar(all: &[Parsed<'_>], declaration: &DataDeclaration<'_>) -> bool {
    is_pointer(declaration.declarator) || is_integer(all, declaration.node, declaration.text)
}

fn is_pointer(declarator: Node<'_>) -> bool {
    match declarator.kind() {
        "pointer_declarator" => true,
        "init_declarator" | "array_declarator" => {
            declarator.child_by_field_name("declarator").is_some_and(is_pointer)
        }
        _ => false,
    }
}

/// Whether a declaration's type is an integer or an enumeration; `text` is all of the type.
pub(super) fn is_integer(all: &[Parsed<'_>], declaration: Node<'_>, text: &str) -> bool {
    let Some(type_) = declaration.child_by_field_name("type") else { return false };
    if names(text).any(|word| matches!(word, "float" | "double" | "void")) {
        return false;
    }
    let is_known = |name: &str| {
        is_qualifier(name)
            || is_integer_name(name)
            || definition(all, name).is_some_and(|(parsed, node)| {
                node.kind() == "enum_specifier"
                    || !declarators(node).into_iter().any(is_pointer)
                        && is_integer(
                            all,
                            node,
                            parsed.text(node.child_by_field_name("type").unwrap_or(node)),
                        )
            })
    };
    match type_.kind() {
        "primitive_type" | "sized_type_specifier" | "enum_specifier" => true,
        "type_identifier" | "qualified_identifier" | "template_type" => names(text).all(is_known),
        "type_descriptor" => is_integer(all, type_, text),
        _ => false,
    }
}

fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "static" | "volatile" | "extern" | "mutable" | "inline" | "_Atomic" | "std" | "typedef"
    )
}

/// Whether a name of the standard libraries is an integer's.
fn is_integer_name(name: &str) -> bool {
    let name = name.strip_prefix("atomic_").unwrap_or(name);
    let bits =
        name.trim_start_matches('u').strip_prefix("int").and_then(|name| name.strip_suffix("_t"));
    bits.is_some_and(|bits| {
        bits.trim_start_matches("_fast").trim_start_matches("_least").parse::<u8>().is_ok()
            || matches!(bits, "ptr" | "max")
    }) || matches!(
        name,
        "atomic"
            | "size_t"
            | "ssize_t"
            | "ptrdiff_t"
            | "sig_atomic_t"
            | "time_t"
            | "off_t"
            | "pid_t"
            | "bool"
            | "char"
            | "int"
            | "uint"
            | "short"
            | "ushort"
            | "long"
            | "ulong"
            | "llong"
            | "ullong"
            | "unsigned"
            | "signed"
    )
}
