//! Which compilation unit holds an address, and what its entries say.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use gimli::{
    Abbreviations, DebugAbbrev, DebugAbbrevOffset, DebugInfoOffset, Reader as _, Section as _,
    SectionId,
};

use super::entries::{Dwarf, Entries, EntryValue, Unit};
use super::image::Image;
use super::lines::Lines;
use super::spans::Spans;
use crate::model::TypeId;

/// Compilers' abbreviation tables stay below a tenth of this.
const LONGEST_TABLE: usize = 1 << 20;

/// How often an entry may refer to another for what it lacks.
const MAX_ORIGINS: usize = 16;

/// The units of a module, and which addresses they cover.
#[derive(Debug, Default)]
pub struct Units {
    /// Units, in the order of offsets.
    entries: Vec<UnitEntry>,
    ranges: Spans,
}

/// A unit, with what was read of it so far.
#[derive(Debug)]
pub struct UnitEntry {
    offset: usize,
    end: usize,
    /// Where its abbreviation table may end: at the next one.
    table: Range<usize>,
    abbreviations: OnceLock<Option<Arc<Abbreviations>>>,
    pub(super) functions: OnceLock<Spans>,
    lines: OnceLock<Lines>,
    /// The types that have names, by the offset of their entries.
    pub(super) types: OnceLock<Vec<(usize, TypeId)>>,
}

impl Units {
    /// Reads the root entry of every unit.
    pub fn of(image: &Image) -> Self {
        let mut units = Self::headers_of(image);
        let found = units.ranges_of_all(image, &image.dwarf());
        units.ranges = found;
        units
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The units' headers, without the addresses that they cover.
    pub fn headers_of(image: &Image) -> Self {
        let dwarf = image.dwarf();
        let mut units = Self::default();
        let mut headers = dwarf.units();
        // What follows a unit that cannot be read is not read either.
        while let Ok(Some(header)) = headers.next() {
            units.entries.push(UnitEntry {
                offset: header.offset().0,
                end: header.offset().0 + header.length_including_self(),
                table: header.debug_abbrev_offset().0..usize::MAX,
                abbreviations: OnceLock::new(),
                functions: OnceLock::new(),
                lines: OnceLock::new(),
                types: OnceLock::new(),
            });
        }
        let mut tables: Vec<usize> = units.entries.iter().map(|unit| unit.table.start).collect();
        tables.sort_unstable();
        tables.dedup();
        for unit in &mut units.entries {
            let start = unit.table.start;
            let next = tables.partition_point(|table| *table <= start);
            let end = tables.get(next).copied().unwrap_or(usize::MAX);
            unit.table.end = end.min(start.saturating_add(LONGEST_TABLE));
        }
        units
    }

    /// Unit after unit in the order of their abbreviation tables, so that each table is read once and none is kept.
    /// Several units may share a line table's header or a list of ranges: a budget bounds what all read of those.
    fn ranges_of_all(&self, image: &Image, dwarf: &Dwarf<'_>) -> Spans {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|which| self.entries[*which].table.start);
        let sections = [
            SectionId::DebugInfo,
            SectionId::DebugLine,
            SectionId::DebugRanges,
            SectionId::DebugRngLists,
        ];
        let bytes: usize = sections.iter().map(|id| image.bytes(*id).len()).sum();
        let mut budget = bytes.saturating_mul(16).saturating_add(1 << 24);
        let mut ranges = Spans::default();
        let mut last: Option<(usize, Option<Arc<Abbreviations>>)> = None;
        for which in order {
            let entry = &self.entries[which];
            let table = match last {
                Some((start, ref table)) if start == entry.table.start => table.clone(),
                _ => entry.parse_abbreviations(dwarf),
            };
            last = Some((entry.table.start, table.clone()));
            let Some(unit) = table.and_then(|table| entry.open(dwarf, table)) else { continue };
            let lines =
                unit.line_program.as_ref().map_or(0, |lines| lines.header().header_length());
            let Some(left) = budget.checked_sub(lines + 1) else { break };
            budget = left;
            let Some(mut root) = Entries::from(&unit, None) else { continue };
            root.advance();
            for range in root.ranges(dwarf, &unit).take(budget) {
                budget -= 1;
                ranges.push(range, which);
            }
        }
        ranges.sorted()
    }
}

impl UnitEntry {
    fn parse_abbreviations(&self, dwarf: &Dwarf<'_>) -> Option<Arc<Abbreviations>> {
        let section = dwarf.debug_abbrev.reader();
        let bytes = &section.slice()[..section.len().min(self.table.end)];
        let table = DebugAbbrev::new(bytes, section.endian());
        table.abbreviations(DebugAbbrevOffset(self.table.start)).ok().map(Arc::new)
    }

