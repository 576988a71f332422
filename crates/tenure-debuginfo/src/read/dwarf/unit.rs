//! One unit: its root entry, the values of attributes and tags, and its source files.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{
    Abbreviations, AttributeValue, DebugAddrBase, DebugAddrIndex, DebugInfoOffset, DebugLineOffset,
    DebugStrOffsetsBase, DebugTypeSignature, DwTag, DwarfFileType, DwoId, Encoding,
    LineProgramHeader, Section as _, SectionId, UnitType,
};

use super::source::{DwarfSource, Job, Slice};
use super::table::{EntryKind, EntryPosition, NOWHERE};
use crate::model::{Malformed, Name, Qualifier, Scalar};
use crate::read::file::{file_path, within};

pub(super) type UnitValue<'d> = AttributeValue<Slice<'d>>;

/// Bytes, four times the longest of real C++ and Rust types; longer names are cut.
const LONGEST_NAME: usize = 1 << 16;

pub(super) type Signatures = HashMap<u64, EntryPosition>;

#[derive(Debug)]
pub(super) struct Unit<'r, 'd> {
    pub(super) source: &'r DwarfSource<'d>,
    pub(super) job: Job<'d>,
    pub(super) abbreviations: Arc<Abbreviations>,
    pub(super) root: Root<'d>,
    signatures: &'r Signatures,
}

#[derive(Debug, Clone)]
pub(super) struct Root<'d> {
    pub(super) name: Option<Slice<'d>>,
    pub(super) directory: Option<Slice<'d>>,
    pub(super) lines: Option<DebugLineOffset>,
    /// Common to both parts of a split unit.
    pub(super) id: Option<DwoId>,
    /// The file with the rest, of a skeleton unit.
    pub(super) split: Option<Split<'d>>,
    pub(super) address_base: DebugAddrBase,
    string_base: DebugStrOffsetsBase,
    partial: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Split<'d> {
    pub(super) file: Slice<'d>,
    pub(super) id: DwoId,
}

impl<'r, 'd> Unit<'r, 'd> {
    /// Reads the root entry. `keep` as for [`Source::abbreviations`].
    pub(super) fn open(
        source: &'r DwarfSource<'d>,
        job: &Job<'d>,
        signatures: &'r Signatures,
        keep: bool,
    ) -> Result<Self, Malformed> {
        let abbreviations = source.abbreviations(job, keep)?;
        let encoding = job.header.encoding();
        let root = Root {
            name: None,
            directory: None,
            lines: None,
            id: None,
            split: None,
            address_base: DebugAddrBase(source.address_base),
            string_base: DebugStrOffsetsBase::default_for_encoding_and_file(
                encoding,
                source.dwarf.file_type,
            ),
            partial: false,
        };
        let mut unit = Self { source, job: *job, abbreviations, root, signatures };
        unit.read_root()?;
        Ok(unit)
    }

    fn read_root(&mut self) -> Result<(), Malformed> {
        let abbreviations = self.abbreviations.clone();
        let mut raw = self.job.header.entries_raw(&abbreviations, None)?;
        if raw.is_empty() {
            return Ok(());
        }
        let Some(abbreviation) = raw.read_abbreviation()? else { return Ok(()) };
        self.root.partial = abbreviation.tag() == gimli::DW_TAG_partial_unit;
        let (mut name, mut directory, mut file, mut id) = (None, None, None, None);
        for spec in bounded(abbreviation)? {
            let attribute = raw.read_attribute(*spec)?;
            let value = attribute.value();
            match attribute.name() {
                gimli::DW_AT_name => name = Some(value),
                gimli::DW_AT_comp_dir => directory = Some(value),
                gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name => file = Some(value),
                gimli::DW_AT_GNU_dwo_id => {
                    if let AttributeValue::DwoId(value) = value {
                        id = Some(value);
                    }
                }
                gimli::DW_AT_stmt_list => {
                    if let AttributeValue::DebugLineRef(offset) = value {
                        self.root.lines = Some(offset);
                    }
                }
                gimli::DW_AT_str_offsets_base => {
                    if let AttributeValue::DebugStrOffsetsBase(base) = value {
                        self.root.string_base = base;
                    }
                }
                gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base => {
                    if let AttributeValue::DebugAddrBase(base) = value {
                        self.root.address_base = base;
                    }
                }
                _ => {}
            }
        }
        if let UnitType::Skeleton(of) | UnitType::SplitCompilation(of) = self.job.header.type_() {
            id = Some(of);
        }
        // Strings last: they may need the bases.
        let string =
            |value: Option<UnitValue<'d>>| value.map(|value| self.string(&value)).transpose();
        let (name, directory, file) = (string(name)?, string(directory)?, string(file)?);
        (self.root.name, self.root.directory) = (name, directory);
        self.root.id = id;
        // Some compilers note the file's name in the file itself too.
        let file = file.filter(|_| self.source.dwarf.file_type == DwarfFileType::Main);
        self.root.split = file.zip(id).map(|(file, id)| Split { file, id });
        Ok(())
    }

