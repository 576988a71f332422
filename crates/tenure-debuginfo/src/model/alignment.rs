//! Infers alignments that the input does not state.
//!
//! DWARF states an alignment only where the source declares one (and only Rust's and newer C compilers' does), BTF
//! never. A gap that the members' own alignments do not explain was made by a declared one.

use super::types::{Shape, Type, TypeKind};

const MAX_NATURAL: u64 = 16;

/// Smaller gaps are not taken for declared alignments: half of the kernel's smallest cache line.
const LEAST_DECLARED: u64 = 32;

/// The alignment of a type with complete parts, and whether the source must have declared it.
pub(super) fn of(types: &[Type], ty: &Type, size: u64) -> (u64, bool) {
    let part = |id: super::TypeId| &types[id.index()];
    match &ty.kind {
        TypeKind::Scalar(_) | TypeKind::Pointer(_) => (natural(size), false),
        TypeKind::Function | TypeKind::Opaque => (1, false),
        TypeKind::Array { element: id, .. } | TypeKind::Alias(id) | TypeKind::Qualified(_, id) => {
            (part(*id).align, part(*id).align_declared)
        }
        TypeKind::Composite { shape, members } => {
            let mut align = 1;
            let mut declared = false;
            for member in members.iter().filter(|member| member.bits.is_none()) {
                let inner = part(member.ty);
                // A packed struct holds a member where its type could not lie, and i386 its 8-byte numbers on multiples
                // of 4.
                let possible = inner.align.min(lowest_bit(member.offset)).min(lowest_bit(size));
                if possible > align {
                    (align, declared) = (possible, inner.align_declared && possible == inner.align);
                }
            }
            match (shape == &Shape::Struct).then(|| gap(types, members, size)).flatten() {
                Some(asked) if asked > align => (asked, true),
                _ => (align, declared),
            }
        }
    }
}

/// The alignment that explains a gap between members, or the struct's size.
fn gap(types: &[Type], members: &[super::Member], size: u64) -> Option<u64> {
    let mut asked = None;
    let mut end = 0;
    for member in members {
        let inner = &types[member.ty.index()];
        let bytes = member.bits.map_or(inner.size, super::BitField::bytes);
        let at = member.offset;
        // Bit fields and empty markers leave gaps of other origins.
        if member.bits.is_none() && at > end && end > 0 && at - end >= inner.align.min(MAX_NATURAL)
        {
            asked =
                asked.max(least_that_moves(end, at).filter(|align| size.is_multiple_of(*align)));
        }
        end = end.max(at.saturating_add(bytes));
    }
    asked.max(least_that_moves(end, size).filter(|_| end > 0))
}

/// The smallest power of two, from [`LEAST_DECLARED`], whose next multiple from `end` on is `at`.
fn least_that_moves(end: u64, at: u64) -> Option<u64> {
    let mut align = LEAST_DECLARED;
    while align <= lowest_bit(at) && align <= 1 << 20 {
        if end.checked_next_multiple_of(align) == Some(at) && at - end >= MAX_NATURAL {
            return Some(align);
        }
        align *= 2;
    }
    None
}

fn natural(size: u64) -> u64 {
    lowest_bit(size).min(MAX_NATURAL)
}

fn lowest_bit(value: u64) -> u64 {
    match value {
        0 => 1 << 63,
        _ => 1 << value.trailing_zeros(),
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Builder, Format, Member, Scalar, Shape, TypeKind};

    fn of_words_at(offsets: &[u64], size: u64) -> (u64, bool) {
        let mut builder = Builder::new();
        let word = builder.add("long", 8, TypeKind::Scalar(Scalar::Integer));
        let members = offsets.iter().map(|&offset| Member::new("m", offset, word)).collect();
        let id = builder.add("s", size, TypeKind::Composite { shape: Shape::Struct, members });
        let model = builder.finish(Format::Btf, 1).unwrap();
        (model[id].align, model[id].align_declared)
    }

    #[test]
    fn gaps_that_words_do_not_explain_were_asked_for() {
        for (why, offsets, size, expected) in [
            ("no gaps", &[0, 8, 16][..], 24, (8, false)),
            ("packed", &[0, 9], 17, (1, false)),
            ("a gap before a line", &[0, 64], 128, (64, true)),
            ("a tail up to a line", &[0, 8], 64, (64, true)),
            ("a gap, and a size off the alignment", &[0, 64], 72, (8, false)),
        ] {
            assert_eq!(of_words_at(offsets, size), expected, "{why}");
        }
    }
}
