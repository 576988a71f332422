//! Additions that are counted per thread.
//!
//! The count becomes an array of cells, one line each. A thread adds to the cell of its number, and a read sums the cells. In C++ the
//! count is a class with the operations of a number, or of an atomic one, that only add or read, and void results: whatever else the
//! program does with the count does not compile. In C each use is rewritten, and one that neither adds nor reads is refused.
//!
//! An addition is a release and a read acquires, so a reader sees what a thread did before an addition that it sees. What is lost is
//! the one order of all additions: two readers may see them in different orders. The cells are kept apart by bytes, not by alignment,
//! so no allocator has to know.

use std::collections::{BTreeMap, BTreeSet};

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::declarations::{DataDeclaration, declarators, insertion, is_integer, named, respecify};
use super::initializers::{own_names, positional};
use super::members::Struct;
use super::parse::{Parsed, children, declared, is_broken};
use super::variables::{is_definition, is_file_scope};
use crate::Refusal;

/// Counts a member of the struct at a line, or a variable, per thread.
pub(super) fn per_thread(
    all: &[Parsed<'_>],
    at: usize,
    line: u64,
    name: &str,
    line_bytes: u64,
) -> Result<Vec<SourceEdit>, Refusal> {
    let parsed = &all[at];
    let member = Struct::at(parsed, line, &[name.to_string()]).ok();
    let is_member = member.is_some();
    let declarations = declarations(all, parsed, line, name, member.as_ref())?;
    let is_cpp = parsed.is_cpp();
    let mut edits = Vec::new();
    for declaration in &declarations {
        edits.extend(declare(all, declaration, name, is_cpp)?);
    }
    let files: BTreeSet<usize> = declarations.iter().map(|declaration| declaration.file).collect();
    for file in files {
        let first = declarations.iter().find(|declaration| declaration.file == file);
        edits.extend(first.map(|first| helper(&all[file], first.node, is_cpp, line_bytes)));
    }
    if !is_cpp {
        if let Some(found) = &member
            && let Some(list) = positional(all, &own_names(parsed, found.node)).first()
        {
            return Err(list
                .parsed
                .refuse(list.list, format!("it initializes `{name}` by position")));
        }
        let type_ = number_type(parsed, &declarations[0]);
        for parsed in all {
            edits.extend(uses(parsed, name, is_member, &type_)?);
        }
    }
    Ok(edits)
}

/// All declarations of the count; its name has to be its own.
fn declarations<'t>(
    all: &'t [Parsed<'_>],
    parsed: &Parsed<'_>,
    line: u64,
    name: &str,
    member: Option<&Struct<'t>>,
) -> Result<Vec<DataDeclaration<'t>>, Refusal> {
    let mut declarations = named(all, name, member.is_some());
    if member.is_none() {
        // A static member of a class, and not a member of its objects.
        declarations.retain(|found| {
            found.node.kind() != "field_declaration" || is_static(&all[found.file], found.node)
        });
    }
    if declarations.is_empty() {
        let why = if parsed.is_in_macro(line) {
            "a macro declares"
        } else {
            "no file that was read declares"
        };
        return Err(parsed.refuse_line(line, format!("{why} `{name}`")));
    }
    if let Some(found) = member {
        let index = found.index(name).unwrap_or(0);
        let own = &found.members[index];
        found.check_member(parsed, own)?;
        let is_own = |other: &DataDeclaration<'_>| other.node == own.declaration;
        if parsed.is_cpp() {
            declarations.retain(is_own);
        } else if let Some(other) = declarations.iter().find(|other| !is_own(other)) {
            let why = format!(
                "another member is called `{name}`, and which one a use is of is not known"
            );
            return Err(all[other.file].refuse(other.node, why));
        }
        return Ok(declarations);
    }
    let is_local = |found: &DataDeclaration<'_>| {
        found.node.kind() != "field_declaration" && !is_file_scope(found.node)
    };
    let other = if parsed.is_cpp() {
        // A local variable of this name keeps its type, and so do its uses.
        declarations.retain(|found| !is_local(found));
        None
    } else {
        declarations.iter().find(|found| is_local(found))
    };
    let defines = |found: &&DataDeclaration<'_>| {
        is_definition(&all[found.file], found.node, found.declarator)
    };
    if let Some(other) = other.or_else(|| declarations.iter().filter(defines).nth(1)) {
        let why =
            format!("another variable is called `{name}`, and which one a use is of is not known");
        return Err(all[other.file].refuse(other.node, why));
    }
    Ok(declarations)
}

fn is_static(parsed: &Parsed<'_>, declaration: Node<'_>) -> bool {
    children(declaration).iter().any(|part| parsed.text(*part) == "static")
}

