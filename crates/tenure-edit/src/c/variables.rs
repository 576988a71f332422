//! Variables on lines of their own.

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::apart::align_declaration;
use super::declarations::declarators;
use super::parse::{Parsed, children, declared, descendants, is_broken, is_data, lines};
use crate::Refusal;

/// A variable's definition.
pub(super) struct Variable<'t> {
    /// The index of its file.
    pub(super) file: usize,
    pub(super) declaration: Node<'t>,
    pub(super) declarator: Node<'t>,
}

/// Aligns some variables, and the one that each file defines after each of them. Alignment alone does not keep the next variable off
/// the line, and compilers lay out small ones in the order of their definitions, mostly.
pub(super) fn apart<'t>(
    all: &'t [Parsed<'_>],
    at: usize,
    line: u64,
    names: &[String],
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let mut aligned: BTreeMap<(usize, usize), (Node<'t>, BTreeSet<usize>)> = BTreeMap::new();
    for name in names {
        let variable = Variable::named(all, at, line, name)?;
        let Variable { file, declaration, declarator } = variable;
        if names.len() == 1
            && descendants(declarator).iter().any(|node| node.kind() == "array_declarator")
        {
            let why =
                format!("`{name}` is an array: its elements share lines however it is aligned");
            return Err(all[file].refuse(declaration, why));
        }
        let siblings = declarators(declaration);
        let index = siblings.iter().position(|node| *node == declarator).unwrap_or(0);
        let mut add = |declaration: Node<'t>, index| {
            let entry = aligned.entry((file, declaration.start_byte()));
            entry.or_insert_with(|| (declaration, BTreeSet::new())).1.insert(index);
        };
        add(declaration, index);
        if index + 1 < siblings.len() {
            add(declaration, index + 1);
        } else if let Some(next) = next_definition(&all[file], declaration) {
            add(next, 0);
        }
    }
    let mut edits = Vec::new();
    for ((file, _), (declaration, indexes)) in aligned {
        edits.extend(align_declaration(&all[file], declaration, &indexes, line_bytes)?);
    }
    Ok(edits)
}

impl<'t> Variable<'t> {
    /// The definition of a variable: the one at a line, or the only one.
    pub(super) fn named(
        all: &'t [Parsed<'_>],
        at: usize,
        line: u64,
        name: &str,
    ) -> Result<Self, Refusal> {
        let mut found: Vec<Self> = Vec::new();
        for (file, parsed) in all.iter().enumerate() {
            for declaration in parsed.all(&["declaration", "field_declaration"]) {
                let of_name =
                    |node: &Node<'_>| parsed.text(declared(*node)) == name && is_data(*node);
                if let Some(declarator) = declarators(declaration).into_iter().find(of_name)
                    && is_definition(parsed, declaration, declarator)
                {
                    found.push(Self { file, declaration, declarator });
                }
            }
        }
        let is_here =
            |variable: &Self| variable.file == at && lines(variable.declaration).contains(&line);
        if found.iter().any(is_here) {
            found.retain(is_here);
        } else if found.iter().any(|variable| variable.file == at) {
            found.retain(|variable| variable.file == at);
        }
        let parsed = &all[at];
        let [_] = found[..] else {
            let why = match found.len() {
                0 if parsed.is_in_macro(line) => format!("a macro declares `{name}`"),
                0 => format!("no file that was read defines `{name}`"),
                many => format!("`{name}` is defined {many} times"),
            };
            return Err(parsed.refuse_line(line, why));
        };
        let variable = found.swap_remove(0);
        let parsed = &all[variable.file];
        let why = if is_broken(variable.declaration) {
            "is not parsed: a macro may be part of it"
        } else if is_thread_local(parsed, variable.declaration) {
            "is each thread's own"
        } else {
            return Ok(variable);
        };
        Err(parsed.refuse(variable.declaration, format!("`{name}` {why}")))
    }
}

/// Whether a declaration has a word such as `static`.
fn has_storage(parsed: &Parsed<'_>, declaration: Node<'_>, word: &str) -> bool {
    children(declaration)
        .iter()
        .any(|part| part.kind() == "storage_class_specifier" && parsed.text(*part) == word)
}

fn is_thread_local(parsed: &Parsed<'_>, declaration: Node<'_>) -> bool {
    let text = &parsed.source.text[parsed.start(declaration)..declaration.end_byte()];
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| matches!(word, "thread_local" | "_Thread_local" | "__thread"))
}

/// Whether a declaration defines a variable that is in memory for the program's whole life.
pub(super) fn is_definition(
    parsed: &Parsed<'_>,
    declaration: Node<'_>,
    declarator: Node<'_>,
) -> bool {
    let storage = |word| has_storage(parsed, declaration, word);
    if declaration.kind() == "field_declaration" {
        return storage("static") && storage("inline");
    }
    if storage("extern") {
        return declarator.kind() == "init_declarator";
    }
    // `extern "C" int x;` declares; `extern "C" { int x; }` defines.
    let above = declaration.parent();
    if above.is_some_and(|above| above.kind() == "linkage_specification") {
        return declarator.kind() == "init_declarator";
    }
    storage("static") || is_file_scope(declaration)
}

/// Whether a declaration is in no function.
pub(super) fn is_file_scope(declaration: Node<'_>) -> bool {
    let mut above = declaration.parent();
    while let Some(node) = above {
        let kind = node.kind();
        let is_scope = matches!(
            kind,
            "translation_unit"
                | "namespace_definition"
                | "declaration_list"
                | "linkage_specification"
                | "template_declaration"
        );
        if !is_scope && !kind.starts_with("preproc_") {
            return false;
        }
        above = node.parent();
    }
    true
}

/// The declaration of the variable that is defined next in the same file, outside functions.
fn next_definition<'t>(parsed: &Parsed<'_>, declaration: Node<'t>) -> Option<Node<'t>> {
    if declaration.kind() != "declaration" || !is_file_scope(declaration) {
        return None;
    }
    let mut next = declaration.next_named_sibling();
    while let Some(node) = next {
        let first = declarators(node).first().copied();
        if node.kind() == "declaration"
            && !is_broken(node)
            && first.is_some_and(|first| is_data(first) && is_definition(parsed, node, first))
            && !is_thread_local(parsed, node)
        {
            return Some(node);
        }
        next = node.next_named_sibling();
    }
    None
}
