//! Which types the code around an address deals with: what its variables point to, and its type parameters.

use rustc_hash::FxHashMap;

use super::scopes;
use super::types::Types;
use super::units::Reader;
use crate::model::{Kind, TypeId};

/// Functions looked at for one address, the innermost first, and variables of each.
const MOST_LEVELS: usize = 24;
const MOST_VARIABLES: usize = 64;

/// Types that one variable leads to.
const MOST_REACHED: usize = 128;

/// How deep members are followed to pointers, as from `Vec<T>` to the pointer in its buffer.
const DEEP: usize = 8;

/// Types with how much speaks for each.
pub(super) type Hints = FxHashMap<TypeId, u32>;

/// What speaks for a type, from the most: a type parameter of the allocating function,
const PARAMETER: u32 = 64;
/// what `self` or `this` is,
const OWN: u32 = 32;
/// what another variable points to,
const POINTEE: u32 = 16;
/// what a member of any of these points to.
const REACHED: u32 = 8;

/// Types by what speaks most for each at an address of code. `allocates`: type parameters count too.
pub(super) fn at(reader: &Reader<'_>, types: &Types, address: u64, allocates: bool) -> Hints {
    let mut hints = Hints::default();
    let Some((_, levels)) = scopes::levels(reader, address) else { return hints };
    for level in levels.iter().rev().take(MOST_LEVELS) {
        if allocates && let Some(name) = reader.name(level.at) {
            for ty in arguments(&name).into_iter().flat_map(|name| types.named(name)) {
                note(&mut hints, types, *ty, PARAMETER);
            }
        }
        for variable in level.variables.iter().take(MOST_VARIABLES) {
            let ty = reader
                .ask(*variable, |unit, entry| Reader::target(unit, entry.get(gimli::DW_AT_type)?));
            let Some((ty, pointers)) = ty.and_then(|ty| types.of_entry(reader, ty)) else {
                continue;
            };
            if pointers > 0 {
                let is_own =
                    || reader.name(*variable).is_some_and(|name| name == "self" || name == "this");
                let weight = if pointers == 1 && is_own() { OWN } else { POINTEE };
                note(&mut hints, types, ty, weight);
            }
            reach(&mut hints, types, ty, if pointers > 0 { REACHED } else { POINTEE }, allocates);
        }
    }
    hints
}

fn note(hints: &mut Hints, types: &Types, ty: TypeId, weight: u32) {
    let ty = types.model.resolved(ty);
    // Through `&Vec<T>` a `T` is accessed, more often than the vector.
    let weight = if types.model[ty].name.contains('<') { weight / 2 } else { weight };
    let known = hints.entry(ty).or_default();
    *known = weight.max(*known);
}

/// What the pointers in a value lead to, and what its type is generic over.
fn reach(hints: &mut Hints, types: &Types, ty: TypeId, weight: u32, allocates: bool) {
    let model = &types.model;
    let mut open = vec![(model.resolved(ty), 0)];
    let mut at = 0;
    while let Some((ty, depth)) = open.get(at).copied() {
        at += 1;
        match &model[ty].kind {
            Kind::Pointer(Some(to)) => note(hints, types, *to, weight),
            Kind::Array { element, .. } => open.push((model.resolved(*element), depth)),
            Kind::Composite { members, .. } if depth < DEEP => {
                let weight = match depth {
                    0 if allocates => PARAMETER / 2,
                    0 => POINTEE,
                    _ => weight,
                };
                for ty in arguments(&model[ty].name).into_iter().flat_map(|name| types.named(name))
                {
                    note(hints, types, *ty, weight);
                }
                for member in members.iter().take(MOST_REACHED) {
                    if open.len() < MOST_REACHED {
                        open.push((model.resolved(member.ty), depth + 1));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The arguments of a generic name: of `Map<K, Set<V>>` `K` and `Set<V>`, and `V` in turn.
pub(super) fn arguments(name: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut starts = Vec::new();
    for (at, next) in name.char_indices() {
        match next {
            '<' => starts.push(at + 1),
            ',' => {
                if let Some(start) = starts.last_mut() {
                    found.push(name[*start..at].trim());
                    *start = at + 1;
                }
            }
            '>' if !name[..at].ends_with('-') => {
                found.extend(starts.pop().map(|start| name[start..at].trim()));
            }
            _ => {}
        }
        if found.len() >= MOST_REACHED {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn the_arguments_of_a_generic_name_are_found_at_every_depth() {
        assert_eq!(arguments("new<s::Session>"), ["s::Session"]);
        assert_eq!(arguments("Map<K, Set<V> >"), ["K", "V", "Set<V>"]);
        assert_eq!(arguments("plain"), [""; 0]);
        assert_eq!(arguments("f<fn() -> u8>"), ["fn() -> u8"]);
        assert_eq!(arguments(">,<"), [""; 0]);
    }
}
