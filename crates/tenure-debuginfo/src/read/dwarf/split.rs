//! Split DWARF: entries in other files than their addresses.

use gimli::{DwarfFileType, DwarfPackage, EndianSlice, Section as _, UnitType};

use super::Object;
use super::source::{DwarfSource, Slice, dwarf_of};
use super::table::EntryPosition;
use super::unit::{Signatures, Unit};
use crate::model::Malformed;

/// A unit of the program whose entries are elsewhere.
#[derive(Debug, Clone)]
pub(in crate::read) struct Missing {
    /// The compiler's directory, and the file's path from there.
    pub(in crate::read) directory: Vec<u8>,
    pub(in crate::read) file: Vec<u8>,
    pub(in crate::read) unit: SplitUnit,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::read) struct SplitUnit {
    id: u64,
    /// The program's object that refers to it, and the start of its addresses there.
    parent: usize,
    address_base: usize,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::read) struct Splits<'d> {
    pub(in crate::read) units: &'d [SplitUnit],
    pub(in crate::read) is_package: bool,
}

/// The program's units that are split off. Costs nothing without any.
pub(in crate::read) fn missing(objects: &[Object<'_>]) -> Result<Vec<Missing>, Malformed> {
    let mut all = Vec::new();
    let signatures = Signatures::new();
    for (parent, object) in objects.iter().enumerate() {
        let dwarf = dwarf_of(object.sections, DwarfFileType::Main);
        // GNU's form of before DWARF 5 shows in the root entry only, but always has addresses.
        let has_addresses = !dwarf.debug_addr.reader().is_empty();
        let mut source = DwarfSource::new(object.name.to_owned(), dwarf, object.sections, &mut 0);
        for job in source.jobs(0).map_err(|fault| fault.within(object.name))? {
            let may_be_split = match job.header.type_() {
                UnitType::Skeleton(_) => true,
                UnitType::Compilation => job.header.version() < 5 && has_addresses,
                _ => false,
            };
            if !may_be_split {
                continue;
            }
            let unit = Unit::open(&source, &job, &signatures, false)?;
            if let Some(split) = unit.root.split {
                all.push(Missing {
                    directory: unit.root.directory.map_or(Vec::new(), |one| one.slice().to_vec()),
                    file: split.file.slice().to_vec(),
                    unit: SplitUnit {
                        id: split.id.0,
                        parent,
                        address_base: unit.root.address_base.0,
                    },
                });
            }
        }
    }
    Ok(all)
}

pub(super) fn sources<'d>(
    object: &Object<'d>,
    splits: Splits<'d>,
    objects: &[Object<'d>],
    end: &mut EntryPosition,
) -> Result<Vec<DwarfSource<'d>>, Malformed> {
    let parent_of = |unit: &SplitUnit| objects[unit.parent].sections;
    let mut sources = Vec::new();
    if !splits.is_package {
        for unit in splits.units {
            let parent = parent_of(unit);
            let mut dwarf = dwarf_of(object.sections, DwarfFileType::Dwo);
            dwarf.make_dwo(&dwarf_of(parent, DwarfFileType::Main));
            let source = DwarfSource::new(object.name.to_owned(), dwarf, object.sections, end);
            sources.push(source.split(parent, unit.address_base, Some(unit.id)));
        }
        return Ok(sources);
    }
    let slice = |bytes| EndianSlice::new(bytes, object.sections.endian);
    let package: DwarfPackage<Slice<'d>> = DwarfPackage::load(
        |id| Ok::<_, gimli::Error>(slice(object.sections.bytes(id))),
        slice(&[]),
    )?;
    // Overlapping parts would let a small file become a large one.
    let length = object.sections.bytes(gimli::SectionId::DebugInfo).len() as u64
        + object.sections.bytes(gimli::SectionId::DebugTypes).len() as u64;
    let most = end.saturating_add(length);
    let mut push = |source: DwarfSource<'d>, end: EntryPosition| match end > most {
        true => Err(Malformed::new("the parts of the package overlap").within(object.name)),
        false => {
            sources.push(source);
            Ok(())
        }
    };
    for unit in splits.units {
        let parent = parent_of(unit);
        let of_parent = dwarf_of(parent, DwarfFileType::Main);
        let Some(dwarf) = package.find_cu(gimli::DwoId(unit.id), &of_parent)? else {
            return Err(Malformed::new(format!(
                "it lacks the unit {:016x} of the program: it is of another build",
                unit.id
            ))
            .within(object.name));
        };
        let source = DwarfSource::new(object.name.to_owned(), dwarf, object.sections, end);
        push(source.split(parent, unit.address_base, None), *end)?;
    }
    if let Some(unit) = splits.units.first() {
        let parent = parent_of(unit);
        let of_parent = dwarf_of(parent, DwarfFileType::Main);
        for row in 1..=package.tu_index.unit_count() {
            let dwarf = package.tu_sections(row, &of_parent)?;
            let source = DwarfSource::new(object.name.to_owned(), dwarf, object.sections, end);
            push(source.split(parent, 0, None), *end)?;
        }
    }
    Ok(sources)
}
