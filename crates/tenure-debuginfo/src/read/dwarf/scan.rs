//! From a unit's entries to a [`Table`]: one pass, no allocation per entry.
//!
//! An entry's meaning depends on its parent: a member belongs to the composite, a bound to the array. A stack of
//! *frames* holds the parents that give children a meaning; all others (functions, blocks) are transparent, so types
//! and variables in functions are found. The stack is on the heap, for any nesting.

use gimli::{Abbreviation, AttributeSpecification, AttributeValue, EntriesRaw, RunTimeEndian};

use super::source::Slice;
use super::table::{
    BitsAt, EntryKind, EntryPosition, EntryTable, NONE, NOWHERE, ROOT, TableEntry, TablePart,
    TableScope, TableVariable,
};
use super::unit::{Unit, UnitValue, bounded, encoded, offset, signed, small, what};
use crate::model::Malformed;

/// The parent of entries.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ScanOwner {
    Scope,
    Composite(u32),
    Array(u32),
    VariantPart(u32),
    Variant(u32),
}

#[derive(Debug, Clone, Copy)]
struct ScanFrame {
    depth: isize,
    owner: ScanOwner,
    /// [`NONE`] until a type inside needs it.
    scope: u32,
}

/// Above this, a unit needs at least [`LEAST_BYTES`] for each row, so that tables stay in proportion to the file.
const MIN_CHECKED_ROWS: usize = 1 << 16;

/// The shortest that repeat are pointers, of 5 bytes.
const LEAST_BYTES: usize = 3;

struct EntryScan<'u, 'r, 'd> {
    unit: &'u Unit<'r, 'd>,
    raw: EntriesRaw<'u, Slice<'d>>,
    table: &'u mut EntryTable<'d>,
    frames: Vec<ScanFrame>,
}

/// Appends the entries of a unit to a table.
pub(super) fn scan<'d>(unit: &Unit<'_, 'd>, table: &mut EntryTable<'d>) -> Result<(), Malformed> {
    let raw = unit.job.header.entries_raw(&unit.abbreviations, None)?;
    let frames = vec![ScanFrame { depth: isize::MIN, owner: ScanOwner::Scope, scope: ROOT }];
    let mut scan = EntryScan { unit, raw, table, frames };
    let result = scan.run();
    result.map_err(|fault| {
        let offset = scan.raw.next_offset().0 as u64 + unit.job.start - unit.job.base;
        fault.at(unit.source.entries_section(&unit.job).0.name(), offset)
    })
}

