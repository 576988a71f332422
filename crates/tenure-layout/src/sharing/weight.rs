//! How likely another CPU reads a member while the word beside it is written.

use crate::lines::{LayoutModel, Leaf};
use tenure_debuginfo::model::{Qualifier, TypeId, TypeKind};
use tenure_model::Role;

/// The share of its weight that a lock's neighbour has: its reader has just written the lock.
pub(super) const GUARDED: f64 = 0.15;

/// Bytes of the links of a list or a tree: three pointers.
const MAX_LINKS_BYTES: u64 = 24;

/// The kernel's links of hash tables and trees: a lookup reads those of all objects on its way.
const WALKED: [&str; 6] =
    ["hlist_node", "hlist_bl_node", "hlist_nulls_node", "rhash_head", "rhlist_head", "rb_node"];

const CONTENDED: &str = "contended too: each takes the line from the other";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Why {
    what: &'static str,
    guard: &'static str,
    is_guarded: bool,
}

impl Why {
    pub(crate) const WRITTEN: Self =
        Self::open("written too, in its element: each takes the line from the other");

    const fn open(what: &'static str) -> Self {
        Self { what, guard: "", is_guarded: false }
    }

    /// Whether the word beside it, or its lock, guards it.
    pub(crate) fn is_guarded(self) -> bool {
        self.is_guarded
    }

    pub(crate) fn words(self) -> String {
        [self.what, self.guard].concat()
    }
}

pub(crate) fn of(layouts: &LayoutModel<'_>, word: Role, neighbour: &Leaf) -> Option<(f64, Why)> {
    let (weight, what) = match neighbour.role {
        Role::Cold => return None,
        Role::ReadMostly => (1.0, "read-mostly"),
        Role::Written => (0.5, "written too, says a rule"),
        Role::Count
        | Role::Atomic
        | Role::Statistic
        | Role::Budget
        | Role::Flag
        | Role::QueueEnd
        | Role::Ticket
        | Role::State => (0.5, CONTENDED),
        Role::Lock | Role::Sequence => (0.2, "a lock beside it"),
        Role::Plain => by_type(layouts, neighbour.ty),
    };
    // A read-mostly member is read without the lock; an atomic one, or a lock, is used without this one.
    let guarded = neighbour.role != Role::ReadMostly && !neighbour.role.is_contended();
    let (weight, guard) = match word {
        Role::Lock if guarded => (weight * GUARDED, ", guarded by the lock"),
        Role::Sequence if guarded => (weight * GUARDED, ", read under the sequence count"),
        // A plain word that many functions write.
        Role::Plain if guarded => (weight * GUARDED, ", perhaps used by those that write the word"),
        _ => (weight, ""),
    };
    Some((weight, Why { what, guard, is_guarded: !guard.is_empty() }))
}

/// The weight of what another lock guards than the word, or than the word's lock.
pub(super) fn of_other_lock(layouts: &LayoutModel<'_>, neighbour: &Leaf) -> (f64, Why) {
    let (weight, what) = by_type(layouts, neighbour.ty);
    (weight, Why { what, guard: ", used under another lock", is_guarded: false })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Victimhood {
    open: f64,
    guarded: f64,
}

impl Victimhood {
    /// The weight of what is no victim.
    pub(crate) fn none() -> Self {
        Self { open: 0.0, guarded: 0.0 }
    }

    pub(crate) fn of(layouts: &LayoutModel<'_>, leaf: &Leaf) -> Self {
        let beside = |word| of(layouts, word, leaf).map_or(0.0, |(weight, _)| weight);
        Self { open: beside(Role::Count), guarded: beside(Role::Lock) }
    }

    pub(crate) fn beside(self, word: Role) -> f64 {
        match word {
            Role::Lock | Role::Sequence => self.guarded,
            _ => self.open,
        }
    }
}

/// The weight of a word in the next element of an array, or in another variable: neither guards the other.
pub(crate) fn of_stranger(layouts: &LayoutModel<'_>, neighbour: &Leaf) -> Option<(f64, Why)> {
    let found = of(layouts, Role::Atomic, neighbour)?;
    Some(if neighbour.role.is_contended() { (0.8, Why::open(CONTENDED)) } else { found })
}

fn by_type(layouts: &LayoutModel<'_>, id: TypeId) -> (f64, &'static str) {
    let model = layouts.model;
    if let TypeKind::Qualified(Qualifier::Const, _) = model[id].kind {
        return (0.9, "constant: only ever read");
    }
    match &model[model.resolved(id)].kind {
        _ if is_walked(layouts, id) => (0.5, "a link that lookups of others walk"),
        TypeKind::Pointer(_) if points(layouts, id) => (0.7, "a pointer: read to be followed"),
        TypeKind::Pointer(_) => (0.9, "points to a function: only ever read"),
        TypeKind::Scalar(_) => (0.4, "a number"),
        TypeKind::Composite { members, .. }
            if model[id].size <= MAX_LINKS_BYTES
                && !members.is_empty()
                && members.iter().all(|member| is_link(layouts, member.ty)) =>
        {
            (0.1, "links of a list: used when it is linked")
        }
        _ => (0.3, "several values"),
    }
}

pub(crate) fn is_walked(layouts: &LayoutModel<'_>, id: TypeId) -> bool {
    WALKED.contains(&&*layouts.model[layouts.model.resolved(id)].name)
}

fn points(layouts: &LayoutModel<'_>, id: TypeId) -> bool {
    let model = layouts.model;
    match model[model.resolved(id)].kind {
        TypeKind::Pointer(Some(to)) => {
            !matches!(model[model.resolved(to)].kind, TypeKind::Function)
        }
        TypeKind::Pointer(None) => true,
        _ => false,
    }
}

fn is_link(layouts: &LayoutModel<'_>, id: TypeId) -> bool {
    let is_void = matches!(layouts.model[layouts.model.resolved(id)].kind, TypeKind::Pointer(None));
    !is_void && points(layouts, id)
}
