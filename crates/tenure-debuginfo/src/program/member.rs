//! Which member of a type lies at an offset.

use crate::model::{Member, Model, Shape, TypeId, TypeKind};

/// How many members are tried for one access: those of unions lie over each other.
const MAX_TRIED: u32 = 1 << 12;

/// How well an access fits what lies there, from the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It touches several members, as a copy of the whole does.
    Several,
    /// It touches a part of a number.
    Part,
    /// It touches one number or pointer, all of it.
    Exact,
}

/// What lies at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMember {
    /// From the outermost type: `counts[3].hits`, empty for all of it. Without the only member of a wrapper.
    pub path: String,
    /// Its type.
    pub ty: TypeId,
    /// How well the bytes fit it.
    pub fit: Fit,
}

/// What an access of `size` bytes at `offset` of a type touches. None if that is padding, or outside of the type.
pub fn member(model: &Model, ty: TypeId, offset: u64, size: u64) -> Option<FoundMember> {
    let mut walk = Walk { model, size, tried: 0 };
    let (steps, ty, fit) = walk.enter(ty, offset)?;
    let mut path = String::new();
    // The steps come from the inside out.
    for step in steps.iter().rev() {
        step.write(&mut path);
    }
    Some(FoundMember { path, ty, fit })
}

/// The type that declares the member which lies at an offset: of a type that is an array its elements', of a class the base that it has
/// the member from.
pub fn declaring(model: &Model, ty: TypeId, offset: u64) -> TypeId {
    let (mut ty, mut offset) = (model.resolved(ty), offset);
    // The loop ends: it goes as deep as types nest, which the model bounds.
    loop {
        let in_array = array(model, ty).and_then(|(start, element)| {
            let rest = offset.checked_sub(start)?.checked_rem(model[element].size)?;
            Some((element, rest))
        });
        let in_base = || {
            let TypeKind::Composite { members, .. } = &model[ty].kind else { return None };
            let bases = members.iter().filter(|it| it.inherited);
            let mut inside = bases.filter_map(|it| Some((it, offset.checked_sub(it.offset)?)));
            let (base, rest) = inside.find(|(it, rest)| *rest < model.bytes_of(it))?;
            Some((base.ty, rest))
        };
        let Some((of, rest)) = in_array.or_else(in_base) else { return ty };
        (ty, offset) = (model.resolved(of), rest);
    }
}

/// The member that ends a struct, if there are as many of it as were allocated, and the type of each. C has an array of
/// no elements there, and Rust one element where the struct already ends.
pub fn tail(model: &Model, ty: TypeId) -> Option<(&Member, TypeId)> {
    let TypeKind::Composite { shape: Shape::Struct, members } = &model[ty].kind else {
        return None;
    };
    let last = members.last()?;
    let of = model.resolved(last.ty);
    let element = match model[of].kind {
        TypeKind::Array { element, count: 0 } => element,
        _ if last.offset == model[ty].size => of,
        _ => return None,
    };
    (model[element].size > 0).then_some((last, element))
}

/// Where the elements of an array begin, and their type, if that is all that a type has.
pub fn array(model: &Model, ty: TypeId) -> Option<(u64, TypeId)> {
    let (mut ty, mut start) = (model.resolved(ty), 0);
    // The loop ends: it goes as deep as types nest, which the model bounds.
    loop {
        match &model[ty].kind {
            TypeKind::Array { element, .. } => return Some((start, *element)),
            TypeKind::Composite { shape: Shape::Struct, members } => {
                let mut members = members.iter().filter(|one| model.bytes_of(one) > 0);
                let only = members.next().filter(|_| members.next().is_none())?;
                start += only.offset;
                ty = model.resolved(only.ty);
            }
            _ => return None,
        }
    }
}

enum MemberStep<'m> {
    Member(&'m str),
    Element(u64),
}

