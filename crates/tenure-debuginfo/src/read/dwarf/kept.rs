use super::table::EntryPosition;
use crate::model::TypeId;

/// The types of a model by their entries, of which units repeat each other's.
#[derive(Debug, Default)]
pub struct EntryTypes {
    /// Types of entries, by position.
    entries: Vec<(u32, TypeId)>,
    /// Where the supplementary file's entries begin.
    pub(super) supplement: Option<EntryPosition>,
}

impl EntryTypes {
    /// From entries with numbers, and the types of the numbers. Entries beyond 4 GiB are not kept.
    pub(super) fn new(
        units: impl Iterator<Item = Vec<(EntryPosition, u32)>>,
        types: &[Option<TypeId>],
    ) -> Self {
        let of = |(at, number): (EntryPosition, u32)| {
            Some((u32::try_from(at).ok()?, *types.get(number as usize)?.as_ref()?))
        };
        let mut entries: Vec<_> =
            units.flat_map(|unit| unit.into_iter().filter_map(of).collect::<Vec<_>>()).collect();
        entries.sort_unstable();
        entries.dedup_by_key(|(at, _)| *at);
        entries.shrink_to_fit();
        Self { entries, supplement: None }
    }

    /// Whether no entry has a type.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The type of the entry at a place of the program's own `.debug_info`.
    pub fn at(&self, offset: usize) -> Option<TypeId> {
        let offset = u32::try_from(offset).ok()?;
        let place = self.entries.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
        Some(self.entries[place].1)
    }

    /// The same in the supplementary file's.
    pub fn at_supplementary(&self, offset: usize) -> Option<TypeId> {
        let base = usize::try_from(self.supplement?).ok()?;
        self.at(base.checked_add(offset)?)
    }
}