    /// The path of the root of the crate that rustc compiled the unit of, and the crate's name, which an incremental
    /// build leaves out. A unit is called `src/lib.rs/@/name.hash-cgu.0`, or `src/lib.rs/@/hash`.
    pub(super) fn of_crate(&self) -> Option<(String, Option<String>)> {
        let name = self.root.name?.to_string_lossy();
        let (path, unit) = name.split_once("/@/")?;
        let krate = unit.split_once('.').map(|(krate, _)| krate.to_owned());
        Some((self.absolute(path), krate))
    }

    fn absolute(&self, path: &str) -> String {
        let directory = self.root.directory.map(|directory| directory.to_string_lossy());
        directory.map_or_else(|| path.to_owned(), |it| within(&it, path.to_owned()))
    }

    /// The first namespace of a function that is written beside the crate's root. The unit of a crate may have none:
    /// it has functions of other crates as well.
    pub(super) fn namespace_beside(&self, root: &str) -> Result<Option<String>, Malformed> {
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut files = Files::of(self);
        let mut is_beside = |file: u32| {
            let path = files.get(self, file)?;
            let rest = self.absolute(&path).strip_prefix(folder)?.starts_with('/');
            Some(rest)
        };
        let mut raw = self.job.header.entries_raw(&self.abbreviations, None)?;
        let mut first = None;
        while !raw.is_empty() {
            let depth = raw.next_depth();
            let Some(abbreviation) = raw.read_abbreviation()? else { continue };
            let specs = bounded(abbreviation)?;
            let is_first = depth == 1 && abbreviation.tag() == gimli::DW_TAG_namespace;
            if depth == 1 {
                first = None;
            }
            if !is_first && (first.is_none() || abbreviation.tag() != gimli::DW_TAG_subprogram) {
                raw.skip_attributes(specs)?;
                continue;
            }
            for spec in specs {
                let attribute = raw.read_attribute_inline(*spec)?;
                match attribute.name() {
                    gimli::DW_AT_name if is_first => first = Some(attribute.value()),
                    gimli::DW_AT_decl_file
                        if is_beside(small(&attribute.raw_value())) == Some(true) =>
                    {
                        let name = first.map(|name| self.string(&name)).transpose()?;
                        return Ok(name.map(|name| name.to_string_lossy().into_owned()));
                    }
                    _ => {}
                }
            }
        }
        Ok(None)
    }

    pub(super) fn is_translation_unit(&self) -> bool {
        self.job.is_translation_unit()
            && !self.root.partial
            && self.source.dwarf.file_type == DwarfFileType::Main
    }

    #[inline]
    pub(super) fn string(&self, value: &UnitValue<'d>) -> Result<Slice<'d>, Malformed> {
        let dwarf = &self.source.dwarf;
        let (section, offset) = match *value {
            AttributeValue::String(string) => return Ok(string),
            AttributeValue::DebugStrRef(offset) => (dwarf.debug_str.reader(), offset.0),
            AttributeValue::DebugLineStrRef(offset) => (dwarf.debug_line_str.reader(), offset.0),
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let base = self.root.string_base;
                let format = self.job.header.format();
                let offset = dwarf.debug_str_offsets.get_str_offset(format, base, index)?;
                (dwarf.debug_str.reader(), offset.0)
            }
            AttributeValue::DebugStrRefSup(offset) => match &dwarf.sup {
                Some(supplement) => (supplement.debug_str.reader(), offset.0),
                None => return Err(no_supplement()),
            },
            _ => return Err(Malformed::new("a name is not a string")),
        };
        let Some(rest) = section.slice().get(offset..) else {
            return Err(Malformed::new(format!("a name lies outside its section, at {offset:#x}")));
        };
        let rest = &rest[..rest.len().min(LONGEST_NAME)];
        let length = memchr::memchr(0, rest).unwrap_or(rest.len());
        Ok(Slice::new(&rest[..length], self.source.sections.endian))
    }

