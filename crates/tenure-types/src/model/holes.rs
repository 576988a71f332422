//! Bytes that belong to no member.

use super::types::{Kind, Model, TypeId};

impl Model {
    /// The holes between a composite's members, as offsets and bytes: whole bytes that no member
    /// touches and that a later member follows. What is behind the last member is padding, and not
    /// here. Empty for what has no members.
    ///
    /// Members that lie over each other count together; one of no bytes, such as a flexible array, ends a
    /// hole as every other.
    ///
    /// ```
    /// use tenure_types::model::{Builder, Format, Kind, Member, Scalar, Shape};
    ///
    /// let mut builder = Builder::new();
    /// let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
    /// let members = vec![Member::new("a", 0, int), Member::new("b", 8, int)];
    /// let id = builder.add("s", 16, Kind::Composite { shape: Shape::Struct, members });
    /// let model = builder.finish(Format::Btf, 1)?;
    /// assert_eq!(model.holes(id), [(4, 4)]);
    /// # Ok::<(), tenure_types::model::Malformed>(())
    /// ```
    #[must_use]
    pub fn holes(&self, id: TypeId) -> Vec<(u64, u64)> {
        let Kind::Composite { members, .. } = &self[id].kind else { return Vec::new() };
        let mut holes = Vec::new();
        let mut end = 0;
        // In the order of their offsets: rule 3 of the module.
        for member in members {
            if member.offset > end {
                holes.push((end, member.offset - end));
            }
            end = end.max(member.offset.saturating_add(self.bytes_of(member)));
        }
        holes
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Bits, Builder, Format, Kind, Member, Scalar, Shape};

    #[test]
    fn members_over_each_other_make_no_hole_and_empty_ones_end_one() {
        let mut builder = Builder::new();
        let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
        let empty = builder.add("", 0, Kind::Array { element: int, count: 0 });
        let bits = |offset, first, count| Member {
            bits: Some(Bits { first, count }),
            ..Member::new("bits", offset, int)
        };
        let members = vec![
            Member::new("a", 0, int),
            Member::new("over a", 2, int),
            Member::new("mark", 7, empty),
            bits(8, 0, 4),
            bits(8, 4, 5),
            Member::new("b", 12, int),
        ];
        let kind = Kind::Composite { shape: Shape::Struct, members };
        let id = builder.add("s", 24, kind);
        let model = builder.finish(Format::Btf, 1).unwrap();
        assert_eq!(model.holes(id), [(6, 1), (7, 1), (10, 2)]);
        assert_eq!(model.holes(int), []);
    }
}