impl<'d> EntryScan<'_, '_, 'd> {
    fn run(&mut self) -> Result<(), Malformed> {
        let length = self.unit.job.header.length_including_self();
        let most_names = (length as u64).saturating_mul(256).saturating_add(1 << 24);
        while !self.raw.is_empty() {
            let at = self.unit.job.start + self.raw.next_offset().0 as u64;
            let depth = self.raw.next_depth();
            let Some(abbreviation) = self.raw.read_abbreviation()? else { continue };
            while self.frames.last().is_some_and(|frame| frame.depth >= depth) {
                self.frames.pop();
            }
            let specs = bounded(abbreviation)?;
            let tag = abbreviation.tag();
            let owner = self.frames.last().map_or(ScanOwner::Scope, |frame| frame.owner);
            let inner = match (tag, owner) {
                (
                    gimli::DW_TAG_member,
                    ScanOwner::Composite(composite) | ScanOwner::Variant(composite),
                ) => self.member(at, composite, specs, false)?,
                (gimli::DW_TAG_member, ScanOwner::VariantPart(composite)) => {
                    self.member(at, composite, specs, true)?
                }
                (gimli::DW_TAG_inheritance, ScanOwner::Composite(composite)) => {
                    self.member(at, composite, specs, true)?
                }
                (
                    gimli::DW_TAG_subrange_type | gimli::DW_TAG_generic_subrange,
                    ScanOwner::Array(array),
                ) => self.dimension(array, specs)?,
                (gimli::DW_TAG_variant_part, ScanOwner::Composite(composite)) => {
                    self.raw.skip_attributes(specs)?;
                    if self.table.entries[composite as usize].what == EntryKind::Struct {
                        self.table.entries[composite as usize].what = EntryKind::Variants;
                    }
                    Some((ScanOwner::VariantPart(composite), NONE))
                }
                (gimli::DW_TAG_variant, ScanOwner::VariantPart(composite)) => {
                    self.raw.skip_attributes(specs)?;
                    Some((ScanOwner::Variant(composite), NONE))
                }
                (gimli::DW_TAG_variable, _) => self.variable(at, specs)?,
                (gimli::DW_TAG_namespace | gimli::DW_TAG_module, _) => self.namespace(specs)?,
                _ => match what(tag) {
                    Some(what) => self.entry(at, what, abbreviation, specs)?,
                    None => {
                        self.raw.skip_attributes(specs)?;
                        None
                    }
                },
            };
            if let Some((owner, scope)) = inner
                && abbreviation.has_children()
            {
                self.frames.push(ScanFrame { depth, owner, scope });
            }
            if self.table.name_bytes > most_names {
                return Err(Malformed::new("its names are longer than a compiler writes them"));
            }
            let rows =
                self.table.entries.len() + self.table.parts.len() + self.table.variables.len();
            if rows > MIN_CHECKED_ROWS && rows > length / LEAST_BYTES {
                return Err(Malformed::new(
                    "it holds more types and members than a compiler writes",
                ));
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        at: EntryPosition,
        what: EntryKind,
        abbreviation: &Abbreviation,
        specs: &[AttributeSpecification],
    ) -> Result<Option<(ScanOwner, u32)>, Malformed> {
        let mut entry = TableEntry::new(at, what, ROOT);
        let mut definition_of = NOWHERE;
        let mut sized = false;
        for spec in specs {
            let attribute = self.raw.read_attribute_inline(*spec)?;
            let value = attribute.raw_value();
            match attribute.name() {
                gimli::DW_AT_name => entry.name = self.name(&value)?,
                gimli::DW_AT_byte_size => {
                    if let Some(size) = value.udata_value() {
                        (entry.size, sized) = (size, true);
                    }
                }
                gimli::DW_AT_bit_size => {
                    if let Some(bits) = value.udata_value()
                        && !sized
                    {
                        entry.size = bits.div_ceil(8);
                    }
                }
                gimli::DW_AT_type => entry.target_at = self.reference(&value)?,
                gimli::DW_AT_encoding => {
                    if let EntryKind::Scalar(_) = what {
                        entry.what = EntryKind::Scalar(encoded(value.udata_value()));
                    }
                }
                gimli::DW_AT_decl_file => entry.file = small(&value),
                gimli::DW_AT_decl_line => entry.line = small(&value),
                gimli::DW_AT_alignment => entry.align = small(&value),
                gimli::DW_AT_declaration => {
                    entry.declaration = value != AttributeValue::Flag(false);
                }
                gimli::DW_AT_specification => definition_of = self.reference(&value)?,
                gimli::DW_AT_signature => {
                    entry.target_at = self.reference(&value)?;
                    entry.stands_in = entry.target_at != NOWHERE;
                }
                _ => {}
            }
        }
        match what {
            EntryKind::Pointer if !sized => {
                entry.size = self.unit.job.header.address_size().into();
                entry.to_member = abbreviation.tag() == gimli::DW_TAG_ptr_to_member_type;
            }
            // A bound by itself, as Ada's and Pascal's types.
            EntryKind::Alias => entry.size = 0,
            _ => {}
        }
        if definition_of != NOWHERE {
            self.table.completions.push((definition_of, at));
        }
        entry.scope = match entry.name.is_empty() {
            true => ROOT,
            false => self.scope(),
        };
        let index = u32::try_from(self.table.entries.len())
            .ok()
            .filter(|index| *index < NONE)
            .ok_or_else(|| Malformed::new("it holds more than 2^32 types"))?;
        self.table.entries.push(entry);
        Ok(match entry.what {
            _ if !abbreviation.has_children() => None,
            EntryKind::Array => Some((ScanOwner::Array(index), NONE)),
            what if what.is_composite() => Some((ScanOwner::Composite(index), NONE)),
            _ => None,
        })
    }

    fn member(
        &mut self,
        at: EntryPosition,
        composite: u32,
        specs: &[AttributeSpecification],
        inherited: bool,
    ) -> Result<Option<(ScanOwner, u32)>, Malformed> {
        let mut part = TablePart { inherited, ..TablePart::new() };
        let (mut top, mut start, mut bytes) = (None, None, 0);
        let (mut is_static, mut elsewhere) = (false, false);
        for spec in specs {
            let attribute = self.raw.read_attribute_inline(*spec)?;
            let value = attribute.raw_value();
            match attribute.name() {
                gimli::DW_AT_name => part.name = self.name(&value)?,
                gimli::DW_AT_type => part.target_at = self.reference(&value)?,
                gimli::DW_AT_data_member_location => {
                    match offset(&value, self.unit.job.header.encoding()) {
                        Some(offset) => part.offset = offset,
                        None => elsewhere = true,
                    }
                }
                gimli::DW_AT_bit_size => part.bits = small(&value),
                gimli::DW_AT_data_bit_offset => start = value.udata_value(),
                gimli::DW_AT_bit_offset => top = value.sdata_value(),
                gimli::DW_AT_byte_size => bytes = small(&value),
                gimli::DW_AT_alignment => part.align = small(&value),
                gimli::DW_AT_external | gimli::DW_AT_declaration => {
                    is_static |= value != AttributeValue::Flag(false);
                }
                _ => {}
            }
        }
        if is_static {
            // Static in C++: a declaration of a variable.
            let scope = self.scope();
            self.table.variables.push(TableVariable {
                at,
                name: part.name,
                target_at: part.target_at,
                origin_at: NOWHERE,
                scope,
                file: 0,
                line: 0,
                place: None,
            });
            return Ok(None);
        }
        // The object's table of virtual functions says where a virtual base is.
        if elsewhere {
            return Ok(None);
        }
        match (start, top) {
            (Some(start), _) if part.bits != 0 => part.bits_at = BitsAt::FromStart(start),
            (Some(start), _) => part.offset = start / 8,
            (None, Some(bits)) if part.bits != 0 => {
                part.bits_at = match self.unit.source.sections.endian {
                    RunTimeEndian::Little => BitsAt::FromTop { bits, bytes },
                    RunTimeEndian::Big => {
                        BitsAt::FromStart(part.offset.saturating_mul(8).saturating_add_signed(bits))
                    }
                };
            }
            (None, None) if part.bits != 0 => {
                part.bits_at = BitsAt::FromStart(part.offset.saturating_mul(8));
            }
            _ => {}
        }
        self.table.push_part(composite, part);
        Ok(None)
    }

    fn dimension(
        &mut self,
        array: u32,
        specs: &[AttributeSpecification],
    ) -> Result<Option<(ScanOwner, u32)>, Malformed> {
        let (mut count, mut lower, mut upper) = (None, 0, None);
        for spec in specs {
            let attribute = self.raw.read_attribute(*spec)?;
            let value = attribute.raw_value();
            match attribute.name() {
                gimli::DW_AT_count => count = Some(value.udata_value().unwrap_or(0)),
                gimli::DW_AT_lower_bound => lower = signed(&value).unwrap_or(0),
                gimli::DW_AT_upper_bound => upper = signed(&value),
                _ => {}
            }
        }
        let between = || {
            let elements = upper?.checked_sub(lower)?.checked_add(1)?;
            u64::try_from(elements).ok()
        };
        let count = count.or_else(between).unwrap_or(0);
        self.table.push_part(array, TablePart { offset: count, ..TablePart::new() });
        Ok(None)
    }

    fn variable(
        &mut self,
        at: EntryPosition,
        specs: &[AttributeSpecification],
    ) -> Result<Option<(ScanOwner, u32)>, Malformed> {
        let (mut located, mut declared) = (false, false);
        for spec in specs {
            match spec.name() {
                gimli::DW_AT_location => {
                    located = matches!(
                        spec.form(),
                        gimli::DW_FORM_exprloc
                            | gimli::DW_FORM_block1
                            | gimli::DW_FORM_block
                            | gimli::DW_FORM_block2
                            | gimli::DW_FORM_block4
                    );
                }
                gimli::DW_AT_declaration => declared = true,
                _ => {}
            }
        }
        // Most variables are on some stack. Declarations give definitions their scope; without one, the definition
        // needs only its reference.
        let scope = match (located, declared) {
            (true, _) => self.scope(),
            (false, true) => match self.scope() {
                ROOT => NONE,
                scope => scope,
            },
            (false, false) => NONE,
        };
        if scope == NONE {
            self.raw.skip_attributes(specs)?;
            return Ok(None);
        }
        let mut variable = TableVariable {
            at,
            name: &[],
            target_at: NOWHERE,
            origin_at: NOWHERE,
            scope,
            file: 0,
            line: 0,
            place: None,
        };
        for spec in specs {
            let attribute = self.raw.read_attribute(*spec)?;
            let value = attribute.raw_value();
            match attribute.name() {
                gimli::DW_AT_name => variable.name = self.name(&value)?,
                gimli::DW_AT_type => variable.target_at = self.reference(&value)?,
                gimli::DW_AT_specification | gimli::DW_AT_abstract_origin => {
                    variable.origin_at = self.unit.position(&value)?;
                }
                gimli::DW_AT_decl_file => variable.file = small(&value),
                gimli::DW_AT_decl_line => variable.line = small(&value),
                gimli::DW_AT_location => {
                    let location = match value {
                        AttributeValue::Block(bytes) => bytes,
                        AttributeValue::Exprloc(expression) => expression.0,
                        _ => continue,
                    };
                    variable.place = self.unit.place(&location);
                }
                _ => {}
            }
        }
        if variable.place.is_some() || declared {
            if self.unit.is_foreign(variable.origin_at) {
                self.table.foreign.push(variable.origin_at);
            }
            self.table.variables.push(variable);
        }
        Ok(None)
    }

    fn namespace(
        &mut self,
        specs: &[AttributeSpecification],
    ) -> Result<Option<(ScanOwner, u32)>, Malformed> {
        let mut name: &'d [u8] = b"(anonymous namespace)";
        for spec in specs {
            let attribute = self.raw.read_attribute(*spec)?;
            if attribute.name() == gimli::DW_AT_name {
                name = self.name(&attribute.raw_value())?;
            }
        }
        let parent = self.scope();
        let scope = self.push_scope(TableScope { parent, name });
        Ok(Some((ScanOwner::Scope, scope)))
    }

    fn scope(&mut self) -> u32 {
        // From the outermost frame with an unknown scope: as many as types are nested since the last one that needed
        // it.
        let known = self.frames.iter().rposition(|frame| frame.scope != NONE).unwrap_or(0);
        let mut scope = self.frames[known].scope;
        for index in known + 1..self.frames.len() {
            if let ScanOwner::Composite(composite) = self.frames[index].owner {
                let name = self.table.entries[composite as usize].name;
                if !name.is_empty() {
                    scope = self.push_scope(TableScope { parent: scope, name });
                }
            }
            self.frames[index].scope = scope;
        }
        scope
    }

    fn push_scope(&mut self, scope: TableScope<'d>) -> u32 {
        let index = u32::try_from(self.table.scopes.len()).unwrap_or(ROOT);
        self.table.scopes.push(scope);
        index
    }

    #[inline]
    fn name(&mut self, value: &UnitValue<'d>) -> Result<&'d [u8], Malformed> {
        let name = self.unit.string(value)?.slice();
        self.table.name_bytes += name.len() as u64;
        Ok(name)
    }

    #[inline]
    fn reference(&mut self, value: &UnitValue<'d>) -> Result<EntryPosition, Malformed> {
        let at = self.unit.position(value)?;
        if self.unit.is_foreign(at) {
            self.table.foreign.push(at);
        }
        Ok(at)
    }
}
