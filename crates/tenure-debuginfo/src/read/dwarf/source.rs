use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gimli::{
    Abbreviations, DebugAbbrev, Dwarf, DwarfFileType, EndianSlice, Reader as _, RunTimeEndian,
    Section as _, SectionId, UnitHeader, UnitType,
};

use super::table::EntryPosition;
use crate::model::Malformed;
use crate::read::object::Sections;

pub(super) type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

/// Ten times compilers' abbreviation tables.
const LONGEST_TABLE: u64 = 1 << 20;

/// Sections that refer to each other by offsets: one object file's or one `.dwo` file's.
#[derive(Debug)]
pub(super) struct DwarfSource<'d> {
    pub(super) dwarf: Dwarf<Slice<'d>>,
    pub(super) sections: &'d Sections<'d>,
    /// Where addresses lie; differs from `sections` for a split file.
    pub(super) program: &'d Sections<'d>,
    /// The start of a split unit's addresses, and the expected unit.
    pub(super) address_base: usize,
    pub(super) expected: Option<u64>,
    /// Of the first byte of `.debug_info` and of `.debug_types`.
    pub(super) info_base: EntryPosition,
    pub(super) types_base: EntryPosition,
    /// Of the supplementary file's `.debug_info`.
    pub(super) supplement_base: Option<EntryPosition>,
    pub(super) name: String,
    abbreviations: Tables,
    /// Bytes of line-table headers that may still be read.
    line_bytes: Mutex<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Job<'d> {
    pub(super) source: u32,
    pub(super) header: UnitHeader<Slice<'d>>,
    /// Where the section begins, and the unit.
    pub(super) base: EntryPosition,
    pub(super) start: EntryPosition,
}

impl Job<'_> {
    pub(super) fn end(&self) -> EntryPosition {
        self.start + self.header.length_including_self() as u64
    }

    pub(super) fn is_translation_unit(&self) -> bool {
        matches!(self.header.type_(), UnitType::Compilation | UnitType::Skeleton(_))
    }
}

pub(super) fn dwarf_of<'d>(
    sections: &'d Sections<'d>,
    file_type: DwarfFileType,
) -> Dwarf<Slice<'d>> {
    let load = |id: SectionId| {
        Ok::<_, std::convert::Infallible>(EndianSlice::new(sections.bytes(id), sections.endian))
    };
    let Ok(mut dwarf) = Dwarf::load(load);
    dwarf.file_type = file_type;
    dwarf
}

impl<'d> DwarfSource<'d> {
    /// Moves `end` after these sections.
    pub(super) fn new(
        name: String,
        dwarf: Dwarf<Slice<'d>>,
        sections: &'d Sections<'d>,
        end: &mut EntryPosition,
    ) -> Self {
        let info_base = *end;
        let types_base = info_base + dwarf.debug_info.reader().len() as u64;
        *end = types_base + dwarf.debug_types.reader().len() as u64;
        let supplement_base = None;
        let abbreviations = Tables::default();
        let lines = dwarf.debug_line.reader().len() as u64;
        let line_bytes = Mutex::new(lines.saturating_mul(64).saturating_add(1 << 24));
        Self {
            dwarf,
            sections,
            program: sections,
            address_base: 0,
            expected: None,
            info_base,
            types_base,
            supplement_base,
            name,
            abbreviations,
            line_bytes,
        }
    }

    /// Whether so much more of line-table headers may be read: units may share one, but many sharing a long one would
    /// take forever.
    pub(super) fn allows_lines(&self, length: usize) -> bool {
        let mut left = self.line_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let after = left.checked_sub((length as u64).max(1));
        *left = after.unwrap_or(0);
        after.is_some()
    }

    pub(super) fn split(
        self,
        program: &'d Sections<'d>,
        address_base: usize,
        expected: Option<u64>,
    ) -> Self {
        Self { program, address_base, expected, ..self }
    }

