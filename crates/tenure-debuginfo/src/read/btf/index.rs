//! The first pass: the place of each type, and what conversion has to know first.

use super::header::Sections;
use super::record::{BtfKind, BtfRecord, NoRecord, Words};
use crate::model::Malformed;

/// The index of `void`, which the format leaves out.
pub(super) const VOID: u32 = 0;

pub(super) const FUNCTION: u32 = 1;

pub(super) const FIRST: u32 = 2;

/// Sentinel: not a type.
pub(super) const NO_TYPE: u32 = u32::MAX;

pub(super) struct Index<'a> {
    /// The base, if any, then the file itself.
    pub(super) parts: Vec<IndexPart<'a>>,
    /// The offset in its part's types, by id.
    records: Vec<u32>,
    /// The index in the model by id, or [`NO_TYPE`].
    places: Vec<u32>,
    pub(super) types: u32,
    /// Tags of members, by type and member.
    pub(super) tags: Vec<Tag>,
    pub(super) pointer: u64,
    /// Some `INT` has fewer bits than its bytes, or an offset: the older form of bit fields.
    pub(super) odd_ints: bool,
}

pub(super) struct IndexPart<'a> {
    pub(super) sections: Sections<'a>,
    pub(super) ids: std::ops::Range<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    pub(super) ty: u32,
    pub(super) member: u32,
    pub(super) name: u32,
    pub(super) id: u32,
}

/// The width of an `INT`, and an offset beside the member's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IntBits {
    pub(super) offset: u32,
    pub(super) count: u32,
    pub(super) whole: u64,
}

impl IntBits {
    pub(super) fn of(types: Words<'_>, record: &BtfRecord) -> Self {
        let encoding = types.at(record.rest).unwrap_or_default();
        let (offset, count) = (encoding >> 16 & 0xff, encoding & 0xff);
        Self { offset, count, whole: u64::from(record.word) * 8 }
    }

    pub(super) fn is_whole(self) -> bool {
        self.offset == 0 && u64::from(self.count) == self.whole
    }
}

impl<'a> Index<'a> {
    pub(super) fn of(base: Option<Sections<'a>>, own: Sections<'a>) -> Result<Self, Malformed> {
        let mut index = Self {
            parts: Vec::with_capacity(2),
            records: vec![0],
            places: vec![VOID],
            types: FIRST,
            tags: Vec::new(),
            pointer: 8,
            odd_ints: false,
        };
        for sections in base.into_iter().chain([own]) {
            index.add(sections)?;
        }
        // Stable: tags of one member stay in the order of the file.
        index.tags.sort_by_key(|tag| (tag.ty, tag.member));
        Ok(index)
    }

    fn add(&mut self, sections: Sections<'a>) -> Result<(), Malformed> {
        let types = sections.types;
        // The average is about 25 bytes in a kernel.
        self.records.reserve(types.bytes.len() / 24);
        self.places.reserve(types.bytes.len() / 24);
        let first = self.len();
        let mut byte = 0;
        while byte < types.bytes.len() {
            let id = self.len();
            let record = BtfRecord::at(types, byte).map_err(|why| no_record(id, why))?;
            let end = record.end(types, sections.layout).map_err(|why| no_record(id, why))?;
            let place = match record.kind {
                BtfKind::Func | BtfKind::FuncProto => FUNCTION,
                kind if kind.is_type() => {
                    self.types += 1;
                    self.types - 1
                }
                _ => NO_TYPE,
            };
            // Fits: sections are bounded by 32-bit numbers.
            self.records.push(byte as u32);
            self.places.push(place);
            match record.kind {
                BtfKind::Int => self.note_int(sections, &record),
                BtfKind::DeclTag => self.note_tag(sections, &record, id),
                _ => {}
            }
            byte = end;
        }
        self.parts.push(IndexPart { sections, ids: first..self.len() });
        Ok(())
    }

    pub(super) fn len(&self) -> u32 {
        // A base and a file of 4 GiB each have fewer than 2^30 types of 12 bytes.
        self.records.len() as u32
    }

    /// The index in the model; [`NO_TYPE`] for what is no type.
    pub(super) fn place(&self, id: u32) -> Option<u32> {
        self.places.get(id as usize).copied()
    }

    pub(super) fn record(&self, id: u32) -> Option<(BtfRecord, &IndexPart<'a>)> {
        let part = self.parts.iter().find(|part| part.ids.contains(&id))?;
        let byte = *self.records.get(id as usize)? as usize;
        Some((BtfRecord::at(part.sections.types, byte).ok()?, part))
    }

    /// The bits of the `INT` under aliases and qualifiers, if it is one.
    pub(super) fn int_bits(&self, mut id: u32) -> Option<IntBits> {
        // Longer chains, and circles, are refused later.
        for _ in 0..crate::model::MAX_NESTING {
            let (record, part) = self.record(id)?;
            match record.kind {
                BtfKind::Typedef
                | BtfKind::Const
                | BtfKind::Volatile
                | BtfKind::Restrict
                | BtfKind::TypeTag => id = record.word,
                BtfKind::Int => return Some(IntBits::of(part.sections.types, &record)),
                _ => return None,
            }
        }
        None
    }

    fn note_int(&mut self, sections: Sections<'_>, record: &BtfRecord) {
        self.odd_ints |= !IntBits::of(sections.types, record).is_whole();
        if matches!(record.word, 4 | 8) && self.is_long(sections, record.name) {
            self.pointer = u64::from(record.word);
        }
    }

    /// `long`, with or without `unsigned` and `int`, has a pointer's size in every kernel.
    fn is_long(&self, sections: Sections<'_>, name: u32) -> bool {
        let before: usize = self.parts.iter().map(|part| part.sections.strings.len()).sum();
        let Some(own) = (name as usize).checked_sub(before) else { return false };
        let Some(name) = sections.strings.get(own..) else { return false };
        let mut words = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut longs = 0;
        while let Some(word) = words.split(|byte| *byte == b' ').next().filter(|w| !w.is_empty()) {
            match word {
                b"long" => longs += 1,
                b"int" | b"unsigned" | b"signed" => {}
                _ => return false,
            }
            words = words.get(word.len() + 1..).unwrap_or_default();
        }
        longs == 1
    }

    fn note_tag(&mut self, sections: Sections<'_>, record: &BtfRecord, id: u32) {
        let member = sections.types.at(record.rest).unwrap_or(u32::MAX);
        // -1 is the type as a whole.
        if member != u32::MAX {
            self.tags.push(Tag { ty: record.word, member, name: record.name, id });
        }
    }
}

fn no_record(id: u32, why: NoRecord) -> Malformed {
    Malformed::new(match why {
        NoRecord::CutOff => format!("BTF type {id} goes on beyond the end of the types"),
        NoRecord::Unknown(0) => format!("BTF type {id} has kind 0, which no type has"),
        NoRecord::Unknown(kind) => format!(
            "BTF type {id} has kind {kind}, newer than those known here (1 to 19): read the DWARF, or \
             have pahole make the BTF without it (--btf_features)"
        ),
    })
}
