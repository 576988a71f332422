//! Samples by type and member: the parts of objects and variables that instructions accessed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::recording::Recording;
use crate::evidence::{LEAST_TELLING, descend};
use tenure_find::Measured;
use tenure_types::code::sweep::{Part, Subject};
use tenure_types::model::{Kind, Model, TypeId};

/// How many variables before an address are looked at: those of no bytes may lie between.
const NEAR: usize = 8;

/// What was measured of each part, filed under every type on the way to it.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    all: Vec<(Part, Measured)>,
    /// By type and offset.
    rows: Vec<Row>,
    /// Of nothing known.
    pub(crate) unknown: Measured,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    ty: TypeId,
    offset: u64,
    size: u64,
    /// Nothing is known of what the object is a part of.
    direct: bool,
    part: usize,
}

impl Parts {
    /// `at` says what the instructions access.
    pub(crate) fn new(model: &Model, recording: &Recording, at: &[(u64, Part)]) -> Self {
        let at: FxHashMap<u64, Part> = at.iter().copied().collect();
        let mut variables: Vec<(u64, u32)> =
            model.statics().iter().map(|one| one.address).zip(0..).collect();
        variables.sort_unstable();
        let mut parts = Self::default();
        let mut all: BTreeMap<Part, Measured> = BTreeMap::new();
        for ((code, data), measured) in &recording.by {
            let of_code = at.get(code).copied();
            let variable = data.and_then(|data| variable(model, &variables, data));
            let part = match (variable, of_code) {
                // An instruction says how many bytes, and the address which variable.
                (Some(part), Some(code)) if part.subject == code.subject => Some(code),
                (Some(part), _) => Some(part),
                (None, part) => part,
            };
            match part {
                Some(part) => all.entry(part).or_default().add(measured),
                None => parts.unknown.add(measured),
            }
        }
        let mut levels = Vec::new();
        for (nth, (part, measured)) in all.into_iter().enumerate() {
            let (ty, direct) = match part.subject {
                Subject::Type(ty) => (ty, true),
                Subject::Static(index) => (model.statics()[index as usize].ty, false),
            };
            levels.clear();
            descend(model, ty, part.offset.into(), part.size.into(), &mut levels);
            let row = |(level, (ty, offset)): (usize, &(TypeId, u32))| Row {
                ty: *ty,
                offset: u64::from(*offset),
                size: part.size.into(),
                direct: direct && level == 0,
                part: nth,
            };
            parts.rows.extend(levels.iter().enumerate().map(row));
            parts.all.push((part, measured));
        }
        parts.rows.sort_unstable();
        parts
    }

    pub(crate) fn all(&self) -> &[(Part, Measured)] {
        &self.all
    }

    pub(super) fn sum(&self, parts: &[usize]) -> Measured {
        let mut sum = Measured::default();
        parts.iter().for_each(|part| sum.add(&self.all[*part].1));
        sum
    }

    /// The parts that are some bytes of a member, or have them: through each of the types on the way to it, the outermost
    /// first, each with its size and the member's offset in it.
    pub(super) fn of_member(&self, way: &[(TypeId, u64, u64)], size: u64, found: &mut Vec<usize>) {
        for (nth, (ty, bytes, offset)) in way.iter().enumerate() {
            if nth > 0 && *bytes < LEAST_TELLING {
                continue;
            }
            let start = self.rows.partition_point(|row| row.ty < *ty);
            let of_type = self.rows[start..].iter().take_while(|row| row.ty == *ty);
            let overlaps = |row: &&Row| {
                row.offset < offset.saturating_add(size) && *offset < row.offset + row.size
            };
            let rows = of_type.filter(overlaps).filter(|row| row.direct || nth == 0);
            found.extend(rows.map(|row| row.part));
        }
        found.sort_unstable();
        found.dedup();
    }

    /// The parts that are some bytes of a variable, or have them.
    pub(super) fn of_static(&self, index: usize, offset: u64, size: u64, found: &mut Vec<usize>) {
        let overlaps = |part: &Part| {
            let start = u64::from(part.offset);
            matches!(part.subject, Subject::Static(at) if at as usize == index)
                && start < offset.saturating_add(size)
                && offset < start + u64::from(part.size)
        };
        let parts = self.all.iter().enumerate().filter(|(_, (part, _))| overlaps(part));
        found.extend(parts.map(|(nth, _)| nth));
        found.sort_unstable();
        found.dedup();
    }
}

/// The variable at an address.
fn variable(model: &Model, variables: &[(u64, u32)], address: u64) -> Option<Part> {
    let after = variables.partition_point(|(start, _)| *start <= address);
    let near = variables[..after].iter().rev().take(NEAR);
    let (start, index) = near
        .copied()
        .find(|(start, index)| address - start < model[model.statics()[*index as usize].ty].size)?;
    // Elements of an array are alike: the first stands for all.
    let mut inside = address - start;
    let mut ty = model.resolved(model.statics()[index as usize].ty);
    while let Kind::Array { element, .. } = model[ty].kind {
        inside = inside.checked_rem(model[element].size)?;
        ty = model.resolved(element);
    }
    let offset = u32::try_from(inside).ok()?;
    Some(Part { subject: Subject::Static(index), offset, size: 1 })
}