/// Declares the count as cells.
fn declare(
    all: &[Parsed<'_>],
    declaration: &DataDeclaration<'_>,
    name: &str,
    is_cpp: bool,
) -> Result<Vec<SourceEdit>, Refusal> {
    let parsed = &all[declaration.file];
    let refuse = |why: &str| Err(parsed.refuse(declaration.node, format!("`{name}` {why}")));
    let plain = match declaration.declarator.kind() {
        "init_declarator" => declaration
            .declarator
            .child_by_field_name("declarator")
            .unwrap_or(declaration.declarator),
        _ => declaration.declarator,
    };
    if is_broken(declaration.node) {
        return refuse("is not parsed: a macro may be part of it");
    }
    if !matches!(plain.kind(), "identifier" | "field_identifier" | "qualified_identifier")
        || !is_integer(all, declaration.node, declaration.text)
        || declaration.text.contains("bool")
    {
        return refuse("is not an integer that is known");
    }
    let mut edits = Vec::new();
    if !is_cpp && let Some(value) = declaration.declarator.child_by_field_name("value") {
        if parsed.text(value).trim_end_matches(['u', 'U', 'l', 'L']) != "0" {
            return refuse("starts with another number than 0");
        }
        edits.push(parsed.edit(plain.end_byte()..value.end_byte(), String::new()));
    }
    // Storage and what else is not of the type.
    let kept = |part: &Node<'_>| {
        matches!(part.kind(), "storage_class_specifier" | "attribute_declaration")
            || part.kind() == "type_qualifier" && matches!(parsed.text(*part), "mutable" | "inline")
    };
    let kept: Vec<_> =
        children(declaration.node).into_iter().filter(kept).map(|part| parsed.text(part)).collect();
    let own = if is_cpp {
        format!("PerThreadCount<{}>", number_type(parsed, declaration))
    } else {
        "struct per_thread_count".into()
    };
    let specifiers = [&kept[..], &[&own]].concat().join(" ");
    let index = declarators(declaration.node)
        .iter()
        .position(|other| *other == declaration.declarator)
        .unwrap_or(0);
    edits.extend(respecify(parsed, declaration.node, &BTreeMap::from([(index, specifiers)]))?);
    Ok(edits)
}

/// The integer type of a count: `T` of `std::atomic<T>`.
fn number_type(parsed: &Parsed<'_>, declaration: &DataDeclaration<'_>) -> String {
    let type_ = declaration.node.child_by_field_name("type").map_or("", |type_| parsed.text(type_));
    let name = type_.trim_start_matches("std::");
    if let Some(inner) = name.strip_prefix("atomic<") {
        return inner.trim_end_matches('>').trim().into();
    }
    match name.strip_prefix("atomic_") {
        Some("uint") => "unsigned".into(),
        Some("ulong") => "unsigned long".into(),
        Some("llong") => "long long".into(),
        Some("ullong") => "unsigned long long".into(),
        Some(name) => name.into(),
        None => type_.into(),
    }
}

/// The functions or the class of counts, before the outermost declaration that has one and its comments.
fn helper(parsed: &Parsed<'_>, declaration: Node<'_>, is_cpp: bool, line_bytes: u64) -> SourceEdit {
    let helper = if is_cpp {
        include_str!("per_thread_count.hpp")
    } else {
        include_str!("per_thread_count.h")
    };
    let helper = helper.replace("64", &line_bytes.to_string());
    insertion(parsed, declaration, &helper)
}

/// Rewrites the uses of the count in a file.
fn uses(
    parsed: &Parsed<'_>,
    name: &str,
    is_member: bool,
    type_: &str,
) -> Result<Vec<SourceEdit>, Refusal> {
    let word = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    };
    let hidden = parsed.blank.iter().find(|blank| word(&parsed.source.text[(*blank).clone()]));
    let macros =
        parsed.all(&["preproc_arg", "ERROR"]).into_iter().find(|node| word(parsed.text(*node)));
    let macros = macros.map(|node| node.start_byte()).or(hidden.map(|blank| blank.start));
    if let Some(at) = macros {
        let line = parsed.source.text[..at].matches('\n').count() as u64 + 1;
        return Err(parsed.refuse_line(line, format!("a macro may use `{name}`")));
    }
    let kind = if is_member { "field_identifier" } else { "identifier" };
    let mut edits = Vec::new();
    for node in parsed.all(&[kind]).into_iter().filter(|node| parsed.text(*node) == name) {
        if is_declaration(node) {
            continue;
        }
        let path = if is_member {
            node.parent().filter(|path| path.kind() == "field_expression")
        } else {
            Some(node)
        };
        let edited = path.and_then(|path| add(parsed, path).or_else(|| read(parsed, path, type_)));
        let Some(edited) = edited else {
            return Err(parsed.refuse(node, format!("`{name}` is not only added to and read")));
        };
        edits.extend(edited);
    }
    Ok(edits)
}

/// Whether a name is where it is declared.
fn is_declaration(name: Node<'_>) -> bool {
    let mut node = name;
    while let Some(above) = node.parent() {
        let is_declarator = declarators(above).contains(&node);
        if is_declarator && matches!(above.kind(), "declaration" | "field_declaration") {
            return declared(node) == name;
        }
        if !is_declarator {
            return false;
        }
        node = above;
    }
    false
}

