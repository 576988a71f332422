//! A type spread out into leaves.

use std::fmt::Write as _;

use super::{Away, LayoutModel, POINTER_BYTES};
use crate::evidence::{Uses, is_number};
use tenure_debuginfo::model::{Member, Shape, TypeId, TypeKind};
use tenure_model::Role;

/// Leaves of one type; the largest of Linux has a tenth.
const MAX_LEAVES: usize = 1 << 14;

/// Elements of an array that are all spread out. Of a longer one only the first and last are spread out: the others have the same neighbours.
const MAX_SPREAD_ELEMENTS: u64 = 4;

/// The member of a leaf that is the whole type.
const NO_MEMBER: usize = usize::MAX;

/// The step that is the type itself.
pub(crate) const ROOT: usize = 0;

#[derive(Debug)]
pub(crate) struct Flat {
    /// Sorted by offset.
    pub(crate) leaves: Vec<Leaf>,
    /// The largest end up to each leaf: alternatives of a union differ in size.
    ends: Vec<u64>,
    steps: Vec<EmbedStep>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf {
    /// Bytes from the start of the type that was spread out.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) role: Role,
    pub(crate) ty: TypeId,
    pub(crate) owner: TypeId,
    pub(crate) member: usize,
    /// Its place in an array of words.
    element: Option<u64>,
    pub(crate) step: usize,
}

impl Leaf {
    pub(crate) fn whole(ty: TypeId, offset: u64, size: u64, role: Role) -> Self {
        Self { offset, size, role, ty, owner: ty, member: NO_MEMBER, element: None, step: ROOT }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.member == NO_MEMBER
    }

    /// Whether both are one member: alternatives of a union may have the same bytes.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let of = |leaf: &Self| (leaf.range(), leaf.step, leaf.owner, leaf.member);
        of(self) == of(other)
    }

    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    pub(crate) fn range(&self) -> (u64, u64) {
        (self.offset, self.size)
    }
}

/// An embedded value on the way to a leaf.
#[derive(Debug, Clone, Copy)]
struct EmbedStep {
    /// [`ROOT`] is its own parent.
    parent: usize,
    depth: usize,
    ty: TypeId,
    /// The member of the parent's type, and the element if that is an array.
    member: usize,
    element: Option<u64>,
    offset: u64,
    /// Whether its members are spelled as the parent's.
    anonymous: bool,
}

