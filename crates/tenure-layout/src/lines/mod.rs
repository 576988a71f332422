//! Members on cache lines, embedded types included.
//!
//! [`LayoutModel`] combines a model with what is known of its members, and spreads a type out into its *leaves*: the
//! members inside which nothing matters. Lines are counted from the start of the type.

mod flat;
mod map;

pub(crate) use flat::{Flat, Leaf, ROOT};

use std::collections::HashMap;
use std::sync::Arc;

use crate::evidence::{CodeEvidence, is_kernel};
use crate::knowledge::Roles;
use crate::origin::is_standard;
use tenure_debuginfo::model::{BitField, Member, Model, Shape, TypeId, TypeKind};
use tenure_debuginfo::names;
use tenure_model::Role;

/// Bytes from which on malloc aligns objects to as many, on 64-bit systems: glibc's and jemalloc's smallest class.
const MALLOC_ALIGN: u64 = 16;

/// A model with what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct LayoutModel<'a> {
    /// The types.
    pub(crate) model: &'a Model,
    /// The roles of the types and members.
    pub(crate) roles: &'a Roles,
    /// Bytes of a cache line: a power of two.
    pub(crate) line_bytes: u64,
    /// What the code does with members, if it was read.
    pub(crate) evidence: Option<&'a CodeEvidence>,
    facts: Arc<Facts>,
    arranged: HashMap<TypeId, Arranged>,
}

/// A composite in another layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arranged {
    /// The offsets of its members, in the model's order.
    pub(crate) offsets: Vec<u64>,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// Members that are split off. The first has left a pointer at its place.
    pub(crate) away: Vec<usize>,
}

/// What a split-off member has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Away {
    Pointer,
    Nothing,
}

/// Bytes of a pointer, on 64-bit systems.
pub(crate) const POINTER_BYTES: u64 = 8;

#[derive(Debug)]
struct Facts {
    inside: Vec<TypeContents>,
    references: TypeReferences,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TypeContents {
    visited: bool,
    /// Whether a word is one that many CPUs write.
    contended: bool,
    known: bool,
    /// Whether a plain word is one that many CPUs write, as the code shows.
    written: bool,
}

impl TypeContents {
    fn of(role: Role) -> Self {
        Self { contended: role.is_contended(), known: true, visited: true, written: false }
    }
}

#[derive(Debug)]
struct TypeReferences {
    /// How many types point to each type.
    pointed: Vec<u32>,
    /// How many variables are of each type, or arrays of it.
    variables: Vec<u32>,
    /// The types that embed each type by value, as a named member.
    embedded: Vec<Vec<TypeId>>,
    /// Whether each type waits for a grace period by a member.
    grace: Vec<bool>,
    /// Whether the types are a kernel's: its slabs align objects that fill lines.
    slabs: bool,
}

impl<'a> LayoutModel<'a> {
    /// Looks through all types once.
    pub(crate) fn new(model: &'a Model, roles: &'a Roles, line_bytes: u64) -> Self {
        assert!(line_bytes.is_power_of_two(), "a line of {line_bytes} bytes");
        let mut inside = vec![TypeContents::default(); model.types().len()];
        for (id, _, _) in model.composites() {
            look_inside(model, roles, &mut inside, id);
        }
        let facts = Arc::new(Facts { inside, references: TypeReferences::of(model) });
        Self { model, roles, line_bytes, evidence: None, facts, arranged: HashMap::new() }
    }

    /// The same with what the code does.
    pub(crate) fn with_evidence(self, evidence: Option<&'a CodeEvidence>) -> Self {
        Self { evidence, ..self }
    }

    /// The same with some types in another layout. If one changes size, ask only for those types that embed it which are among them.
    pub(crate) fn arranged(&self, arranged: HashMap<TypeId, Arranged>) -> LayoutModel<'a> {
        LayoutModel { arranged, ..self.clone() }
    }

    pub(crate) fn size_of(&self, id: TypeId) -> u64 {
        let size = self.model[id].size;
        if self.arranged.is_empty() {
            return size;
        }
        match self.model[id].kind {
            TypeKind::Alias(of) | TypeKind::Qualified(_, of) => self.size_of(of),
            TypeKind::Array { element, count } => self.size_of(element).saturating_mul(count),
            _ => self.arranged.get(&id).map_or(size, |arranged| arranged.size),
        }
    }

    pub(crate) fn bytes_of(&self, member: &Member) -> u64 {
        member.bits.map_or_else(|| self.size_of(member.ty), BitField::bytes)
    }