    pub(super) fn jobs(&mut self, source: u32) -> Result<Vec<Job<'d>>, Malformed> {
        let mut jobs = Vec::new();
        let mut last = 0;
        let mut units = self.dwarf.units();
        let fault = |error, at| Malformed::from(error).at("header of the unit after", at);
        while let Some(header) = units.next().map_err(|error| fault(error, last))? {
            last = header.offset().0 as u64;
            let start = self.info_base + last;
            jobs.push(Job { source, header, base: self.info_base, start });
        }
        let mut units = self.dwarf.type_units();
        last = 0;
        while let Some(header) = units.next().map_err(|error| fault(error, last))? {
            last = header.offset().0 as u64;
            let start = self.types_base + last;
            jobs.push(Job { source, header, base: self.types_base, start });
        }
        self.abbreviations = Tables::of(&jobs);
        Ok(jobs)
    }

    /// `keep`: in memory, even for a single unit.
    pub(super) fn abbreviations(
        &self,
        job: &Job<'d>,
        keep: bool,
    ) -> Result<Arc<Abbreviations>, Malformed> {
        let offset = job.header.debug_abbrev_offset().0;
        let place = self.abbreviations.0.partition_point(|table| table.offset < offset);
        let table = &self.abbreviations.0[place];
        if let Some(parsed) = table.parsed.get() {
            return Ok(parsed.clone());
        }
        let section = self.dwarf.debug_abbrev.reader();
        // Up to the next table: overlapping tables would be read again and again.
        let next = self.abbreviations.0.get(place + 1).map_or(section.len(), |next| next.offset);
        let bytes = &section.slice()[..next.min(section.len())];
        if bytes.len().saturating_sub(offset) as u64 > LONGEST_TABLE && next != section.len() {
            return Err(Malformed::new("its abbreviation table is longer than any compiler's"));
        }
        let bytes = &bytes[..bytes.len().min(offset.saturating_add(LONGEST_TABLE as usize))];
        let parsed = DebugAbbrev::new(bytes, self.sections.endian)
            .abbreviations(job.header.debug_abbrev_offset())
            .map(Arc::new)?;
        if keep || table.users > 1 {
            return Ok(table.parsed.get_or_init(|| parsed).clone());
        }
        Ok(parsed)
    }

    /// The start of a section of entries in memory, for offsets of what was read from it.
    pub(super) fn entries_section(&self, job: &Job<'_>) -> (SectionId, &Slice<'d>) {
        match job.header.section() {
            SectionId::DebugTypes => (SectionId::DebugTypes, self.dwarf.debug_types.reader()),
            _ => (SectionId::DebugInfo, self.dwarf.debug_info.reader()),
        }
    }

    pub(super) fn bytes_of(&self, job: &Job<'d>) -> &'d [u8] {
        let (_, section) = self.entries_section(job);
        let start = (job.start - job.base) as usize;
        section.slice().get(start..start + job.header.length_including_self()).unwrap_or_default()
    }

    pub(super) fn offset_in(section: &Slice<'d>, bytes: &Slice<'d>) -> u64 {
        bytes.offset_from(*section) as u64
    }
}

#[derive(Debug, Default)]
struct Tables(Vec<TableOf>);

#[derive(Debug)]
struct TableOf {
    offset: usize,
    users: u32,
    parsed: OnceLock<Arc<Abbreviations>>,
}

impl Tables {
    fn of(jobs: &[Job<'_>]) -> Self {
        let mut offsets: Vec<usize> =
            jobs.iter().map(|job| job.header.debug_abbrev_offset().0).collect();
        offsets.sort_unstable();
        let mut tables: Vec<TableOf> = Vec::new();
        for offset in offsets {
            match tables.last_mut() {
                Some(last) if last.offset == offset => last.users += 1,
                _ => tables.push(TableOf { offset, users: 1, parsed: OnceLock::new() }),
            }
        }
        Self(tables)
    }
}