impl LayoutModel<'_> {
    pub(crate) fn flat(&self, id: TypeId) -> Flat {
        let (parent, element, anonymous) = (ROOT, None, false);
        let root = EmbedStep { parent, depth: 0, ty: id, member: 0, element, offset: 0, anonymous };
        let mut flat = Flat { leaves: Vec::new(), ends: Vec::new(), steps: vec![root] };
        self.spread(&mut flat, ROOT);
        flat.leaves.sort_by_key(|leaf| leaf.offset);
        let mut end = 0;
        flat.ends.extend(flat.leaves.iter().map(|leaf| {
            end = leaf.end().max(end);
            end
        }));
        flat
    }

    /// The leaves of an element or a variable: one if the whole type is known.
    pub(crate) fn value(&self, id: TypeId) -> Vec<Leaf> {
        match self.whole(self.roles.of_type(id), id) {
            Some(role) => vec![Leaf::whole(id, 0, self.size_of(id), role)],
            None => self.flat(id).leaves,
        }
    }

    /// Recursive: rule 2 of the model bounds the depth.
    fn spread(&self, flat: &mut Flat, step: usize) {
        let (owner, base) = (flat.steps[step].ty, flat.steps[step].offset);
        let TypeKind::Composite { members, .. } = &self.model[owner].kind else {
            let place = LeafPlace { step, owner, member: 0, offset: base };
            match self.whole(self.roles.of_type(owner), owner) {
                Some(role) => place.leaf(flat, owner, self.size_of(owner), role, None),
                None => self.spread_member(flat, place, &Member::new("", 0, owner)),
            }
            return;
        };
        for (index, member) in members.iter().enumerate() {
            let offset = base.saturating_add(self.offset_of(owner, index, member));
            let place = LeafPlace { step, owner, member: index, offset };
            match (self.away(owner, index), self.role_of(owner, index, member)) {
                (Some(Away::Pointer), _) => {
                    place.leaf(flat, member.ty, POINTER_BYTES, Role::ReadMostly, None);
                }
                (Some(Away::Nothing), _) => {}
                (None, Some(role)) => {
                    place.leaf(flat, member.ty, self.bytes_of(member), role, None);
                }
                (None, None) => self.spread_member(flat, place, member),
            }
        }
    }

    fn spread_member(&self, flat: &mut Flat, place: LeafPlace, member: &Member) {
        let model = self.model;
        let resolved = model.resolved(member.ty);
        let is_full = flat.leaves.len() >= MAX_LEAVES;
        match model[resolved].kind {
            TypeKind::Composite { shape, .. }
                if !is_full && self.is_spread(member, resolved, shape) =>
            {
                let is_anonymous = member.name.is_empty() || member.inherited;
                let step = place.step(flat, resolved, None, is_anonymous);
                self.spread(flat, step);
            }
            TypeKind::Array { element, count: count @ 1.. }
                if !is_full && self.is_contended(element) =>
            {
                let (stride, inner) = (self.size_of(element), model.resolved(element));
                let is_long = count > MAX_SPREAD_ELEMENTS;
                let edges = if is_long { vec![0, count - 1] } else { (0..count).collect() };
                for at in edges {
                    if is_long && at > 0 {
                        let between = stride.saturating_mul(at - 1);
                        place.further(stride).leaf(flat, element, between, Role::Plain, Some(1));
                    }
                    let place = place.further(stride.saturating_mul(at));
                    match self.whole(self.roles.of_type(element), element) {
                        None if model[inner].kind.is_composite() => {
                            let step = place.step(flat, inner, Some(at), false);
                            self.spread(flat, step);
                        }
                        role => {
                            let role = role.unwrap_or(Role::Plain);
                            place.leaf(flat, element, stride, role, Some(at));
                        }
                    }
                }
            }
            _ => place.leaf(flat, member.ty, self.bytes_of(member), Role::Plain, None),
        }
    }

    /// Whether a composite contains members to be told apart.
    fn is_spread(&self, member: &Member, resolved: TypeId, shape: Shape) -> bool {
        let inside = self.facts.inside[resolved.index()];
        let has_words = inside.contended || inside.known || inside.written;
        has_words || member.inherited || (member.name.is_empty() && shape != Shape::Union)
    }
}

#[derive(Debug, Clone, Copy)]
struct LeafPlace {
    step: usize,
    owner: TypeId,
    member: usize,
    offset: u64,
}

impl LeafPlace {
    fn leaf(self, flat: &mut Flat, ty: TypeId, size: u64, role: Role, element: Option<u64>) {
        // Markers and empty structs lie on no line.
        if size > 0 {
            let Self { step, owner, member, offset } = self;
            flat.leaves.push(Leaf { offset, size, role, ty, owner, member, element, step });
        }
    }

    fn step(self, flat: &mut Flat, ty: TypeId, element: Option<u64>, anonymous: bool) -> usize {
        let Self { step: parent, member, offset, .. } = self;
        let depth = flat.steps[parent].depth + 1;
        flat.steps.push(EmbedStep { parent, depth, ty, member, element, offset, anonymous });
        flat.steps.len() - 1
    }

    fn further(self, bytes: u64) -> Self {
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }
}

impl Flat {
    /// Leaves on the word's lines, itself included, the last first.
    pub(crate) fn around(&self, word: &Leaf, line_bytes: u64) -> impl Iterator<Item = &Leaf> {
        let from = word.offset / line_bytes * line_bytes;
        let to = ((word.end() - 1) / line_bytes + 1).saturating_mul(line_bytes);
        let first = self.ends.partition_point(|&end| end <= from);
        let last = self.leaves.partition_point(|leaf| leaf.offset < to);
        let leaves = self.leaves.get(first..last).unwrap_or_default();
        leaves.iter().rev().filter(move |leaf| leaf.end() > from)
    }

