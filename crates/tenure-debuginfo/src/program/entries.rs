//! The entries of a unit, one after the other.

use gimli::{
    AttributeValue, DwAt, DwTag, EndianSlice, EntriesRaw, Range, RunTimeEndian, UnitOffset,
};

/// Bytes of a section.
pub type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
/// The sections of a file.
pub type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
/// A compilation unit.
pub type Unit<'a> = gimli::Unit<Slice<'a>>;
/// What an attribute says.
pub type EntryValue<'a> = AttributeValue<Slice<'a>>;

/// No compiler uses half as many. Attributes of no bytes would let an entry of one byte take as long as a file.
const MAX_ATTRIBUTES: usize = 128;

/// A walk over entries that shows the current one. It does not recurse, however deep they nest.
pub struct Entries<'u, 'a> {
    raw: EntriesRaw<'u, Slice<'a>>,
    /// Its offset from the start of the unit.
    pub offset: usize,
    /// Its depth below the first entry.
    pub depth: isize,
    /// What kind of thing it describes.
    pub tag: DwTag,
    /// Whether entries are inside it.
    pub has_children: bool,
    attributes: Vec<(DwAt, EntryValue<'a>)>,
}

impl<'u, 'a> Entries<'u, 'a> {
    /// The entries from one on, or from the unit's first.
    pub fn from(unit: &'u Unit<'a>, offset: Option<usize>) -> Option<Self> {
        let raw = unit.entries_raw(offset.map(UnitOffset)).ok()?;
        Some(Self {
            raw,
            offset: 0,
            depth: 0,
            tag: gimli::DW_TAG_null,
            has_children: false,
            attributes: Vec::new(),
        })
    }

    /// Goes to the next entry. False at the end, and at what cannot be read.
    pub fn advance(&mut self) -> bool {
        self.advance_to(|_, _| true).unwrap_or(false)
    }

    /// Goes to the next entry that is wanted, by its depth and tag. False at the end, and `None` at what cannot be read.
    pub fn advance_to(&mut self, mut is_wanted: impl FnMut(isize, DwTag) -> bool) -> Option<bool> {
        self.attributes.clear();
        while !self.raw.is_empty() {
            self.offset = self.raw.next_offset().0;
            self.depth = self.raw.next_depth();
            let Some(abbreviation) = self.raw.read_abbreviation().ok()? else { continue };
            let specs = abbreviation.attributes();
            if specs.len() > MAX_ATTRIBUTES {
                return None;
            }
            self.tag = abbreviation.tag();
            self.has_children = abbreviation.has_children();
            if !is_wanted(self.depth, self.tag) {
                self.raw.skip_attributes(specs).ok()?;
                continue;
            }
            for spec in specs {
                let attribute = self.raw.read_attribute(*spec).ok()?;
                self.attributes.push((attribute.name(), attribute.value()));
            }
            return Some(true);
        }
        Some(false)
    }

    /// What an attribute of the current entry says.
    pub fn get(&self, name: DwAt) -> Option<EntryValue<'a>> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The number that an attribute of the current entry says.
    pub fn number(&self, name: DwAt) -> Option<u64> {
        match self.get(name)? {
            AttributeValue::FileIndex(index) => Some(index),
            value => value.udata_value(),
        }
    }

    /// The address that an attribute of the current entry says.
    pub fn address(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>, name: DwAt) -> Option<u64> {
        dwarf.attr_address(unit, self.get(name)?).ok()?
    }

    /// The addresses that the entry covers.
    pub fn ranges(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>) -> impl Iterator<Item = Range> {
        let list = self.get(gimli::DW_AT_ranges);
        let mut listed = list.and_then(|list| dwarf.attr_ranges(unit, list).ok()?);
        let single = || {
            let address = |name| self.address(dwarf, unit, name);
            let begin = address(gimli::DW_AT_low_pc)?;
            let end = match self.get(gimli::DW_AT_high_pc)?.udata_value() {
                Some(size) => begin.checked_add(size),
                None => address(gimli::DW_AT_high_pc),
            };
            Some(Range { begin, end: end? })
        };
        let single = if list.is_none() { single() } else { None };
        std::iter::from_fn(move || listed.as_mut()?.next().ok()?).chain(single)
    }
}
