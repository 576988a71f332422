//! Structs and their members, as they are declared.

use std::ops::Range;

use tree_sitter::Node;

use super::declarations::declarators;
use super::initializers::{own_names, type_name};
use super::parse::{Parsed, children, declared, is_broken, is_data, lines};
use crate::Refusal;

/// A struct's or class's definition.
pub(super) struct Struct<'t> {
    pub(super) node: Node<'t>,
    pub(super) body: Node<'t>,
    /// Its data members, in order.
    pub(super) members: Vec<DataMember<'t>>,
}

/// A data member.
pub(super) struct DataMember<'t> {
    /// Empty for an anonymous struct or union.
    pub(super) name: &'t str,
    /// The names that an anonymous struct or union adds.
    inner: Vec<&'t str>,
    pub(super) declaration: Node<'t>,
    /// None for an anonymous struct or union.
    pub(super) declarator: Option<Node<'t>>,
    pub(super) is_bit_field: bool,
}

/// Members of a struct that get lines of their own.
pub(super) struct DeclaredMembers<'t> {
    /// The index of its file.
    pub(super) file: usize,
    pub(super) found: Struct<'t>,
    /// Names: those of one list may share a line.
    pub(super) lines: Vec<Vec<String>>,
}

/// The structs that declare members, of which each is a name or a path from the struct at a line: `queue.head`, where a member `queue` is a
/// struct of its own.
pub(super) fn declaring<'t>(
    all: &'t [Parsed<'_>],
    at: usize,
    line: u64,
    lines: &[Vec<String>],
) -> Result<Vec<DeclaredMembers<'t>>, Refusal> {
    let mut declaring: Vec<DeclaredMembers<'t>> = Vec::new();
    let first = |path: &String| path.split('.').next().unwrap_or_default().to_owned();
    let firsts: Vec<_> = lines.iter().flatten().map(first).collect();
    for (number, path) in lines
        .iter()
        .enumerate()
        .flat_map(|(number, line)| line.iter().map(move |path| (number, path)))
    {
        let (mut file, mut found) = (at, Struct::at(&all[at], line, &firsts)?);
        let (way, name) = path.rsplit_once('.').unwrap_or(("", path));
        for step in way.split('.').filter(|step| !step.is_empty()) {
            // A name in an anonymous struct or union is one of the struct around it.
            let member = found.index(step).map(|index| &found.members[index]);
            let Some(member) = member.filter(|it| it.name == step) else { continue };
            let type_ = type_name(&all[file], member.declaration).unwrap_or_default();
            (file, found) = Struct::named(all, type_).ok_or_else(|| {
                let why = format!(
                    "the type of `{step}`, `{type_}`, is not declared once in what was read"
                );
                all[file].refuse(member.declaration, why)
            })?;
        }
        found.check(&all[file], std::slice::from_ref(&name.to_owned()))?;
        let known = declaring.iter().position(|it| (it.file, it.found.node) == (file, found.node));
        let known = known.unwrap_or_else(|| {
            declaring.push(DeclaredMembers { file, found, lines: vec![Vec::new(); lines.len()] });
            declaring.len() - 1
        });
        declaring[known].lines[number].push(name.to_owned());
    }
    Ok(declaring)
}

/// The file and the line of the struct that a change at a line is of. Where debugging information has a variable's place, that is the
/// variable's type.
pub(super) fn start(all: &[Parsed<'_>], at: usize, line: u64) -> (usize, u64) {
    let parsed = &all[at];
    let is_variable = |node: &Node<'_>| {
        lines(*node).contains(&line) && declarators(*node).into_iter().any(is_data)
    };
    let of_variable = || {
        let type_ =
            type_name(parsed, parsed.all(&["declaration"]).into_iter().rfind(is_variable)?)?;
        let (file, found) = Struct::named(all, type_)?;
        Some((file, lines(found.node).start))
    };
    let is_struct = Struct::at(parsed, line, &[]).is_ok();
    (!is_struct).then(of_variable).flatten().unwrap_or((at, line))
}