    /// The innermost embedded named type that holds both leaves, or [`ROOT`]; none if they are no neighbours, but parts of one
    /// array, or in alternatives of a union and so never there at the same time.
    pub(crate) fn common(&self, layouts: &LayoutModel<'_>, a: &Leaf, b: &Leaf) -> Option<usize> {
        let (mut x, mut y) = (a.step, b.step);
        let (mut below_x, mut below_y) = (None, None);
        while x != y {
            if self.steps[x].depth >= self.steps[y].depth {
                below_x = Some(x);
                x = self.steps[x].parent;
            } else {
                below_y = Some(y);
                y = self.steps[y].parent;
            }
        }
        let to_a = below_x.map_or(a.member, |below| self.steps[below].member);
        let to_b = below_y.map_or(b.member, |below| self.steps[below].member);
        let is_variant = |member: usize| {
            let ty = layouts.model[self.steps[x].ty].kind.members()[member].ty;
            layouts.model[layouts.model.resolved(ty)].kind.is_composite()
        };
        let is_exclusive = || match layouts.model[self.steps[x].ty].kind {
            TypeKind::Composite { shape: Shape::Union, .. } => true,
            // The discriminant is beside all variants.
            TypeKind::Composite { shape: Shape::Variants, .. } => {
                is_variant(to_a) && is_variant(to_b)
            }
            _ => false,
        };
        if to_a == to_b || is_exclusive() {
            return None;
        }
        while self.steps[x].anonymous {
            x = self.steps[x].parent;
        }
        Some(x)
    }

    pub(crate) fn embedded(&self, step: usize) -> (TypeId, u64) {
        (self.steps[step].ty, self.steps[step].offset)
    }

    /// The steps to a value, the innermost first.
    fn steps_to(&self, step: usize) -> impl Iterator<Item = usize> {
        let inside = |step: usize| (step != ROOT).then_some(step);
        std::iter::successors(inside(step), move |at| inside(self.steps[*at].parent))
    }

    /// The outermost named value around a leaf; none if the leaf is a member of the whole type.
    pub(crate) fn embedding(&self, leaf: &Leaf) -> Option<usize> {
        self.steps_to(leaf.step).filter(|at| !self.steps[*at].anonymous).last()
    }

    /// What the code does with a leaf, wherever it is a part of the spread-out type or of an embedded one; `None` where
    /// the code is not known.
    pub(crate) fn uses(&self, layouts: &LayoutModel<'_>, leaf: &Leaf) -> Option<Uses> {
        let evidence = layouts.evidence?;
        Some(evidence.of_member(self.way(layouts, leaf).into_iter(), leaf.size))
    }

    /// The types on the way to a leaf, the outermost first, each with its size and where the leaf begins in it: as the
    /// program has them, however they are arranged here; of an array, in its first element.
    pub(crate) fn way(&self, layouts: &LayoutModel<'_>, leaf: &Leaf) -> Vec<(TypeId, u64, u64)> {
        let model = layouts.model;
        let offset = |owner: TypeId, member: usize| {
            model[owner].kind.members().get(member).map_or(0, |one| one.offset)
        };
        let mut inside = offset(leaf.owner, leaf.member);
        let mut way = vec![(self.steps[leaf.step].ty, inside)];
        for step in self.steps_to(leaf.step).map(|at| &self.steps[at]) {
            let outer = self.steps[step.parent].ty;
            inside = inside.saturating_add(offset(outer, step.member));
            way.push((outer, inside));
        }
        way.into_iter().rev().map(|(ty, inside)| (ty, model[ty].size, inside)).collect()
    }