impl MemberStep<'_> {
    fn write(&self, path: &mut String) {
        use std::fmt::Write as _;
        match self {
            MemberStep::Member(name) => {
                let separator = if path.is_empty() { "" } else { "." };
                // Rust's tuples.
                let name = match name.strip_prefix("__") {
                    Some(number) if number.parse::<u32>().is_ok() => number,
                    _ => name,
                };
                // Writing to a string does not fail.
                let _ = write!(path, "{separator}{name}");
            }
            MemberStep::Element(index) => {
                let _ = write!(path, "[{index}]");
            }
        }
    }
}

/// Whether the only member of a type has a name that is worth saying: `hits` of `App`, not `v` of `AtomicU64`.
fn says_something(member: &str) -> bool {
    // What std, parking_lot, crossbeam and Linux's `atomic_t` call the word inside.
    const WRAPPED: [&str; 14] = [
        "v", "val", "value", "inner", "data", "raw", "ptr", "pointer", "counter", "lock", "futex",
        "state", "buf", "repr",
    ];
    // A tuple's members are numbers; `_M_i` is libstdc++'s.
    !member.starts_with('_') && !WRAPPED.contains(&member)
}

struct Walk<'m> {
    model: &'m Model,
    size: u64,
    tried: u32,
}

type Steps<'m> = (Vec<MemberStep<'m>>, TypeId, Fit);

impl<'m> Walk<'m> {
    fn tail(&mut self, name: &'m str, element: TypeId, offset: u64) -> Option<Steps<'m>> {
        let size = self.model[element].size;
        let (mut steps, ty, fit) = self.enter(element, offset.checked_rem(size)?)?;
        steps.extend([MemberStep::Element(offset / size), MemberStep::Member(name)]);
        Some((steps, ty, fit))
    }

    /// Recurses as deep as types nest, which the model bounds.
    fn enter(&mut self, ty: TypeId, offset: u64) -> Option<Steps<'m>> {
        let model = self.model;
        let ty = model.resolved(ty);
        let whole = model[ty].size;
        if offset >= whole
            && let Some((last, element)) = tail(model, ty)
        {
            return self.tail(&last.name, element, offset.checked_sub(last.offset)?);
        }
        let end = offset.checked_add(self.size).filter(|end| *end <= whole)?;
        let here = |fit| Some((Vec::new(), ty, fit));
        match &model[ty].kind {
            TypeKind::Array { element, .. } => {
                let size = model[*element].size;
                let (index, inner) = (offset.checked_div(size)?, offset % size);
                if inner + self.size > size {
                    return here(Fit::Several);
                }
                let (mut steps, ty, fit) = self.enter(*element, inner)?;
                steps.push(MemberStep::Element(index));
                Some((steps, ty, fit))
            }
            TypeKind::Composite { shape, members } => {
                let mut best: Option<Steps<'m>> = None;
                let mut touches = false;
                let sole = members.iter().filter(|one| model.bytes_of(one) > 0).count() == 1;
                for member in members {
                    let bytes = model.bytes_of(member);
                    let member_end = member.offset.saturating_add(bytes);
                    touches |= bytes > 0 && member.offset < end && offset < member_end;
                    if bytes == 0 || offset < member.offset || end > member_end {
                        continue;
                    }
                    self.tried += 1;
                    if self.tried > MAX_TRIED {
                        break;
                    }
                    let found = match member.bits {
                        Some(_) => Some((Vec::new(), member.ty, Fit::Exact)),
                        None => self.enter(member.ty, offset - member.offset),
                    };
                    let Some((mut steps, ty, fit)) = found else { continue };
                    if best.as_ref().is_some_and(|(_, _, known)| *known >= fit) {
                        continue;
                    }
                    let is_said = !sole || steps.is_empty() && says_something(&member.name);
                    if is_said && !member.inherited && !member.name.is_empty() {
                        steps.push(MemberStep::Member(&member.name));
                    }
                    best = Some((steps, ty, fit));
                    if *shape == Shape::Struct {
                        break;
                    }
                }
                if best.is_none() && touches {
                    return here(Fit::Several);
                }
                best
            }
            TypeKind::Opaque | TypeKind::Function => None,
            _ if offset == 0 && self.size == whole => here(Fit::Exact),
            _ => here(Fit::Part),
        }
    }
}