    fn offset_of(&self, owner: TypeId, index: usize, member: &Member) -> u64 {
        self.arranged.get(&owner).map_or(member.offset, |arranged| arranged.offsets[index])
    }

    pub(crate) fn align_of(&self, id: TypeId) -> u64 {
        self.arranged.get(&id).map_or(self.model[id].align, |arranged| arranged.align)
    }

    fn away(&self, owner: TypeId, index: usize) -> Option<Away> {
        let away = &self.arranged.get(&owner)?.away;
        let place = away.iter().position(|member| *member == index)?;
        Some(if place == 0 { Away::Pointer } else { Away::Nothing })
    }

    /// Whether a value holds a contended word.
    pub(crate) fn is_contended(&self, id: TypeId) -> bool {
        self.roles.of_type(id).is_some_and(Role::is_contended)
            || self.facts.inside[id.index()].contended
    }

    /// Whether a value holds a plain word that many CPUs write, as the code shows.
    pub(crate) fn is_written_inside(&self, id: TypeId) -> bool {
        self.facts.inside[id.index()].written
    }

    /// Whether a leaf is such a word.
    pub(crate) fn is_written(&self, leaf: &Leaf) -> bool {
        leaf.role == Role::Plain
            && !leaf.is_whole()
            && matches!(self.model[leaf.owner].kind, TypeKind::Composite { .. })
            && self.roles.is_written(leaf.owner, leaf.member)
    }

    pub(crate) fn line_of(&self, offset: u64) -> u64 {
        offset / self.line_bytes
    }

    pub(crate) fn share(&self, a: (u64, u64), b: (u64, u64)) -> bool {
        share(self.line_bytes, a, b)
    }

    pub(crate) fn pointed_from(&self, id: TypeId) -> u32 {
        self.facts.references.pointed[id.index()]
    }

    /// Whether a type is there for one variable or an array: no other type refers to it.
    pub(crate) fn is_global(&self, id: TypeId) -> bool {
        self.facts.references.variables[id.index()] == 1
            && self.pointed_from(id) == 0
            && self.embedders(id).is_empty()
    }

    /// Whether all objects of a type are parts of those of another, as far as types and variables tell.
    pub(crate) fn has_one_place(&self, id: TypeId) -> bool {
        self.embedders(id).len() == 1
            && self.facts.references.variables[id.index()] == 0
            && !self.is_standard(id)
    }

    pub(crate) fn is_standard(&self, id: TypeId) -> bool {
        is_standard(self.model, &self.model[id].name)
    }

    /// The types that embed this one by value as a named member, each once.
    pub(crate) fn embedders(&self, id: TypeId) -> &[TypeId] {
        &self.facts.references.embedded[id.index()]
    }

    /// Whether a kernel's slab aligns objects of the type to lines: they fill lines, and no other type embeds them.
    pub(crate) fn fills_slabs(&self, id: TypeId) -> bool {
        let size = self.size_of(id);
        let fills = size > 0 && size.is_multiple_of(self.line_bytes);
        fills && self.facts.references.slabs && self.embedders(id).is_empty()
    }

    /// Objects of the type start at multiples of this.
    pub(crate) fn starts(&self, id: TypeId) -> u64 {
        let line = if self.fills_slabs(id) { self.line_bytes } else { 1 };
        let allocated = if self.size_of(id) >= MALLOC_ALIGN { MALLOC_ALIGN } else { 1 };
        self.align_of(id).max(allocated).max(line)
    }

    /// Whether values are freed after a grace period, so that readers may find them without a lock.
    pub(crate) fn waits_for_readers(&self, id: TypeId) -> bool {
        self.facts.references.grace[id.index()]
    }

    pub(crate) fn role_of(&self, composite: TypeId, index: usize, member: &Member) -> Option<Role> {
        self.whole(self.roles.of_member(composite, index), member.ty)
    }

    /// The role, if it is of the whole value: an array of contended words is not one word.
    pub(crate) fn whole(&self, role: Option<Role>, id: TypeId) -> Option<Role> {
        let is_array =
            || matches!(self.model[self.model.resolved(id)].kind, TypeKind::Array { .. });
        role.filter(|role| !role.is_contended() || !is_array())
    }

    /// Whether a member is the discriminant of an enum with data.
    pub(crate) fn is_discriminant(&self, owner: TypeId, member: &Member) -> bool {
        let variants =
            matches!(self.model[owner].kind, TypeKind::Composite { shape: Shape::Variants, .. });
        let ty = self.model.resolved(member.ty);
        variants && !matches!(self.model[ty].kind, TypeKind::Composite { .. })
    }

    /// A type's name for people, without the parameters that are the default everywhere.
    pub(crate) fn spelled(&self, id: TypeId) -> String {
        names::shortened(&self.model.spelled(id))
    }