    /// A leaf's place among all.
    pub(crate) fn place(&self, leaf: &Leaf) -> Option<usize> {
        let first = self.leaves.partition_point(|other| other.offset < leaf.offset);
        let same = self.leaves[first..].iter().take_while(|other| other.offset == leaf.offset);
        same.enumerate().find(|(_, other)| other.is(leaf)).map(|(nth, _)| first + nth)
    }

    /// What lies at an offset.
    pub(crate) fn at(&self, offset: u64) -> Option<&Leaf> {
        let first = self.ends.partition_point(|&end| end <= offset);
        let near = self.leaves.get(first..).unwrap_or_default().iter();
        near.take_while(|leaf| leaf.offset <= offset).find(|leaf| offset < leaf.end())
    }

    /// Whether a leaf without a role is a plain word that many CPUs write, as the code shows it of this type's objects. Of an
    /// embedded type's objects it counts what is done to any of them only if all are parts of this one, or if this one begins
    /// with it, since pointers are cast. Else each type with a string would have a word that all strings' functions write.
    pub(crate) fn is_written(&self, layouts: &LayoutModel<'_>, leaf: &Leaf) -> bool {
        if leaf.step == ROOT {
            return layouts.is_written(leaf);
        }
        let is_word =
            leaf.role == Role::Plain && leaf.size <= 8 && is_number(layouts.model, leaf.ty);
        let Some(evidence) = layouts.evidence.filter(|_| is_word) else { return false };
        let way = self.way(layouts, leaf);
        let is_start =
            way.iter().all(|(ty, _, inside)| *inside == way[0].2 && !layouts.is_standard(*ty));
        if is_start && layouts.is_written(leaf) {
            return true;
        }
        let charged = way.iter().copied().enumerate().filter(|(nth, (ty, _, inside))| {
            let begins = *inside == way[0].2 && !layouts.is_standard(*ty);
            *nth == 0 || begins || layouts.has_one_place(*ty)
        });
        let uses = evidence.of_member(charged.map(|(_, step)| step), leaf.size);
        // Of many that write such words, one is enough that is seen to write this one: but what a standard library's type is
        // inlined into writes it as well.
        let is_own = || way.iter().all(|(ty, ..)| !layouts.is_standard(*ty));
        let is_reached = || is_own() && uses.updaters(false).next().is_some();
        evidence.are_updates(&uses, true) || (layouts.is_written(leaf) && is_reached())
    }

    /// The leaf's path as the source would spell it.
    pub(crate) fn path(&self, layouts: &LayoutModel<'_>, leaf: &Leaf) -> String {
        let mut path = self.path_of(layouts, leaf.step);
        append(layouts, &mut path, leaf.owner, leaf.member, leaf.element);
        path
    }

    pub(crate) fn path_of(&self, layouts: &LayoutModel<'_>, step: usize) -> String {
        let way: Vec<usize> = self.steps_to(step).collect();
        let mut path = String::new();
        for step in way.into_iter().rev().map(|at| &self.steps[at]) {
            if !step.anonymous || step.element.is_some() {
                append(layouts, &mut path, self.steps[step.parent].ty, step.member, step.element);
            }
        }
        path
    }

    /// The spread-out type's direct member that contains the leaf.
    pub(crate) fn top_member(&self, leaf: &Leaf) -> usize {
        self.steps_to(leaf.step).last().map_or(leaf.member, |at| self.steps[at].member)
    }
}

fn append(
    layouts: &LayoutModel<'_>,
    path: &mut String,
    owner: TypeId,
    member: usize,
    element: Option<u64>,
) {
    if let Some(member) = layouts.model[owner].kind.members().get(member)
        && (!member.inherited || layouts.is_discriminant(owner, member))
    {
        let nameless = member.name.is_empty().then(|| layouts.nameless(owner, member));
        let name = nameless.as_deref().unwrap_or(&member.name);
        if !path.is_empty() && !name.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    }
    if let Some(element) = element {
        // Writing to a string does not fail.
        let _ = write!(path, "[{element}]");
    }
}