    #[inline]
    pub(super) fn position(&self, value: &UnitValue<'d>) -> Result<EntryPosition, Malformed> {
        match *value {
            AttributeValue::UnitRef(offset) => Ok(self.job.start.saturating_add(offset.0 as u64)),
            AttributeValue::DebugInfoRef(DebugInfoOffset(offset)) => {
                Ok(self.source.info_base.saturating_add(offset as u64))
            }
            AttributeValue::DebugTypesRef(DebugTypeSignature(signature)) => {
                Ok(self.signatures.get(&signature).copied().unwrap_or(NOWHERE))
            }
            AttributeValue::DebugInfoRefSup(DebugInfoOffset(offset)) => {
                match self.source.supplement_base {
                    Some(base) => Ok(base.saturating_add(offset as u64)),
                    None => Err(no_supplement()),
                }
            }
            _ => Ok(NOWHERE),
        }
    }

    #[inline]
    pub(super) fn is_foreign(&self, at: EntryPosition) -> bool {
        at != NOWHERE && !(self.job.start..self.job.end()).contains(&at)
    }

    /// The section (an index among the places) and the address of a fixed location in memory.
    pub(super) fn place(&self, location: &Slice<'d>) -> Option<(u32, u64)> {
        let encoding = self.job.header.encoding();
        let mut rest = *location;
        let (section, operand) = self.source.entries_section(&self.job);
        let (address, origin) = match gimli::Operation::parse(&mut rest, encoding).ok()? {
            gimli::Operation::Address { address } => {
                let at = DwarfSource::offset_in(operand, location) + 1;
                (address, self.source.sections.origins(section).and_then(|all| all.at(at)))
            }
            gimli::Operation::AddressIndex { index } => self.indexed(index)?,
            _ => return None,
        };
        let mut address = address;
        if !rest.is_empty() {
            // The offset within variables that were merged into one.
            let operation = gimli::Operation::parse(&mut rest, encoding).ok()?;
            let gimli::Operation::PlusConstant { value } = operation else { return None };
            address = address.checked_add(value).filter(|_| rest.is_empty())?;
        }
        Some((self.source.program.places.find(address, origin)?, address))
    }

    fn indexed(&self, index: DebugAddrIndex) -> Option<(u64, Option<object::SectionIndex>)> {
        let (base, size) = (self.root.address_base, self.job.header.address_size());
        let address = self.source.dwarf.debug_addr.get_address(size, base, index).ok()?;
        let at = (index.0 as u64).checked_mul(u64::from(size))?.checked_add(base.0 as u64)?;
        let origins = self.source.program.origins(SectionId::DebugAddr);
        Some((address, origins.and_then(|origins| origins.at(at))))
    }
}

/// No compiler uses half as many attributes. Those of no bytes would let an entry of one byte take as long as a file.
#[inline]
pub(super) fn bounded(
    abbreviation: &gimli::Abbreviation,
) -> Result<&[gimli::AttributeSpecification], Malformed> {
    let attributes = abbreviation.attributes();
    match attributes.len() {
        0..=128 => Ok(attributes),
        many => Err(Malformed::new(format!("an entry has {many} attributes"))),
    }
}

fn no_supplement() -> Malformed {
    Malformed::new("it refers to a supplementary file, and the program names none")
}

#[derive(Debug)]
pub(super) struct Files<'d> {
    header: Option<LineProgramHeader<Slice<'d>>>,
    names: Vec<Option<Name>>,
}

impl<'d> Files<'d> {
    pub(super) fn of(unit: &Unit<'_, 'd>) -> Self {
        // A unit whose line table cannot be read still has types.
        let lines = match unit.source.dwarf.file_type {
            DwarfFileType::Main => unit.root.lines,
            // A split file has one table, and its units need not name it.
            DwarfFileType::Dwo => unit.root.lines.or(Some(DebugLineOffset(0))),
        };
        let header = lines.and_then(|offset| {
            if !unit.source.allows_lines(0) {
                return None;
            }
            let program = unit.source.dwarf.debug_line.program(
                offset,
                unit.job.header.address_size(),
                unit.root.directory,
                unit.root.name,
            );
            let header = program.ok()?.header().clone();
            unit.source.allows_lines(header.header_length()).then_some(header)
        });
        Self { header, names: Vec::new() }
    }

