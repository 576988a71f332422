//! Which types the code around an address deals with: what its variables point to, and its type parameters.

use rustc_hash::FxHashMap;

use super::scopes;
use super::types::ProgramTypes;
use super::units::Reader;
use crate::model::{TypeId, TypeKind};
use crate::names;

/// Functions looked at for one address, the innermost first, and variables of each.
const MAX_LEVELS: usize = 24;
const MAX_VARIABLES: usize = 64;

/// Types that one variable leads to.
const MAX_REACHED: usize = 128;

/// How deep members are followed to pointers, as from `Vec<T>` to the pointer in its buffer.
const DEEP: usize = 8;

/// Types with what speaks for each.
pub(super) type Hints = FxHashMap<TypeId, Hint>;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hint {
    pub(super) weight: u32,
    /// Whether something that may hold several in a row is generic over it.
    pub(super) is_parameter: bool,
}

impl Hint {
    /// Whether the function itself is generic over it, or is its method.
    pub(super) fn is_direct(self) -> bool {
        self.weight >= OWN
    }
}

/// What speaks for a type, from the most: a type parameter of the allocating function,
const PARAMETER: u32 = 64;
/// what `self` or `this` is,
const OWN: u32 = 32;
/// what another variable points to,
const POINTEE: u32 = 16;
/// what a container in any of these holds,
const HELD: u32 = 24;
/// what a member of any of these points to.
const REACHED: u32 = 8;

/// Types by what speaks most for each, of the functions at an address of code, the innermost first. `allocates`: type
/// parameters count too.
pub(super) fn at(
    reader: &Reader<'_>,
    types: &ProgramTypes,
    address: u64,
    allocates: bool,
) -> Vec<Hints> {
    let Some((_, levels)) = scopes::levels(reader, address) else { return Vec::new() };
    let levels = levels.iter().rev().take(MAX_LEVELS);
    let of_level = |level: &scopes::FunctionLevel| {
        let mut hints = Hints::default();
        if allocates && let Some(name) = reader.name(level.at) {
            // A closure passes through functions that allocate for others, as through `collect`.
            for (argument, depth) in
                arguments(&name).into_iter().filter(|(it, _)| !it.contains("{closure_env"))
            {
                let weight = PARAMETER >> depth.min(4);
                for ty in types.named(element(argument)) {
                    note(&mut hints, types, *ty, weight, true);
                }
                // Only `Arc` and `Rc` allocate for a slice what is more than its elements.
                for inner in ["alloc::sync::ArcInner", "alloc::rc::RcInner"] {
                    if argument.starts_with('[') {
                        for ty in types.named(&format!("{inner}<{argument}>")) {
                            note(&mut hints, types, *ty, weight, false);
                        }
                    }
                }
            }
        }
        for variable in level.variables.iter().take(MAX_VARIABLES) {
            let ty = reader
                .ask(*variable, |unit, entry| Reader::target(unit, entry.get(gimli::DW_AT_type)?));
            let Some((ty, pointers)) = ty.and_then(|ty| types.of_entry(reader, ty)) else {
                continue;
            };
            if pointers > 0 {
                let is_own =
                    || reader.name(*variable).is_some_and(|name| name == "self" || name == "this");
                let weight = if pointers == 1 && is_own() { OWN } else { POINTEE };
                note(&mut hints, types, ty, weight, false);
            }
            reach(&mut hints, types, ty, if pointers > 0 { REACHED } else { POINTEE }, allocates);
        }
        hints
    };
    levels.map(of_level).collect()
}

fn note(hints: &mut Hints, types: &ProgramTypes, ty: TypeId, weight: u32, is_parameter: bool) {
    let ty = types.model.resolved(ty);
    // Through `&Vec<T>` a `T` is accessed, more often than the vector.
    let weight = if types.model[ty].name.contains('<') { weight / 2 } else { weight };
    let known = hints.entry(ty).or_default();
    known.weight = weight.max(known.weight);
    known.is_parameter |= is_parameter;
}

/// What the pointers in a value lead to, and what its type is generic over.
fn reach(hints: &mut Hints, types: &ProgramTypes, ty: TypeId, weight: u32, allocates: bool) {
    let model = &types.model;
    let mut open = vec![(model.resolved(ty), 0)];
    let mut at = 0;
    while let Some((ty, depth)) = open.get(at).copied() {
        at += 1;
        match &model[ty].kind {
            TypeKind::Pointer(Some(to)) => note(hints, types, *to, weight, false),
            TypeKind::Array { element, .. } => open.push((model.resolved(*element), depth)),
            TypeKind::Composite { members, .. } if depth < DEEP => {
                let name = &model[ty].name;
                let is_row = !holds_one(name);
                let weight = match depth {
                    0 if allocates => PARAMETER / 2,
                    _ if is_row => HELD,
                    _ => weight,
                };
                for (argument, depth) in arguments(name) {
                    for ty in types.named(element(argument)) {
                        note(hints, types, *ty, weight >> depth.min(3), is_row);
                    }
                }
                for member in members.iter().take(MAX_REACHED) {
                    if open.len() < MAX_REACHED {
                        open.push((model.resolved(member.ty), depth + 1));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a generic type leads to one value: `Arc<T>`, and not `Arc<[T]>`.
fn holds_one(name: &str) -> bool {
    let Some((path, arguments)) = name.split_once('<') else { return false };
    let one = ["Arc", "ArcInner", "Rc", "RcInner", "Weak", "Box", "shared_ptr", "unique_ptr"];
    one.contains(&names::last(path)) && !arguments.starts_with('[')
}

/// The arguments of a generic name, and those of arguments with how deep they lie: of `Map<K, Set<V>>` `K` and
/// `Set<V>` at 0, and `V` at 1.
pub(super) fn arguments(name: &str) -> Vec<(&str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    // Of each list that is open: where its next argument starts, and how many brackets there are around.
    let mut lists: Vec<(usize, usize)> = Vec::new();
    let mut brackets = 0_usize;
    for (at, next) in name.char_indices() {
        let depth = lists.len().saturating_sub(1);
        let list = lists.last_mut().filter(|(_, around)| *around == brackets);
        match next {
            '<' => lists.push((at + 1, brackets)),
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            ',' => {
                if let Some((start, _)) = list {
                    found.push((name[*start..at].trim(), depth));
                    *start = at + 1;
                }
            }
            '>' if !name[..at].ends_with('-') && list.is_some() => {
                found.extend(lists.pop().map(|(start, _)| (name[start..at].trim(), depth)));
            }
            _ => {}
        }
        if found.len() >= MAX_REACHED {
            break;
        }
    }
    found
}

/// The elements of a slice: they are what lies in memory.
fn element(argument: &str) -> &str {
    argument.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(argument)
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn the_arguments_of_a_generic_name_are_found_at_every_depth() {
        assert_eq!(arguments("new<s::Session>"), [("s::Session", 0)]);
        assert_eq!(arguments("Map<K, Set<V> >"), [("K", 0), ("V", 1), ("Set<V>", 0)]);
        assert!(arguments("plain").is_empty());
        assert_eq!(arguments("f<fn() -> u8>"), [("fn() -> u8", 0)]);
        assert_eq!(arguments("Table<(u64, String), A>"), [("(u64, String)", 0), ("A", 0)]);
        assert_eq!(arguments("Box<[T], A>"), [("[T]", 0), ("A", 0)]);
        for name in [">,<", "(<)>", ")]<,>", "<(", "a<b,c"] {
            let _ = arguments(name);
        }
    }
}
