//! An object file's debugging information, decompressed and relocated, and the places of its other sections.

mod places;
mod relocate;
pub(crate) mod separate;

use std::borrow::Cow;

use gimli::{RunTimeEndian, SectionId};
use object::{CompressionFormat, Object as _, ObjectKind, ObjectSection as _, SectionIndex};

use crate::model::Malformed;

pub(super) use places::SectionPlaces;
pub(super) use relocate::RelocationOrigins;

/// Of a section's size by decompression. Deflate reaches 1032, with nothing but zeros.
const MAX_EXPANSION: u64 = 256;

/// Every section may take this, however small it is in the file.
const SMALL: u64 = 1 << 20;

const WANTED: [SectionId; 10] = [
    SectionId::DebugInfo,
    SectionId::DebugTypes,
    SectionId::DebugAbbrev,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugLine,
    SectionId::DebugStrOffsets,
    SectionId::DebugAddr,
    SectionId::DebugCuIndex,
    SectionId::DebugTuIndex,
];

#[derive(Debug)]
struct Wanted<'d> {
    id: SectionId,
    bytes: Cow<'d, [u8]>,
    /// The section of each address in it, in relocatable files.
    origins: RelocationOrigins,
}

#[derive(Debug)]
pub(super) struct Sections<'d> {
    pub(super) endian: RunTimeEndian,
    pub(super) places: SectionPlaces,
    wanted: Vec<Wanted<'d>>,
}

impl<'d> Sections<'d> {
    /// `split`: the sections of `.dwo` and `.dwp` files, whose names end in `.dwo`. `length` is the file's.
    pub(super) fn load(
        object: &object::File<'d>,
        length: usize,
        split: bool,
    ) -> Result<Self, Malformed> {
        let endian = match object.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let relocatable = object.kind() == ObjectKind::Relocatable
            && object.format() == object::BinaryFormat::Elf;
        let mut pieces: Vec<(SectionId, Vec<SectionIndex>)> =
            WANTED.iter().map(|id| (*id, Vec::new())).collect();
        for section in object.sections() {
            let Ok(name) = section.name_bytes() else { continue };
            if let Some(place) = WANTED.iter().position(|id| is_named(name, *id, split)) {
                pieces[place].1.push(section.index());
            }
        }
        // Sections of one name (type units have one each in relocatable files) are joined: units and references have
        // offsets in the whole.
        let mut bases = relocate::Bases::default();
        let mut wanted = Vec::new();
        let mut budget = length as u64;
        for (id, indices) in pieces {
            let mut bytes = Cow::Borrowed(&[][..]);
            for index in &indices {
                let piece = decompressed(object, *index, &mut budget)?;
                bases.set(*index, bytes.len() as u64);
                match bytes.is_empty() {
                    true => bytes = piece,
                    false => bytes.to_mut().extend_from_slice(&piece),
                }
            }
            wanted.push((id, indices, bytes));
        }
        let mut budget = length;
        let wanted = wanted
            .into_iter()
            .map(|(id, indices, mut bytes)| {
                let origins = match relocatable {
                    true => relocate::apply(object, &indices, &bases, &mut bytes, &mut budget)?,
                    false => RelocationOrigins::default(),
                };
                Ok(Wanted { id, bytes, origins })
            })
            .collect::<Result<_, Malformed>>()?;
        Ok(Self { endian, places: SectionPlaces::of(object, relocatable), wanted })
    }

    pub(super) fn bytes(&self, id: SectionId) -> &[u8] {
        self.get(id).map_or(&[], |one| &one.bytes)
    }

    pub(super) fn origins(&self, id: SectionId) -> Option<&RelocationOrigins> {
        self.get(id).map(|one| &one.origins)
    }

    fn get(&self, id: SectionId) -> Option<&Wanted<'d>> {
        self.wanted.iter().find(|one| one.id == id)
    }
}

pub(crate) fn has_dwarf(object: &object::File<'_>, split: bool) -> bool {
    object.sections().any(|section| {
        let Ok(name) = section.name_bytes() else { return false };
        // Separate debugging information leaves the headers of what it took away.
        let here = section.kind() != object::SectionKind::UninitializedData && section.size() > 0;
        here && [SectionId::DebugInfo, SectionId::DebugTypes]
            .iter()
            .any(|id| is_named(name, *id, split))
    })
}

/// A section of BTF, if it is there.
pub(super) fn btf<'d>(
    object: &object::File<'d>,
    name: &str,
) -> Result<Option<Cow<'d, [u8]>>, Malformed> {
    match object.section_by_name(name) {
        Some(section) => decompressed(object, section.index(), &mut { u64::MAX }).map(Some),
        None => Ok(None),
    }
}

pub(crate) fn is_named(name: &[u8], id: SectionId, split: bool) -> bool {
    let wanted = match split {
        true => id.dwo_name(),
        false => Some(id.name()),
    };
    let Some(wanted) = wanted.and_then(|wanted| wanted.strip_prefix(".debug_")) else {
        return false;
    };
    let is = |prefix: &str| {
        name.strip_prefix(prefix.as_bytes()).is_some_and(|rest| rest == wanted.as_bytes())
    };
    // Mach-O cuts names after 16 characters.
    is(".debug_")
        || is(".zdebug_")
        || name
            .strip_prefix(b"__debug_")
            .is_some_and(|rest| rest == &wanted.as_bytes()[..wanted.len().min(8)])
}

/// A section's bytes, decompressed. Its size in the file comes off the budget: sections that share bytes would let a
/// small file become a large one.
pub(crate) fn decompressed<'d>(
    object: &object::File<'d>,
    index: SectionIndex,
    budget: &mut u64,
) -> Result<Cow<'d, [u8]>, Malformed> {
    let section = object.section_by_index(index).map_err(|error| malformed("a section", &error))?;
    let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned();
    let data = section.compressed_data().map_err(|error| malformed(&name, &error))?;
    *budget = budget
        .checked_sub(data.data.len() as u64)
        .ok_or_else(|| Malformed::new("its sections of debugging information overlap"))?;
    let most = (data.data.len() as u64).saturating_mul(MAX_EXPANSION).saturating_add(SMALL);
    if data.format != CompressionFormat::None && data.uncompressed_size > most {
        return Err(Malformed::new(format!(
            "{name} says that its {} compressed bytes become {}, and debugging information does not \
             compress that well",
            data.data.len(),
            data.uncompressed_size
        )));
    }
    data.decompress().map_err(|error| malformed(&name, &error))
}

fn malformed(what: &str, error: &object::Error) -> Malformed {
    Malformed::new(format!("{what}: {error}"))
}