impl<'t> Struct<'t> {
    /// The only struct of a name, and the index of its file.
    fn named(all: &'t [Parsed<'_>], name: &str) -> Option<(usize, Self)> {
        let mut named = all.iter().enumerate().flat_map(|(file, parsed)| {
            let nodes = parsed.all(&["struct_specifier", "class_specifier"]).into_iter();
            let named = nodes.filter(|node| own_names(parsed, *node).contains(&name));
            named.filter_map(move |node| Some((file, Self::new(parsed, node)?)))
        });
        let found = named.next();
        if named.next().is_some() { None } else { found }
    }

    fn new(parsed: &'t Parsed<'_>, node: Node<'t>) -> Option<Self> {
        let body = node.child_by_field_name("body")?;
        let mut members = Vec::new();
        collect(parsed, body, &mut members);
        Some(Self { node, body, members })
    }

    /// The struct that is declared at a line, and has some members. The line is that of its keyword, its name, or a part.
    pub(super) fn at(
        parsed: &'t Parsed<'_>,
        line: u64,
        members: &[String],
    ) -> Result<Self, Refusal> {
        let nodes = parsed.all(&["struct_specifier", "class_specifier", "union_specifier"]);
        let structs = nodes
            .into_iter()
            .filter(|node| node.kind() != "union_specifier" || !is_anonymous(*node));
        let structs: Vec<_> = structs.filter_map(|node| Self::new(parsed, node)).collect();
        let has_all = |found: &&Self| members.iter().all(|name| found.index(name).is_some());
        let heads = |found: &&Self| found.head(parsed).contains(&line);
        let covers = |found: &&Self| lines(found.outer()).contains(&line);
        let found = structs.iter().filter(has_all).rfind(heads);
        let found = found.or_else(|| structs.iter().filter(has_all).rfind(covers));
        let found =
            found.or_else(|| structs.iter().rfind(heads)).or_else(|| structs.iter().rfind(covers));
        let Some(found) = found else {
            let why = if parsed.is_in_macro(line) {
                "a macro declares it"
            } else {
                "no struct is declared here"
            };
            return Err(parsed.refuse_line(line, why.into()));
        };
        let found = Self::new(parsed, found.node).expect("it was made from this node");
        found.check(parsed, members)?;
        Ok(found)
    }

    /// Refuses members that no edit can move.
    fn check(&self, parsed: &Parsed<'_>, members: &[String]) -> Result<(), Refusal> {
        if self.node.kind() == "union_specifier" {
            return Err(
                parsed.refuse(self.node, "it is a union: its members share their bytes".into())
            );
        }
        let missing = members.iter().find(|name| self.index(name).is_none());
        missing.map_or(Ok(()), |name| {
            Err(parsed.refuse(self.node, format!("it declares no member `{name}`; a macro may")))
        })
    }

    /// The index of a member.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name || member.inner.contains(&name))
    }

    /// The whole declaration: with what is before the keyword, and the names after the body.
    pub(super) fn outer(&self) -> Node<'t> {
        let mut outer = self.node;
        while let Some(above) = outer.parent().filter(|above| {
            matches!(
                above.kind(),
                "type_definition" | "declaration" | "field_declaration" | "template_declaration"
            )
        }) {
            outer = above;
        }
        outer
    }

    /// The lines that debugging information may have for it: up to the body, and those of a `typedef`'s name.
    fn head(&self, parsed: &Parsed<'_>) -> Range<u64> {
        let start = lines(self.outer()).start;
        parsed.line_of_condition(self.node).map_or(start, |line| line.min(start))
            ..lines(self.body).start + 1
    }

    /// Refuses a struct whose layout attributes cannot change.
    pub(super) fn check_layout(&self, parsed: &Parsed<'_>) -> Result<(), Refusal> {
        let range = parsed.start(self.outer())..tail(parsed, self.body).end;
        let packed = parsed.blank.iter().any(|blank| {
            range.contains(&blank.start) && parsed.source.text[blank.clone()].contains("packed")
        });
        if packed || is_packed_by_pragma(parsed, self.node) {
            return Err(parsed.refuse(self.node, "it is packed".into()));
        }
        let flexible = |member: &&DataMember<'_>| {
            member.declarator.is_some_and(|declarator| {
                let text: String = parsed.text(declarator).split_whitespace().collect();
                declarator.kind() == "array_declarator"
                    && (text.ends_with("[]") || text.ends_with("[0]"))
            })
        };
        if let Some(member) = self.members.last().filter(flexible) {
            let why = format!("it ends with `{}`, an array without a size", member.name);
            return Err(parsed.refuse(member.declaration, why));
        }
        Ok(())
    }

    /// Refuses a member that `#if` guards, or whose declaration does not parse.
    pub(super) fn check_member(
        &self,
        parsed: &Parsed<'_>,
        member: &DataMember<'_>,
    ) -> Result<(), Refusal> {
        let name = if member.name.is_empty() { "a struct or union" } else { member.name };
        let why = if parsed.is_conditional(member.declaration, self.body) {
            "is under `#if`"
        } else if is_broken(member.declaration) {
            "is not parsed: a macro may be part of it"
        } else if member.is_bit_field {
            "is a bit-field"
        } else {
            return Ok(());
        };
        Err(parsed.refuse(member.declaration, format!("`{name}` {why}")))
    }
}

