//! Brace lists that initialize a struct by position.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::declarations::declarators;
use super::parse::{Parsed, children, descendants};

/// A list that gives members their values in their order.
pub(super) struct Positional<'t> {
    pub(super) parsed: &'t Parsed<'t>,
    pub(super) list: Node<'t>,
    /// The list is the struct's own, not that of an array or of a struct around it.
    pub(super) is_own: bool,
}

/// The lists that initialize a struct of one of some names by position, or a struct or array that has one. `{}` and `{0}` do not.
pub(super) fn positional<'t>(all: &'t [Parsed<'_>], names: &[&'t str]) -> Vec<Positional<'t>> {
    let around = around(all, names);
    let mut found = Vec::new();
    for parsed in all {
        let nodes = parsed.all(&[
            "declaration",
            "field_declaration",
            "compound_literal_expression",
            "new_expression",
        ]);
        for node in nodes {
            let Some(name) = type_name(parsed, node) else { continue };
            if !around.contains(name) {
                continue;
            }
            for (list, is_array) in lists(node) {
                let is_own = names.contains(&name);
                let mut elements = vec![list];
                if is_array {
                    // An element without braces of its own takes what its members need; `[3] = {…}` has a list.
                    elements = parts(list);
                    elements.iter_mut().for_each(|part| {
                        *part = part.child_by_field_name("value").unwrap_or(*part);
                    });
                    if is_zero(parsed, &elements) {
                        continue;
                    }
                }
                for list in elements {
                    let is_list = list.kind() == "initializer_list";
                    if !is_list || is_positional(parsed, list, !is_own) {
                        found.push(Positional { parsed, list, is_own: is_own && is_list });
                    }
                }
            }
        }
    }
    found
}

/// The lists that a declaration or an expression has, and whether they are arrays'.
fn lists<'t>(node: Node<'t>) -> Vec<(Node<'t>, bool)> {
    let list = |node: Node<'t>, field: &str| {
        let value =
            node.child_by_field_name(field).or_else(|| node.child_by_field_name("default_value"));
        value.filter(|value| value.kind() == "initializer_list")
    };
    let is_array = |declarator: Option<Node<'_>>| {
        declarator.is_some_and(|declarator| {
            matches!(
                declarator.kind(),
                "array_declarator" | "abstract_array_declarator" | "new_declarator"
            )
        })
    };
    let has_pointer = |node: Node<'_>| {
        let pointers = ["pointer_declarator", "abstract_pointer_declarator"];
        descendants(node).iter().any(|part| pointers.contains(&part.kind()))
    };
    match node.kind() {
        "declaration" => {
            let initialized = declarators(node).into_iter();
            // A list of pointers to structs initializes no struct.
            let initialized = initialized.filter(|declarator| {
                !declarator.child_by_field_name("declarator").is_some_and(has_pointer)
            });
            let lists = initialized.filter_map(|declarator| {
                Some((
                    list(declarator, "value")?,
                    is_array(declarator.child_by_field_name("declarator")),
                ))
            });
            lists.collect()
        }
        "new_expression" => list(node, "arguments")
            .map(|list| (list, is_array(node.child_by_field_name("declarator"))))
            .into_iter()
            .collect(),
        _ if node.child_by_field_name("type").is_some_and(has_pointer) => Vec::new(),
        _ => {
            let type_ = node.child_by_field_name("type");
            let declarator = type_.and_then(|type_| type_.child_by_field_name("declarator"));
            let declarator = declarator.or_else(|| node.child_by_field_name("declarator"));
            list(node, "value").map(|list| (list, is_array(declarator))).into_iter().collect()
        }
    }
}

/// The elements of a list.
pub(super) fn parts(list: Node<'_>) -> Vec<Node<'_>> {
    children(list).into_iter().filter(|part| part.is_named() && part.kind() != "comment").collect()
}

/// Whether the elements of a list are one 0.
fn is_zero(parsed: &Parsed<'_>, parts: &[Node<'_>]) -> bool {
    matches!(parts, [only] if parsed.text(*only) == "0")
}

/// Whether a list has elements without a name, but for one that is 0. The values of named ones count as well if `deep`.
fn is_positional(parsed: &Parsed<'_>, list: Node<'_>, deep: bool) -> bool {
    let parts = parts(list);
    if is_zero(parsed, &parts) {
        return false;
    }
    if let [only] = parts[..]
        && only.kind() == "initializer_list"
        && !is_positional(parsed, only, deep)
    {
        return false;
    }
    parts.iter().any(|part| {
        let named = part.kind() == "initializer_pair";
        let value = part.child_by_field_name("value");
        !named
            || deep
                && value.is_some_and(|value| {
                    value.kind() == "initializer_list" && is_positional(parsed, value, deep)
                })
    })
}

/// The names of the types that have a member of one of some types by value, and of those types.
pub(super) fn around<'t>(all: &'t [Parsed<'_>], names: &[&'t str]) -> BTreeSet<&'t str> {
    let mut found: BTreeSet<&str> = names.iter().copied().collect();
    loop {
        let before = found.len();
        for parsed in all {
            for field in parsed.all(&["field_declaration", "type_definition"]) {
                if !type_name(parsed, field).is_some_and(|name| found.contains(name)) {
                    continue;
                }
                if field.kind() == "type_definition" {
                    found.extend(declarators(field).iter().map(|name| parsed.text(*name)));
                } else if declarators(field)
                    .iter()
                    .any(|declarator| declarator.kind() != "pointer_declarator")
                {
                    let outer = std::iter::successors(field.parent(), Node::parent);
                    found.extend(outer.flat_map(|outer| own_names(parsed, outer)));
                }
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The name of a struct, and those that `typedef` gives it.
pub(super) fn own_names<'t>(parsed: &'t Parsed<'_>, struct_: Node<'t>) -> Vec<&'t str> {
    let is_struct = struct_.child_by_field_name("body").is_some();
    let own =
        struct_.child_by_field_name("name").filter(|_| is_struct).map(|name| parsed.text(name));
    let outer = struct_.parent().filter(|outer| outer.kind() == "type_definition");
    let given =
        outer.into_iter().flat_map(declarators).filter(|node| node.kind() == "type_identifier");
    own.into_iter().chain(given.map(|name| parsed.text(name))).collect()
}

/// The last name of the type that a declaration or expression has.
pub(super) fn type_name<'t>(parsed: &'t Parsed<'_>, node: Node<'t>) -> Option<&'t str> {
    let mut type_ = node.child_by_field_name("type")?;
    while let Some(inner) =
        type_.child_by_field_name("type").or_else(|| type_.child_by_field_name("name"))
    {
        type_ = inner;
    }
    Some(parsed.text(type_))
}