    /// Names a member without a name by the first named member inside.
    pub(crate) fn nameless(&self, owner: TypeId, member: &Member) -> String {
        let mut at = self.model.resolved(member.ty);
        // Ends: rule 2 of the model.
        while let TypeKind::Composite { members, .. } = &self.model[at].kind {
            let Some(first) = members.first() else { break };
            if !first.name.is_empty() {
                let more = if members.len() > 1 { ", …" } else { "" };
                return format!("{{{}{more}}}", first.name);
            }
            at = self.model.resolved(first.ty);
        }
        match self.model[owner].kind {
            TypeKind::Composite { shape: Shape::Variants, .. } => "(discriminant)".to_owned(),
            _ => "(anonymous)".to_owned(),
        }
    }
}

impl TypeReferences {
    fn of(model: &Model) -> Self {
        let count = model.types().len();
        let mut shared = Self {
            pointed: vec![0; count],
            variables: vec![0; count],
            embedded: vec![Vec::new(); count],
            grace: vec![false; count],
            slabs: is_kernel(model),
        };
        // The last type that pointed or embedded, so that each counts once.
        let mut last = vec![None; count];
        let mut last_inside = vec![None; count];
        let mut work = Vec::new();
        for (outer, ty, _) in model.composites() {
            // Members of an anonymous type count for the one around it.
            if ty.name.is_empty() {
                continue;
            }
            work.push(outer);
            while let Some(at) = work.pop() {
                for member in model[at].kind.members() {
                    let to = innermost(model, member.ty);
                    match &model[to].kind {
                        TypeKind::Pointer(Some(target)) => {
                            let target = model.resolved(*target);
                            if last[target.index()] != Some(outer) {
                                last[target.index()] = Some(outer);
                                shared.pointed[target.index()] += 1;
                            }
                        }
                        TypeKind::Composite { .. } if last_inside[to.index()] != Some(outer) => {
                            last_inside[to.index()] = Some(outer);
                            let name = &*model[to].name;
                            if name.is_empty() {
                                work.push(to);
                            } else {
                                shared.grace[outer.index()] |=
                                    matches!(name, "callback_head" | "rcu_head" | "rcu_work");
                                shared.embedded[to.index()].push(outer);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        for variable in model.statics() {
            shared.variables[innermost(model, variable.ty).index()] += 1;
        }
        // An embedded type's grace period holds for the outer type too.
        let mut work: Vec<TypeId> =
            model.iter().map(|(id, _)| id).filter(|id| shared.grace[id.index()]).collect();
        while let Some(inner) = work.pop() {
            for outer in &shared.embedded[inner.index()] {
                if !std::mem::replace(&mut shared.grace[outer.index()], true) {
                    work.push(*outer);
                }
            }
        }
        shared
    }
}

/// The element of an array of arrays; else the type itself.
fn innermost(model: &Model, id: TypeId) -> TypeId {
    let mut at = model.resolved(id);
    while let TypeKind::Array { element, .. } = model[at].kind {
        at = model.resolved(element);
    }
    at
}

pub(crate) fn share(line_bytes: u64, a: (u64, u64), b: (u64, u64)) -> bool {
    let first = |(offset, _): (u64, u64)| offset / line_bytes;
    let last = |(offset, size): (u64, u64)| offset.saturating_add(size.max(1) - 1) / line_bytes;
    first(a) <= last(b) && first(b) <= last(a)
}

/// Recursive: rule 2 of the model bounds the depth.
fn look_inside(
    model: &Model,
    roles: &Roles,
    inside: &mut [TypeContents],
    id: TypeId,
) -> TypeContents {
    if inside[id.index()].visited {
        return inside[id.index()];
    }
    let mut found = TypeContents { visited: true, ..TypeContents::default() };
    match &model[id].kind {
        TypeKind::Composite { members, .. } => {
            for (index, member) in members.iter().enumerate() {
                let part = match roles.of_member(id, index) {
                    Some(role) => TypeContents::of(role),
                    None => look_inside(model, roles, inside, member.ty),
                };
                found.contended |= part.contended;
                found.known |= part.known;
                found.written |= part.written || roles.is_written(id, index);
            }
        }
        TypeKind::Alias(of)
        | TypeKind::Qualified(_, of)
        | TypeKind::Array { element: of, count: 1.. } => {
            found = match roles.of_type(*of) {
                Some(role) => TypeContents::of(role),
                None => look_inside(model, roles, inside, *of),
            };
        }
        _ => {}
    }
    inside[id.index()] = found;
    found
}
