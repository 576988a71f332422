//! Samples by type and member: the parts of objects and variables that instructions accessed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::evidence::{MIN_TELLING_BYTES, descend};
use tenure_code::sweep::{AccessedPart, Subject, first_like};
use tenure_debuginfo::model::{Model, TypeId};
use tenure_debuginfo::perf::ProgramSamples;
use tenure_model::Measured;

/// How many variables before an address are looked at: those of no bytes may lie between.
const NEAR: usize = 8;

/// What was measured of each part, filed under every type on the way to it.
#[derive(Debug, Default)]
pub(crate) struct MeasuredParts {
    all: Vec<PartSamples>,
    /// Rows, by type and offset.
    rows: Vec<PartRow>,
}

/// What was measured of one part; of a variable, on one line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartSamples {
    pub(crate) part: AccessedPart,
    /// The lowest address that was sampled there, of a variable. The part alone does not say which element of an array it is.
    pub(crate) address: Option<u64>,
    pub(crate) measured: Measured,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PartRow {
    ty: TypeId,
    offset: u64,
    size: u64,
    /// Nothing is known of what the object is a part of.
    direct: bool,
    part: usize,
}

impl MeasuredParts {
    /// `at` says what the instructions access.
    pub(crate) fn new(
        model: &Model,
        recording: &ProgramSamples,
        at: &[(u64, AccessedPart)],
        line_bytes: u64,
    ) -> Self {
        let at: FxHashMap<u64, AccessedPart> = at.iter().copied().collect();
        let mut variables: Vec<(u64, u32)> =
            model.statics().iter().map(|one| one.address).zip(0..).collect();
        variables.sort_unstable();
        let mut parts = Self::default();
        let mut all: BTreeMap<(AccessedPart, Option<u64>), PartSamples> = BTreeMap::new();
        for ((code, data), measured) in &recording.by {
            let of_code = at.get(code).copied();
            let of_data = data.and_then(|data| variable(model, &variables, data));
            let part = match (of_data, of_code) {
                // An instruction says how many bytes, and the address which variable.
                (Some(part), Some(code)) if part.subject == code.subject => code,
                (Some(part), _) | (None, Some(part)) => part,
                (None, None) => continue,
            };
            let address = data.filter(|_| of_data.is_some());
            let line = address.map(|address| address / line_bytes);
            let new = PartSamples { part, address, measured: Measured::default() };
            let piece = all.entry((part, line)).or_insert(new);
            piece.address = piece.address.min(address);
            piece.measured.add(measured);
        }
        let mut levels = Vec::new();
        for (nth, piece) in all.into_values().enumerate() {
            let part = piece.part;
            let (ty, direct) = match part.subject {
                Subject::Type(ty) => (ty, true),
                Subject::Static(index) => (model.statics()[index as usize].ty, false),
            };
            levels.clear();
            descend(model, ty, part.offset.into(), part.size.into(), &mut levels);
            let row = |(level, (ty, offset)): (usize, &(TypeId, u32))| PartRow {
                ty: *ty,
                offset: u64::from(*offset),
                size: part.size.into(),
                direct: direct && level == 0,
                part: nth,
            };
            parts.rows.extend(levels.iter().enumerate().map(row));
            parts.all.push(piece);
        }
        parts.rows.sort_unstable();
        parts
    }

    pub(crate) fn all(&self) -> &[PartSamples] {
        &self.all
    }

    pub(super) fn sum(&self, parts: &[usize]) -> Measured {
        let mut sum = Measured::default();
        parts.iter().for_each(|part| sum.add(&self.all[*part].measured));
        sum
    }

    /// The parts that are some bytes of a member, or have them: through each of the types on the way to it, the outermost
    /// first, each with its size and the member's offset in it.
    pub(super) fn of_member(&self, way: &[(TypeId, u64, u64)], size: u64, found: &mut Vec<usize>) {
        for (nth, (ty, bytes, offset)) in way.iter().enumerate() {
            if nth > 0 && *bytes < MIN_TELLING_BYTES {
                continue;
            }
            let start = self.rows.partition_point(|row| row.ty < *ty);
            let of_type = self.rows[start..].iter().take_while(|row| row.ty == *ty);
            let overlaps = |row: &&PartRow| {
                row.offset < offset.saturating_add(size) && *offset < row.offset + row.size
            };
            let rows = of_type.filter(overlaps).filter(|row| row.direct || nth == 0);
            found.extend(rows.map(|row| row.part));
        }
        found.sort_unstable();
        found.dedup();
    }

    /// The parts that are some bytes of a variable, or have them: those on some lines, if only these are asked for.
    pub(super) fn of_static(
        &self,
        index: usize,
        (offset, size): (u64, u64),
        is_there: impl Fn(u64) -> bool,
        found: &mut Vec<usize>,
    ) {
        let overlaps = |piece: &PartSamples| {
            let AccessedPart { subject, offset: start, size: bytes } = piece.part;
            let start = u64::from(start);
            matches!(subject, Subject::Static(at) if at as usize == index)
                && start < offset.saturating_add(size)
                && offset < start + u64::from(bytes)
                && piece.address.is_none_or(&is_there)
        };
        let parts = self.all.iter().enumerate().filter(|(_, piece)| overlaps(piece));
        found.extend(parts.map(|(nth, _)| nth));
        found.sort_unstable();
        found.dedup();
    }
}

/// The variable at an address.
fn variable(model: &Model, variables: &[(u64, u32)], address: u64) -> Option<AccessedPart> {
    let after = variables.partition_point(|(start, _)| *start <= address);
    let near = variables[..after].iter().rev().take(NEAR);
    let (start, index) = near
        .copied()
        .find(|(start, index)| address - start < model[model.statics()[*index as usize].ty].size)?;
    let inside = first_like(model, model.statics()[index as usize].ty, address - start)?;
    let offset = u32::try_from(inside).ok()?;
    Some(AccessedPart { subject: Subject::Static(index), offset, size: 1 })
}
