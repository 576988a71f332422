//! What lies at an offset of a type, without its path: which pointer, and which element of all that are alike.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use tenure_debuginfo::model::{Member, Model, Shape, TypeId, TypeKind};
use tenure_debuginfo::program::member::tail;

/// Alternatives of unions that are tried for one question.
const MAX_TRIED: u32 = 256;

/// Answers of one thread that are remembered.
const MAX_KNOWN: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Fields<'m> {
    pub(super) model: &'m Model,
    pointers: RefCell<FxHashMap<(TypeId, u64), Option<TypeId>>>,
}

impl<'m> Fields<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self { model, pointers: RefCell::default() }
    }

    /// What the pointer at an offset of a type points to.
    pub(super) fn pointee(&self, ty: TypeId, offset: i64) -> Option<TypeId> {
        let offset = u64::try_from(offset).ok()?;
        if let Some(known) = self.pointers.borrow().get(&(ty, offset)) {
            return *known;
        }
        let found = pointer(self.model, ty, offset, &mut 0).map(|to| self.model.resolved(to));
        // `void *` says nothing.
        let found = found
            .filter(|to| !matches!(self.model[*to].kind, TypeKind::Opaque | TypeKind::Function));
        let mut pointers = self.pointers.borrow_mut();
        if pointers.len() >= MAX_KNOWN {
            pointers.clear();
        }
        pointers.insert((ty, offset), found);
        found
    }

    /// See [`first_like`].
    pub(super) fn first_like(&self, ty: TypeId, offset: i64) -> Option<u64> {
        first_like(self.model, ty, u64::try_from(offset).ok()?)
    }

    /// Whether an array lies at an offset of a type.
    pub(super) fn is_in_array(&self, ty: TypeId, offset: i64) -> bool {
        u64::try_from(offset).is_ok_and(|offset| has_array_at(self.model, ty, offset))
    }
}

/// The member of a struct that holds an offset.
fn holding<'m>(model: &Model, members: &'m [Member], offset: u64) -> Option<&'m Member> {
    let after = members.partition_point(|member| member.offset <= offset);
    // Bit fields and empty members may begin after the one that holds it.
    let near = members[..after].iter().rev().take(8);
    near.into_iter().find(|member| offset - member.offset < model.bytes_of(member))
}

/// Recurses as deep as types nest, which the model bounds.
fn pointer(model: &Model, ty: TypeId, offset: u64, tried: &mut u32) -> Option<TypeId> {
    let ty = model.resolved(ty);
    match &model[ty].kind {
        TypeKind::Pointer(to) if offset == 0 => *to,
        TypeKind::Array { element, .. } => {
            pointer(model, *element, offset.checked_rem(model[*element].size)?, tried)
        }
        TypeKind::Composite { shape: Shape::Struct, members } => {
            let member = match holding(model, members, offset) {
                Some(member) => (member.ty, offset - member.offset),
                None => {
                    let (last, element) = tail(model, ty)?;
                    let inside = offset.checked_sub(last.offset)?;
                    (element, inside.checked_rem(model[element].size)?)
                }
            };
            pointer(model, member.0, member.1, tried)
        }
        TypeKind::Composite { members, .. } => members.iter().find_map(|member| {
            *tried += 1;
            let inside = offset.checked_sub(member.offset)?;
            if *tried >= MAX_TRIED || inside >= model.bytes_of(member) {
                return None;
            }
            pointer(model, member.ty, inside, tried)
        }),
        _ => None,
    }
}

/// Whether an array lies at an offset of a type, of which [`first_like`] takes the first element.
#[must_use]
pub fn has_array_at(model: &Model, ty: TypeId, offset: u64) -> bool {
    is_in_array(model, ty, offset, &mut 0)
}

/// Recurses as deep as types nest.
fn is_in_array(model: &Model, ty: TypeId, offset: u64, tried: &mut u32) -> bool {
    let ty = model.resolved(ty);
    match &model[ty].kind {
        TypeKind::Array { .. } => true,
        TypeKind::Composite { shape: Shape::Struct, members } => {
            match holding(model, members, offset) {
                Some(member) => is_in_array(model, member.ty, offset - member.offset, tried),
                None => tail(model, ty).is_some_and(|(last, _)| last.offset <= offset),
            }
        }
        TypeKind::Composite { members, .. } => members.iter().any(|member| {
            *tried += 1;
            offset.checked_sub(member.offset).is_some_and(|inside| {
                *tried < MAX_TRIED
                    && inside < model.bytes_of(member)
                    && is_in_array(model, member.ty, inside, tried)
            })
        }),
        _ => false,
    }
}

/// The offset of the first value like the one at an offset: elements of an array are alike. `None` outside of the type, where
/// a type that starts with this one may have something else.
///
/// Recurses as deep as types nest.
#[must_use]
pub fn first_like(model: &Model, ty: TypeId, offset: u64) -> Option<u64> {
    let ty = model.resolved(ty);
    let inside = |member: &Member| {
        let inner = first_like(model, member.ty, offset - member.offset)?;
        Some(member.offset.saturating_add(inner))
    };
    match &model[ty].kind {
        TypeKind::Array { element, .. } => {
            first_like(model, *element, offset.checked_rem(model[*element].size)?)
        }
        TypeKind::Composite { shape, members } => {
            let member = match shape {
                Shape::Struct => holding(model, members, offset),
                _ => members.iter().find(|member| {
                    member.offset <= offset && offset - member.offset < model.bytes_of(member)
                }),
            };
            if let Some(member) = member {
                return if member.bits.is_some() { Some(offset) } else { inside(member) };
            }
            if let Some((last, element)) = tail(model, ty)
                && let Some(behind) = offset.checked_sub(last.offset)
            {
                let inner = first_like(model, element, behind.checked_rem(model[element].size)?)?;
                return Some(last.offset.saturating_add(inner));
            }
            // Between members.
            (offset < model[ty].size).then_some(offset)
        }
        _ => (offset < model[ty].size).then_some(offset),
    }
}