/// The text between the end of a body and that of its declaration.
pub(super) fn tail(parsed: &Parsed<'_>, body: Node<'_>) -> Range<usize> {
    let text = parsed.source.text;
    let from = body.end_byte();
    from..text[from..].find(';').map_or(text.len(), |length| from + length)
}

/// Adds the data members that the children of a node declare.
fn collect<'t>(parsed: &'t Parsed<'_>, body: Node<'t>, members: &mut Vec<DataMember<'t>>) {
    for child in children(body) {
        if child.kind().starts_with("preproc_") {
            collect(parsed, child, members);
        }
        let is_static = || {
            children(child).iter().any(|part| {
                part.kind() == "storage_class_specifier" && parsed.text(*part) == "static"
            })
        };
        if child.kind() != "field_declaration" || is_static() {
            continue;
        }
        let before = members.len();
        let mut cursor = child.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let part = cursor.node();
            if cursor.field_name() == Some("declarator") && is_data(part) {
                let name = parsed.text(declared(part));
                members.push(DataMember {
                    name,
                    inner: Vec::new(),
                    declaration: child,
                    declarator: Some(part),
                    is_bit_field: false,
                });
            } else if part.kind() == "bitfield_clause" && members.len() > before {
                members.last_mut().expect("one is there").is_bit_field = true;
            }
            more = cursor.goto_next_sibling();
        }
        let type_ = child.child_by_field_name("type").filter(|type_| is_anonymous(*type_));
        if let Some(body) = type_.and_then(|type_| type_.child_by_field_name("body")) {
            let mut inner = Vec::new();
            collect(parsed, body, &mut inner);
            let inner = inner
                .into_iter()
                .flat_map(|member| [vec![member.name], member.inner].concat())
                .collect();
            members.push(DataMember {
                name: "",
                inner,
                declaration: child,
                declarator: None,
                is_bit_field: false,
            });
        }
    }
}

/// Whether a struct's or union's members are those of the struct around it.
fn is_anonymous(type_: Node<'_>) -> bool {
    matches!(type_.kind(), "struct_specifier" | "union_specifier")
        && type_.child_by_field_name("name").is_none()
        && type_.parent().is_some_and(|above| {
            above.kind() == "field_declaration" && above.child_by_field_name("declarator").is_none()
        })
}

/// Whether `#pragma pack` is in force at a node.
fn is_packed_by_pragma(parsed: &Parsed<'_>, node: Node<'_>) -> bool {
    let before = &parsed.source.text[..node.start_byte()];
    let mut depth = 0_usize;
    let mut packed = false;
    for line in before.lines().map(str::trim_start) {
        let Some(pragma) = line
            .strip_prefix('#')
            .map(str::trim_start)
            .and_then(|line| line.strip_prefix("pragma"))
        else {
            continue;
        };
        let Some(what) = pragma.trim_start().strip_prefix("pack") else { continue };
        depth = depth + usize::from(what.contains("push"))
            - usize::from(what.contains("pop") && depth > 0);
        packed = !what.contains("pop") && what.contains(|c: char| c.is_ascii_digit())
            || packed && depth > 0 && !what.contains("()");
    }
    packed
}
