//! How likely somebody reads a member while the word beside it is written.

use crate::lines::{Layouts, Leaf};
use crate::result::Role;
use tenure_types::model::{Kind, Qualifier, TypeId};

/// Below this, a neighbour is not worth a line of text.
const LEAST: f64 = 0.05;

/// What a lock's neighbours count for: whoever reads them has just written the lock.
const GUARDED: f64 = 0.15;

/// The largest bundle of pointers that is taken for the links of a list or a tree.
const LARGEST_LINKS: u64 = 24;

/// Where a weight comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Why {
    what: What,
    /// What guards the member.
    guard: Option<Guard>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    Lock,
    Sequence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    ReadMostly,
    Written,
    Contended,
    Lock,
    Constant,
    Function,
    Pointer,
    Number,
    Links,
    Several,
}

impl Why {
    /// In words.
    pub(crate) fn words(self) -> String {
        let what = match self.what {
            What::ReadMostly => "read-mostly, says a rule",
            What::Written => "written too, says a rule",
            What::Contended => "contended too: each takes the line from the other",
            What::Lock => "a lock beside it",
            What::Constant => "constant: only ever read",
            What::Function => "points to a function: only ever read",
            What::Pointer => "a pointer: read to be followed",
            What::Number => "a number",
            What::Links => "links of a list: used when it is linked",
            What::Several => "several values",
        };
        match self.guard {
            None => what.to_owned(),
            Some(Guard::Lock) => format!("{what}, guarded by the lock"),
            Some(Guard::Sequence) => format!("{what}, read under the sequence count"),
        }
    }
}

/// The weight of a neighbour of a contended word, if it has one.
pub(crate) fn of(layouts: &Layouts<'_>, word: Role, neighbour: &Leaf) -> Option<(f64, Why)> {
    let (weight, what) = match neighbour.role {
        Role::Cold => return None,
        Role::ReadMostly => (1.0, What::ReadMostly),
        Role::Written => (0.5, What::Written),
        Role::Count | Role::Atomic => (0.5, What::Contended),
        Role::Lock | Role::Sequence => (0.2, What::Lock),
        Role::Plain => by_type(layouts, neighbour.ty),
    };
    let guard = match word {
        Role::Lock => Some(Guard::Lock),
        Role::Sequence => Some(Guard::Sequence),
        _ => None,
    };
    // Who says that a member is read mostly says that it is read without the lock, and who makes it
    // atomic or gives it a lock of its own expects that it is used without this one.
    let guard =
        guard.filter(|_| neighbour.role != Role::ReadMostly && !neighbour.role.is_contended());
    let weight = if guard.is_some() { weight * GUARDED } else { weight };
    (weight >= LEAST).then_some((weight, Why { what, guard }))
}

/// How much a member suffers beside a contended word of either kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Victimhood {
    open: f64,
    guarded: f64,
}

impl Victimhood {
    /// Beside a word of this role.
    pub(crate) fn beside(self, word: Role) -> f64 {
        match word {
            Role::Lock | Role::Sequence => self.guarded,
            _ => self.open,
        }
    }
}

/// How much a member would suffer beside a contended word.
pub(crate) fn victimhood(layouts: &Layouts<'_>, leaf: &Leaf) -> Victimhood {
    let beside = |word| of(layouts, word, leaf).map_or(0.0, |(weight, _)| weight);
    Victimhood { open: beside(Role::Count), guarded: beside(Role::Lock) }
}

/// The weight of a word of the next element of an array, or of another variable: nothing guards the
/// one by the other.
pub(crate) fn of_stranger(layouts: &Layouts<'_>, neighbour: &Leaf) -> Option<(f64, Why)> {
    let (weight, why) = of(layouts, Role::Atomic, neighbour)?;
    match neighbour.role {
        role if role.is_contended() => Some((0.8, Why { what: What::Contended, ..why })),
        _ => Some((weight, why)),
    }
}

fn by_type(layouts: &Layouts<'_>, id: TypeId) -> (f64, What) {
    let model = layouts.model;
    if let Kind::Qualified(Qualifier::Const, _) = model[id].kind {
        return (0.9, What::Constant);
    }
    match &model[model.resolved(id)].kind {
        Kind::Pointer(Some(to)) => match model[model.resolved(*to)].kind {
            Kind::Function => (0.9, What::Function),
            _ => (0.7, What::Pointer),
        },
        Kind::Pointer(None) => (0.7, What::Pointer),
        Kind::Scalar(_) => (0.4, What::Number),
        Kind::Composite { members, .. }
            if model[id].size <= LARGEST_LINKS
                && !members.is_empty()
                && members.iter().all(|member| points(layouts, member.ty)) =>
        {
            (0.1, What::Links)
        }
        _ => (0.3, What::Several),
    }
}

/// Whether values are pointers to data.
fn points(layouts: &Layouts<'_>, id: TypeId) -> bool {
    let model = layouts.model;
    match model[model.resolved(id)].kind {
        Kind::Pointer(Some(to)) => !matches!(model[model.resolved(to)].kind, Kind::Function),
        _ => false,
    }
}
