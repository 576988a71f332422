//! A store that is made only if it changes the value.
//!
//! A store that is left out publishes nothing. A reader that acquires the value sees what the earlier, equal store published, and not
//! what this one would have. So only stores that publish nothing are guarded: plain ones, and relaxed ones of atomics. A release or
//! sequentially consistent store is refused.

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::declarations::{is_atomic, is_scalar, named};
use super::parse::{Parsed, descendants, lines};
use crate::Refusal;

/// A store, and how the same place is loaded.
struct SourceStore<'t> {
    /// The place that is stored to.
    to: Node<'t>,
    value: Node<'t>,
    /// A load, as source.
    load: String,
    is_plain: bool,
}

/// Guards the stores at a line to what has a name.
pub(super) fn tested(
    all: &[Parsed<'_>],
    at: usize,
    line: u64,
    name: &str,
) -> Result<Vec<SourceEdit>, Refusal> {
    let parsed = &all[at];
    let statements = parsed.all(&["expression_statement"]);
    let mut edits = Vec::new();
    for statement in statements.into_iter().filter(|node| lines(*node).contains(&line)) {
        let stores = statement.named_child(0).and_then(|node| store(parsed, node).transpose());
        let Some(store) =
            stores.transpose()?.filter(|store| last_name(parsed, store.to) == Some(name))
        else {
            continue;
        };
        check(all, parsed, &store, name)?;
        let guard = format!("if ({} != {}) ", store.load, parsed.text(store.value));
        let above = statement.parent().map_or("", |above| above.kind());
        let is_in_block =
            matches!(above, "compound_statement" | "case_statement" | "labeled_statement");
        let (before, after) = if is_in_block { ("", "") } else { ("{ ", " }") };
        let (start, end) = (statement.start_byte(), statement.end_byte());
        edits.push(parsed.edit(start..start, format!("{before}{guard}")));
        edits.extend((!is_in_block).then(|| parsed.edit(end..end, after.into())));
    }
    if edits.is_empty() {
        let why = if parsed.is_in_macro(line) {
            "is in a macro"
        } else {
            "is not a statement of its own here"
        };
        return Err(parsed.refuse_line(line, format!("a store to `{name}` {why}")));
    }
    Ok(edits)
}

/// The store that an expression makes.
fn store<'t>(parsed: &Parsed<'_>, node: Node<'t>) -> Result<Option<SourceStore<'t>>, Refusal> {
    if node.kind() == "assignment_expression" {
        let operator = node.child_by_field_name("operator").map(|operator| operator.kind());
        let sides = node.child_by_field_name("left").zip(node.child_by_field_name("right"));
        return Ok(sides.filter(|_| operator == Some("=")).map(|(to, value)| SourceStore {
            to,
            value,
            load: parsed.text(to).into(),
            is_plain: true,
        }));
    }
    let function = node.child_by_field_name("function");
    let Some((function, arguments)) = function.zip(node.child_by_field_name("arguments")) else {
        return Ok(None);
    };
    let arguments: Vec<_> = arguments
        .named_children(&mut arguments.walk())
        .filter(|node| node.kind() != "comment")
        .collect();
    let is_relaxed = |order: &Node<'_>| parsed.text(*order).to_lowercase().ends_with("relaxed");
    let ordered = || {
        parsed.refuse(
            node,
            "its order is not relaxed: a store that is left out publishes nothing".into(),
        )
    };
    let name = parsed.text(function);
    if function.kind() == "field_expression" && name.ends_with("store") {
        let [value, rest @ ..] = &arguments[..] else { return Ok(None) };
        let Some(order) = rest.first().filter(|order| is_relaxed(order)) else {
            return Err(ordered());
        };
        let Some(to) = function.child_by_field_name("argument") else { return Ok(None) };
        let load = format!("{}load({})", name.trim_end_matches("store"), parsed.text(*order));
        return Ok(Some(SourceStore { to, value: *value, load, is_plain: false }));
    }
    let name = name.strip_prefix("std::").unwrap_or(name);
    let load = match name {
        "atomic_store" => return Err(ordered()),
        "atomic_store_explicit" => "atomic_load_explicit",
        "__atomic_store_n" => "__atomic_load_n",
        _ => return Ok(None),
    };
    let [place, value, order] = arguments[..] else { return Ok(None) };
    if !is_relaxed(&order) {
        return Err(ordered());
    }
    let to = place.child_by_field_name("argument").filter(|_| place.kind() == "pointer_expression");
    let load = format!(
        "{}{load}({}, {})",
        parsed.text(function).trim_end_matches(name),
        parsed.text(place),
        parsed.text(order)
    );
    Ok(Some(SourceStore { to: to.unwrap_or(place), value, load, is_plain: false }))
}

/// Refuses a store whose place or value may change between the load and the store, or whose type may order it.
fn check(
    all: &[Parsed<'_>],
    parsed: &Parsed<'_>,
    store: &SourceStore<'_>,
    name: &str,
) -> Result<(), Refusal> {
    let refuse = |why: String| Err(parsed.refuse(store.to, why));
    let is_pure = descendants(store.to).into_iter().filter(Node::is_named).all(|node| {
        matches!(
            node.kind(),
            "identifier"
                | "field_identifier"
                | "namespace_identifier"
                | "qualified_identifier"
                | "field_expression"
                | "subscript_expression"
                | "subscript_argument_list"
                | "pointer_expression"
                | "parenthesized_expression"
                | "number_literal"
                | "binary_expression"
                | "this"
        )
    });
    if !is_pure {
        return refuse(format!(
            "the path to `{name}` is evaluated twice then, and may not be the same"
        ));
    }
    let value = match store.value.kind() {
        "unary_expression" => store.value.child_by_field_name("argument"),
        _ => Some(store.value),
    };
    let is_simple = value.is_some_and(|value| {
        matches!(
            value.kind(),
            "number_literal"
                | "char_literal"
                | "true"
                | "false"
                | "null"
                | "identifier"
                | "qualified_identifier"
        )
    });
    if !is_simple {
        return refuse(format!("what is stored to `{name}` is more than a number or a name"));
    }
    let is_member = store.to.kind() == "field_expression";
    let declarations = named(all, name, is_member);
    if declarations.is_empty() {
        return refuse(format!("no file that was read declares `{name}`"));
    }
    for declaration in declarations {
        if store.is_plain && is_atomic(all, declaration.text) {
            return refuse(format!(
                "`{name}` is atomic: its plain stores are sequentially consistent"
            ));
        }
        if !is_scalar(all, &declaration) {
            return refuse(format!(
                "the type of `{name}`, `{}`, is not a number or a pointer that is known",
                declaration.text
            ));
        }
    }
    Ok(())
}

/// The last name of a path: `flag` of `(*x)->y[2].flag`.
fn last_name<'t>(parsed: &'t Parsed<'_>, node: Node<'t>) -> Option<&'t str> {
    match node.kind() {
        "identifier" => Some(parsed.text(node)),
        "field_expression" => node.child_by_field_name("field").map(|field| parsed.text(field)),
        "qualified_identifier" => {
            node.child_by_field_name("name").and_then(|name| last_name(parsed, name))
        }
        "parenthesized_expression" => {
            node.named_child(0).and_then(|inner| last_name(parsed, inner))
        }
        _ => node.child_by_field_name("argument").and_then(|inner| last_name(parsed, inner)),
    }
}