/// The expression with its parentheses.
fn with_parentheses(node: Node<'_>) -> Node<'_> {
    match node.parent().filter(|above| above.kind() == "parenthesized_expression") {
        Some(above) => with_parentheses(above),
        None => node,
    }
}

/// Whether the value of an expression is not used.
fn is_unused(parsed: &Parsed<'_>, node: Node<'_>) -> bool {
    let node = with_parentheses(node);
    node.parent().is_some_and(|above| match above.kind() {
        "expression_statement" => true,
        "for_statement" => above.child_by_field_name("update") == Some(node),
        "cast_expression" => {
            above.child_by_field_name("type").is_some_and(|type_| parsed.text(type_) == "void")
        }
        _ => false,
    })
}

/// An addition to a path, rewritten.
fn add(parsed: &Parsed<'_>, path: Node<'_>) -> Option<Vec<SourceEdit>> {
    const ADD: &str = "per_thread_count_add(&";
    const MINUS: &str = "-(unsigned long long)(";
    let (start, end) = (path.start_byte(), path.end_byte());
    let outer = with_parentheses(path);
    let above = outer.parent()?;
    let operator = above
        .child_by_field_name("operator")
        .map(|operator| (operator.kind(), operator.byte_range()));
    match above.kind() {
        "update_expression" if is_unused(parsed, above) => {
            let (operator, _) = operator?;
            let one = if operator == "++" { ", 1)" } else { ", -1)" };
            Some(vec![
                parsed.edit(above.start_byte()..start, ADD.into()),
                parsed.edit(end..above.end_byte(), one.into()),
            ])
        }
        "assignment_expression" if is_unused(parsed, above) => {
            let right = above.child_by_field_name("right").filter(|right| *right != outer)?;
            let (minus, close) = match operator?.0 {
                "+=" => ("", ")"),
                "-=" => (MINUS, "))"),
                _ => return None,
            };
            let value = right.byte_range();
            Some(vec![
                parsed.edit(above.start_byte()..start, ADD.into()),
                parsed.edit(end..value.start, format!(", {minus}")),
                parsed.edit(value.end..value.end, close.into()),
            ])
        }
        "pointer_expression" => {
            let (call, function, arguments) = call_with(parsed, above)?;
            let (_, operation) =
                function.split_once("atomic_").or_else(|| function.split_once("__sync_"))?;
            let operation = operation.trim_end_matches("_explicit");
            let (minus, close) = match operation {
                "fetch_add" | "add_fetch" | "fetch_and_add" | "add_and_fetch" => ("", ")"),
                "fetch_sub" | "sub_fetch" | "fetch_and_sub" | "sub_and_fetch" => (MINUS, "))"),
                _ => return None,
            };
            let value = arguments.get(1).filter(|_| is_unused(parsed, call))?.byte_range();
            Some(vec![
                parsed.edit(call.start_byte()..start, ADD.into()),
                parsed.edit(end..value.start, format!(", {minus}")),
                parsed.edit(value.end..call.end_byte(), close.into()),
            ])
        }
        _ => None,
    }
}

/// A read of a path, rewritten. The sum is cast to the count's type, and so is no place that could be stored to.
fn read(parsed: &Parsed<'_>, path: Node<'_>, type_: &str) -> Option<Vec<SourceEdit>> {
    let outer = with_parentheses(path);
    let above = outer.parent()?;
    let whole = match above.kind() {
        "update_expression" => return None,
        "assignment_expression" if above.child_by_field_name("left") == Some(outer) => return None,
        "pointer_expression" => {
            let (call, function, _) = call_with(parsed, above)?;
            let loads = ["atomic_load", "atomic_load_explicit", "__atomic_load_n"];
            loads.contains(&function).then_some(call)?
        }
        _ => path,
    };
    let (start, end) = (whole.start_byte(), whole.end_byte());
    let sum = format!("(({type_})per_thread_count_sum(&");
    Some(vec![
        parsed.edit(start..path.start_byte(), sum),
        parsed.edit(path.end_byte()..end, "))".into()),
    ])
}

/// The call that has an address as its first argument, its function and its arguments.
fn call_with<'t>(
    parsed: &'t Parsed<'_>,
    address: Node<'t>,
) -> Option<(Node<'t>, &'t str, Vec<Node<'t>>)> {
    let list = address.parent().filter(|list| list.kind() == "argument_list")?;
    let arguments: Vec<_> =
        list.named_children(&mut list.walk()).filter(|node| node.kind() != "comment").collect();
    let call = list.parent().filter(|_| arguments.first() == Some(&address))?;
    let function =
        call.child_by_field_name("function").filter(|function| function.kind() == "identifier")?;
    Some((call, parsed.text(function), arguments))
}
