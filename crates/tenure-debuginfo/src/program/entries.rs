//! The entries of a unit, one after the other.

use gimli::{AttributeValue, DwAt, DwTag, EndianSlice, EntriesRaw, RunTimeEndian, UnitOffset};

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
        self.try_advance().unwrap_or(false)
    }

    fn try_advance(&mut self) -> gimli::Result<bool> {
        self.attributes.clear();
        while !self.raw.is_empty() {
            self.offset = self.raw.next_offset().0;
            self.depth = self.raw.next_depth();
            let Some(abbreviation) = self.raw.read_abbreviation()? else { continue };
            if abbreviation.attributes().len() > MAX_ATTRIBUTES {
                return Ok(false);
            }
            self.tag = abbreviation.tag();
            self.has_children = abbreviation.has_children();
            for spec in abbreviation.attributes() {
                let attribute = self.raw.read_attribute(*spec)?;
                self.attributes.push((attribute.name(), attribute.value()));
            }
            return Ok(true);
        }
        Ok(false)
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

    /// The addresses that the entry covers.
    pub fn ranges(&self, dwarf: &Dwarf<'a>, unit: &Unit<'a>, mut found: impl FnMut(gimli::Range)) {
        if let Some(value) = self.get(gimli::DW_AT_ranges) {
            let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, value) else { return };
            while let Ok(Some(range)) = ranges.next() {
                found(range);
            }
            return;
        }
        let address = |name| dwarf.attr_address(unit, self.get(name)?).ok().flatten();
        let Some(begin) = address(gimli::DW_AT_low_pc) else { return };
        let end = match self.get(gimli::DW_AT_high_pc) {
            None => None,
            Some(value) => match value.udata_value() {
                Some(size) => begin.checked_add(size),
                None => address(gimli::DW_AT_high_pc),
            },
        };
        if let Some(end) = end {
            found(gimli::Range { begin, end });
        }
    }
}