    fn open<'a>(&self, dwarf: &Dwarf<'a>, abbreviations: Arc<Abbreviations>) -> Option<Unit<'a>> {
        let header = dwarf.unit_header(DebugInfoOffset(self.offset)).ok()?;
        gimli::Unit::new_with_abbreviations(dwarf, header, abbreviations).ok()
    }
}

/// What one question reads: each unit is opened once.
pub struct Reader<'a> {
    /// Sections with debugging information.
    pub dwarf: Dwarf<'a>,
    units: &'a Units,
    open: RefCell<HashMap<usize, Option<Rc<Unit<'a>>>>>,
}

impl<'a> Reader<'a> {
    /// A reader for one question about a file with these units.
    pub fn new(image: &'a Image, units: &'a Units) -> Self {
        Self { dwarf: image.dwarf(), units, open: RefCell::default() }
    }

    /// The units that hold code at an address.
    pub fn units_at(&self, address: u64) -> impl Iterator<Item = usize> {
        self.units.ranges.at(address)
    }

    /// What is kept of a unit.
    pub fn kept(&self, which: usize) -> &'a UnitEntry {
        &self.units.entries[which]
    }

    /// File and line of an address that a unit holds.
    pub(super) fn line(&self, which: usize, unit: &Unit<'_>, address: u64) -> Option<(u64, u32)> {
        self.kept(which).lines.get_or_init(|| Lines::of(unit)).at(address)
    }

    /// A unit, which stays open.
    pub fn unit(&self, which: usize) -> Option<Rc<Unit<'a>>> {
        let mut open = self.open.borrow_mut();
        let unit = open.entry(which).or_insert_with(|| {
            let entry = self.kept(which);
            let parse = || entry.parse_abbreviations(&self.dwarf);
            let abbreviations = entry.abbreviations.get_or_init(parse).clone()?;
            entry.open(&self.dwarf, abbreviations).map(Rc::new)
        });
        unit.clone()
    }

    /// A unit that no other question is about: nothing of it is kept.
    pub fn unit_once(&self, which: usize) -> Option<Unit<'a>> {
        let entry = self.kept(which);
        entry.open(&self.dwarf, entry.parse_abbreviations(&self.dwarf)?)
    }

    /// The unit that an entry lies in, by its place in `.debug_info`.
    pub fn unit_of(&self, at: usize) -> Option<usize> {
        let after = self.units.entries.partition_point(|unit| unit.offset <= at);
        let which = after.checked_sub(1)?;
        (at < self.kept(which).end).then_some(which)
    }

    /// The place in `.debug_info` of an entry that another one of the unit refers to.
    pub fn target(unit: &Unit<'_>, value: EntryValue<'_>) -> Option<usize> {
        match value {
            EntryValue::UnitRef(offset) => offset.to_debug_info_offset(&unit.header).map(|at| at.0),
            EntryValue::DebugInfoRef(DebugInfoOffset(at)) => Some(at),
            _ => None,
        }
    }

    /// What an entry says, or what the one says that it is a copy of or completes.
    pub fn ask<T>(
        &self,
        mut at: usize,
        mut ask: impl FnMut(&Unit<'a>, &Entries<'_, 'a>) -> Option<T>,
    ) -> Option<T> {
        for _ in 0..MAX_ORIGINS {
            let which = self.unit_of(at)?;
            let unit = self.unit(which)?;
            let mut entries = Entries::from(&unit, at.checked_sub(self.kept(which).offset))?;
            if !entries.advance() {
                return None;
            }
            if let Some(answer) = ask(&unit, &entries) {
                return Some(answer);
            }
            let origin = entries
                .get(gimli::DW_AT_abstract_origin)
                .or_else(|| entries.get(gimli::DW_AT_specification))?;
            at = Self::target(&unit, origin)?;
        }
        None
    }

    /// The text that an attribute says.
    pub fn text(&self, unit: &Unit<'a>, value: EntryValue<'a>) -> Option<String> {
        let text = self.dwarf.attr_string(unit, value).ok()?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    }

    /// The name of an entry, without its path.
    pub fn name(&self, at: usize) -> Option<String> {
        self.ask(at, |unit, entry| self.text(unit, entry.get(gimli::DW_AT_name)?))
    }
}