    /// A file's path by its number: with its directory, without the unit's.
    pub(super) fn get(&mut self, unit: &Unit<'_, 'd>, number: u32) -> Option<Name> {
        let header = self.header.as_ref()?;
        let place = number as usize;
        if self.names.len() <= place {
            self.names.resize(place + 1, None);
        }
        if let Some(name) = &self.names[place] {
            return Some(name.clone());
        }
        let path = file_path(header, number.into(), |value| unit.string(&value).ok())?;
        let name: Name = path.into();
        self.names[place] = Some(name.clone());
        Some(name)
    }
}

/// A member's offset, if it is constant.
pub(super) fn offset(value: &UnitValue<'_>, encoding: Encoding) -> Option<u64> {
    let bytes = match value {
        AttributeValue::Block(bytes) => bytes,
        AttributeValue::Exprloc(expression) => &expression.0,
        constant => return constant.udata_value(),
    };
    let mut rest = *bytes;
    let first = gimli::Operation::parse(&mut rest, encoding).ok()?;
    let offset = match first {
        gimli::Operation::PlusConstant { value } => value,
        gimli::Operation::UnsignedConstant { value } => {
            match gimli::Operation::parse(&mut rest, encoding).ok()? {
                gimli::Operation::Plus => value,
                _ => return None,
            }
        }
        _ => return None,
    };
    rest.is_empty().then_some(offset)
}

#[inline]
pub(super) fn small(value: &UnitValue<'_>) -> u32 {
    value.udata_value().and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

/// A bound: old compilers write the upper one of C's `int a[0]` as -1, in as many bits as it takes.
pub(super) fn signed(value: &UnitValue<'_>) -> Option<i64> {
    match *value {
        AttributeValue::Data4(u32::MAX) | AttributeValue::Data8(u64::MAX) => Some(-1),
        AttributeValue::Sdata(value) => Some(value),
        _ => value.udata_value().and_then(|value| i64::try_from(value).ok()),
    }
}

pub(super) fn encoded(encoding: Option<u64>) -> Scalar {
    let encoding = encoding.and_then(|encoding| u8::try_from(encoding).ok()).unwrap_or(0);
    match gimli::DwAte(encoding) {
        gimli::DW_ATE_boolean => Scalar::Boolean,
        gimli::DW_ATE_float
        | gimli::DW_ATE_complex_float
        | gimli::DW_ATE_imaginary_float
        | gimli::DW_ATE_decimal_float => Scalar::Float,
        _ => Scalar::Integer,
    }
}

#[inline]
pub(super) fn what(tag: DwTag) -> Option<EntryKind> {
    Some(match tag {
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_interface_type => {
            EntryKind::Struct
        }
        gimli::DW_TAG_union_type => EntryKind::Union,
        gimli::DW_TAG_enumeration_type => EntryKind::Enumeration,
        gimli::DW_TAG_base_type => EntryKind::Scalar(Scalar::Integer),
        gimli::DW_TAG_typedef | gimli::DW_TAG_template_alias | gimli::DW_TAG_subrange_type => {
            EntryKind::Alias
        }
        gimli::DW_TAG_pointer_type
        | gimli::DW_TAG_reference_type
        | gimli::DW_TAG_rvalue_reference_type
        | gimli::DW_TAG_ptr_to_member_type => EntryKind::Pointer,
        gimli::DW_TAG_array_type => EntryKind::Array,
        gimli::DW_TAG_const_type => EntryKind::Qualified(Qualifier::Const),
        gimli::DW_TAG_volatile_type => EntryKind::Qualified(Qualifier::Volatile),
        gimli::DW_TAG_atomic_type => EntryKind::Qualified(Qualifier::Atomic),
        gimli::DW_TAG_restrict_type
        | gimli::DW_TAG_packed_type
        | gimli::DW_TAG_shared_type
        | gimli::DW_TAG_immutable_type => EntryKind::Qualified(Qualifier::Other),
        gimli::DW_TAG_subroutine_type => EntryKind::Function,
        gimli::DW_TAG_unspecified_type
        | gimli::DW_TAG_string_type
        | gimli::DW_TAG_set_type
        | gimli::DW_TAG_file_type
        | gimli::DW_TAG_coarray_type
        | gimli::DW_TAG_dynamic_type => EntryKind::Opaque,
        _ => return None,
    })
}
