//! Members in another order.
//!
//! A member moves with the comments before it and behind it. What depends on the old order is changed as well, or refused: brace lists
//! by position, constructors' initializers, and the first member of a C struct, to which a pointer to the struct may be cast.

use std::ops::Range;

use tenure_model::SourceEdit;
use tree_sitter::Node;

use super::declarations::{DataDeclaration, is_scalar, shared};
use super::initializers::{Positional, own_names, parts, positional};
use super::members::{DataMember, Struct};
use super::parse::{Parsed, children, declared, descendants};
use crate::Refusal;

/// Orders the members of the struct at a line.
pub(super) fn ordered(
    all: &[Parsed<'_>],
    at: usize,
    line: u64,
    names: &[String],
) -> Result<Vec<SourceEdit>, Refusal> {
    let parsed = &all[at];
    let found = Struct::at(parsed, line, names)?;
    found.check_layout(parsed)?;
    let refuse = |why: &str| Err(parsed.refuse(found.node, why.into()));
    let position = |member: &DataMember<'_>| names.iter().position(|name| name == member.name);
    if names.len() != found.members.len()
        || found.members.iter().any(|member| position(member).is_none())
    {
        return refuse("the order does not have each member once");
    }
    // Declarations in their old order, each with the new places of its members.
    let mut old: Vec<(Node<'_>, Vec<usize>)> = Vec::new();
    for member in &found.members {
        let place = position(member).unwrap_or(0);
        match old.last_mut().filter(|(declaration, _)| *declaration == member.declaration) {
            Some((_, places)) => places.push(place),
            None => old.push((member.declaration, vec![place])),
        }
    }
    if old.iter().any(|(_, places)| places.windows(2).any(|pair| pair[0] + 1 != pair[1])) {
        return refuse("members that one declaration has would be parted");
    }
    let mut new: Vec<usize> = (0..old.len()).collect();
    new.sort_by_key(|&index| old[index].1[0]);
    let moved: Vec<_> = (0..old.len()).filter(|&slot| new[slot] != slot).collect();
    let (Some(&first), Some(&last)) = (moved.first(), moved.last()) else { return Ok(Vec::new()) };
    check_moves(all, at, &found, &old[first].0, &old[last].0, first == 0)?;
    let chunks: Vec<_> = old.iter().map(|(declaration, _)| chunk(parsed, *declaration)).collect();
    let mut edits = Vec::new();
    for slot in moved {
        let text = &parsed.source.text[chunks[new[slot]].clone()];
        let after = parsed.source.text[chunks[slot].end..].trim_start_matches([' ', '\t', '\r']);
        if text.contains("//") && !after.starts_with('\n') {
            return Err(parsed.refuse(old[slot].0, "a comment would hide what follows it".into()));
        }
        edits.push(parsed.edit(chunks[slot].clone(), text.into()));
    }
    edits.extend(name_initializers(all, at, &found)?);
    for parsed in all {
        edits.extend(order_constructors(parsed, &own_names(&all[at], found.node), names)?);
    }
    Ok(edits)
}

/// Refuses to move members across what is no member, or what depends on their order.
fn check_moves(
    all: &[Parsed<'_>],
    at: usize,
    found: &Struct<'_>,
    first: &Node<'_>,
    last: &Node<'_>,
    moves_first: bool,
) -> Result<(), Refusal> {
    let parsed = &all[at];
    let range = first.start_byte()..last.end_byte();
    for child in
        children(found.body).into_iter().filter(|child| range.contains(&child.start_byte()))
    {
        if !matches!(child.kind(), "field_declaration" | "comment" | "function_definition") {
            return Err(parsed.refuse(child, "members would move across this".into()));
        }
    }
    for (index, member) in found.members.iter().enumerate() {
        found.check_member(parsed, member)?;
        let type_ = member.declaration.child_by_field_name("type");
        let defines = type_.is_some_and(|type_| {
            type_.child_by_field_name("body").is_some()
                && type_.child_by_field_name("name").is_some()
        });
        if defines {
            return Err(parsed.refuse(
                member.declaration,
                "it defines a type that other members may need".into(),
            ));
        }
        let others = || found.members.iter().filter(|other| other.name != member.name);
        let uses_other = member
            .declaration
            .children_by_field_name("default_value", &mut member.declaration.walk())
            .any(|value| {
                descendants(value)
                    .into_iter()
                    .any(|node| others().any(|other| other.name == parsed.text(node)))
            });
        if uses_other {
            return Err(parsed.refuse(
                member.declaration,
                format!("`{}` is initialized by another member", member.name),
            ));
        }
        let declaration = member.declarator.map(|declarator| DataDeclaration {
            file: at,
            node: member.declaration,
            declarator,
            text: shared(parsed, member.declaration),
        });
        let is_base = declaration.is_some_and(|declaration| !is_scalar(all, &declaration));
        if index == 0 && moves_first && is_base && !parsed.is_cpp() {
            let why = format!(
                "`{}` comes first, so a pointer to the struct may be cast to it",
                member.name
            );
            return Err(parsed.refuse(member.declaration, why));
        }
    }
    Ok(())
}

/// A declaration with its comments: those directly above it, and the one behind it on its line.
fn chunk(parsed: &Parsed<'_>, declaration: Node<'_>) -> Range<usize> {
    let mut range = parsed.start(declaration)..declaration.end_byte();
    let row = |node: Node<'_>| node.end_position().row;
    let mut first = declaration;
    while let Some(before) = first.prev_sibling().filter(|before| before.kind() == "comment") {
        let above = before.prev_sibling();
        let is_behind_other = above.is_some_and(|above| row(above) == before.start_position().row);
        if is_behind_other || row(before) + 1 < first.start_position().row {
            break;
        }
        first = before;
        range.start = first.start_byte();
    }
    let behind = declaration.next_sibling().filter(|next| {
        next.kind() == "comment" && next.start_position().row == declaration.end_position().row
    });
    range.end = behind.map_or(range.end, |behind| behind.end_byte());
    // A comment's node has the carriage return that ends its line.
    range.start..range.start + parsed.source.text[range].trim_end().len()
}

/// Names the members in lists that initialize the struct by position.
fn name_initializers(
    all: &[Parsed<'_>],
    at: usize,
    found: &Struct<'_>,
) -> Result<Vec<SourceEdit>, Refusal> {
    let names = own_names(&all[at], found.node);
    let mut edits = Vec::new();
    for Positional { parsed, list, is_own } in positional(all, &names) {
        let parts = parts(list);
        let is_safe = |(part, member): (&Node<'_>, &DataMember<'_>)| {
            let Some(declarator) = member.declarator else { return false };
            let text = shared(&all[at], member.declaration);
            let declaration =
                DataDeclaration { file: at, node: member.declaration, declarator, text };
            // Without braces an array or a struct takes several parts.
            let is_scalar = declarator.kind() != "array_declarator" && is_scalar(all, &declaration);
            part.kind() == "initializer_list" || is_scalar && part.kind() != "initializer_pair"
        };
        let all_safe =
            parts.len() <= found.members.len() && parts.iter().zip(&found.members).all(is_safe);
        if !is_own || !all_safe || all[at].is_cpp() {
            return Err(parsed.refuse(list, "this initializes its members by position".into()));
        }
        edits.extend(parts.iter().zip(&found.members).map(|(part, member)| {
            let start = part.start_byte();
            parsed.edit(start..start, format!(".{} = ", member.name))
        }));
    }
    let has_constructor = descendants(found.body).into_iter().any(|node| {
        node.kind() == "function_declarator" && names.contains(&all[at].text(declared(node)))
    });
    if all[at].is_cpp() && !has_constructor {
        for parsed in all {
            let unknown = parsed
                .all(&["initializer_list", "structured_binding_declarator"])
                .into_iter()
                .find(|list| {
                    let above = list.parent().map_or("", |above| above.kind());
                    list.kind() != "initializer_list"
                        || parts(*list).len() > 1
                            && matches!(
                                above,
                                "return_statement" | "argument_list" | "assignment_expression"
                            )
                });
            if let Some(list) = unknown {
                return Err(parsed.refuse(list, "this may name its members by position".into()));
            }
        }
    }
    Ok(edits)
}

/// Orders the initializers of a class's constructors as its members are: they run in that order anyway.
fn order_constructors(
    parsed: &Parsed<'_>,
    class: &[&str],
    names: &[String],
) -> Result<Vec<SourceEdit>, Refusal> {
    let mut edits = Vec::new();
    for list in parsed.all(&["field_initializer_list"]) {
        let function =
            list.parent().and_then(|function| function.child_by_field_name("declarator"));
        if !function.is_some_and(|function| class.contains(&parsed.text(declared(function)))) {
            continue;
        }
        let place = |initializer: &Node<'_>| {
            let name = initializer.child(0).map_or("", |name| parsed.text(name));
            names.iter().position(|other| other == name)
        };
        let old: Vec<_> = parts(list).into_iter().filter(|part| place(part).is_some()).collect();
        let mut new = old.clone();
        new.sort_by_key(place);
        let uses_member = |initializer: &&Node<'_>| {
            descendants(**initializer).into_iter().any(|node| {
                node.kind() == "identifier" && names.iter().any(|name| name == parsed.text(node))
            })
        };
        if let Some(initializer) = old.iter().find(uses_member).filter(|_| old != new) {
            return Err(
                parsed.refuse(*initializer, "a member is initialized by another one".into())
            );
        }
        let pairs = old.iter().zip(&new).filter(|(old, new)| old != new);
        edits.extend(
            pairs.map(|(old, new)| parsed.edit(old.byte_range(), parsed.text(*new).into())),
        );
    }
    Ok(edits)
}
