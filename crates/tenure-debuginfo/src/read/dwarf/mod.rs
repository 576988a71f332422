//! DWARF, versions 2 to 5, into the model.
//!
//! Units repeat the types of their headers: the kernel's 14 million entries are some 100 thousand types. So units are
//! read in parallel, each into flat tables that the next one reuses ([`scan`], [`table`]); every type gets a hash of
//! its content ([`content`]); only new types are kept ([`emit`], [`store`]) and put together in the order of the file
//! ([`merge`]): the model does not depend on the number of threads.
//!
//! Units whose types refer to other units (after link-time optimisation or `dwz`, and with type units) are deferred and
//! read together with those, as one unit.
//!
//! Limits:
//!
//! - A malformed unit is left out, and the model says so ([`Model::skipped`]). If no unit is sound, the read fails.
//! - Tables that no compiler writes are refused, so that time and memory stay proportional to the input: more than 128
//!   attributes in an abbreviation, more than 65,536 rows in a unit that take less than 3 bytes each, names of more
//!   than 256 times the unit's length or 4 times the file's, an abbreviation table of more than a megabyte.
//! - Names are cut after 64 KiB, pointers to pointers are looked through 64 times, arrays have up to 16 dimensions.

mod content;
mod digest;
mod emit;
mod group;
mod kept;
mod merge;
mod scan;
mod source;
mod split;
mod store;
mod table;
mod unit;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use gimli::{DwarfFileType, UnitType};
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};

use self::content::UnitContents;
use self::emit::Emit;
pub use self::kept::EntryTypes;
use self::source::{DwarfSource, Job, dwarf_of};
pub(super) use self::split::{Missing, SplitUnit, Splits, missing};
use self::store::{Store, StoredEntry};
use self::table::{EntryPosition, EntryTable, NOWHERE, ROOT, TableVariable};
use self::unit::{Files, Signatures, Unit, small};
use tenure_model::Progress;

use super::file::MappedFile;
use super::object::Sections;
use crate::model::{Format, Malformed, Model, Name};

#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'d> {
    pub(super) name: &'d str,
    pub(super) sections: &'d Sections<'d>,
    /// Sections of the file that `dwz` moved common parts to.
    pub(super) supplement: Option<&'d Sections<'d>>,
    /// Whose memory to give back.
    pub(super) file: Option<&'d MappedFile>,
    pub(super) splits: Option<Splits<'d>>,
}

/// Parses all units. `keep_entries` says whether to note where the entries of types are; else that is empty.
pub(super) fn parse(
    objects: &[Object<'_>],
    keep_entries: bool,
    progress: &dyn Progress,
) -> Result<(Model, EntryTypes), Malformed> {
    let program = DwarfProgram::of(objects)?;
    let total = program.jobs.iter().map(|job| job.header.length_including_self() as u64).sum();
    progress.begin("reading types", total);
    let found = program.read(keep_entries, progress);
    progress.end();
    let (found, store) = found?;
    let units = found.iter().map(|one| one.translation_units).sum();
    let (builder, mut entries) = merge::merge(found, store, total)?;
    entries.supplement = program.sources.first().and_then(|source| source.supplement_base);
    let skipped = program.skipped();
    let crates = program.crates.into_inner().unwrap_or_else(PoisonError::into_inner);
    let crates = crates.into_iter().collect();
    match skipped.first() {
        Some(first) if builder.is_empty() => Err(Malformed::new(first)),
        _ => Ok((builder.finish(Format::Dwarf, units)?.with(skipped, crates), entries)),
    }
}

#[derive(Debug)]
struct DwarfProgram<'d> {
    sources: Vec<DwarfSource<'d>>,
    files: Vec<Option<&'d MappedFile>>,
    jobs: Vec<Job<'d>>,
    /// Where units begin that are read only if others refer to them.
    on_demand: EntryPosition,
    signatures: Signatures,
    /// Malformed units, by job: they are left out.
    skipped: Mutex<BTreeMap<usize, Malformed>>,
    /// Rust's, with the paths of their roots.
    crates: Mutex<BTreeSet<(String, String)>>,
}

#[derive(Debug, Default)]
struct ReadScratch<'d> {
    table: EntryTable<'d>,
    contents: UnitContents,
}

/// Refers to other units.
#[derive(Debug)]
struct Deferred<'d> {
    job: usize,
    table: EntryTable<'d>,
}

impl<'d> DwarfProgram<'d> {
    fn of(objects: &[Object<'d>]) -> Result<Self, Malformed> {
        let mut end = 0;
        let mut sources = Vec::new();
        let mut files = Vec::new();
        for object in objects {
            if let Some(splits) = object.splits {
                let split = split::sources(object, splits, objects, &mut end)?;
                files.extend(split.iter().map(|_| object.file));
                sources.extend(split);
                continue;
            }
            let dwarf = dwarf_of(object.sections, DwarfFileType::Main);
            sources.push(DwarfSource::new(
                object.name.to_owned(),
                dwarf,
                object.sections,
                &mut end,
            ));
            files.push(object.file);
        }
        let on_demand = end;
        for (index, object) in objects.iter().enumerate() {
            if let Some(supplement) = object.supplement {
                let source = &mut sources[index];
                source.supplement_base = Some(end);
                source.dwarf.set_sup(dwarf_of(supplement, DwarfFileType::Main));
                let dwarf = dwarf_of(supplement, DwarfFileType::Main);
                let name = format!("{} (supplementary file)", object.name);
                sources.push(DwarfSource::new(name, dwarf, supplement, &mut end));
                files.push(None);
            }
        }
        let mut jobs = Vec::new();
        for (index, source) in (0..).zip(&mut sources) {
            let found = source.jobs(index).map_err(|fault| fault.within(&source.name))?;
            jobs.extend(found);
        }
        let mut signatures = Signatures::new();
        for job in &jobs {
            if let UnitType::Type { type_signature, type_offset }
            | UnitType::SplitType { type_signature, type_offset } = job.header.type_()
            {
                let at = job.start.saturating_add(type_offset.0 as u64);
                signatures.entry(type_signature.0).or_insert(at);
            }
        }
        let (skipped, crates) = (Mutex::default(), Mutex::default());
        Ok(Self { sources, files, jobs, on_demand, signatures, skipped, crates })
    }

    fn read(
        &self,
        keep_entries: bool,
        progress: &dyn Progress,
    ) -> Result<(Vec<StoredEntry<'d>>, Store<'d>), Malformed> {
        let store = Store::new(keep_entries);
        let deferred = Mutex::new(Vec::new());
        let jobs = self.jobs.iter().take_while(|job| job.start < self.on_demand);
        // A bridge hands the units out in order, so that the first ones' types stay.
        let found: Result<Vec<Option<StoredEntry<'d>>>, Malformed> = jobs
            .enumerate()
            .par_bridge()
            .map_init(ReadScratch::default, |scratch, (index, job)| {
                let found = self.read_unit(index, scratch, &store, &deferred);
                progress.advance(job.header.length_including_self() as u64);
                found.map_err(|fault| self.located(fault, job))
            })
            .collect();
        let mut found: Vec<StoredEntry<'d>> = found?.into_iter().flatten().collect();
        let deferred = deferred.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !deferred.is_empty() {
            found.push(group::read(self, deferred, &store)?);
        }
        Ok((found, store))
    }

    fn skip(&self, job: usize, fault: Malformed) {
        let fault = self.located(fault, &self.jobs[job]);
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner).insert(job, fault);
    }

    fn skipped(&self) -> Vec<String> {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *skipped).into_values().map(|fault| fault.to_string()).collect()
    }

    /// None if the unit refers to others, and is deferred, or if it is malformed.
    fn read_unit(
        &self,
        index: usize,
        scratch: &mut ReadScratch<'d>,
        store: &Store<'d>,
        deferred: &Mutex<Vec<Deferred<'d>>>,
    ) -> Result<Option<StoredEntry<'d>>, Malformed> {
        let job = &self.jobs[index];
        let unit = match self.open(index, false) {
            Ok(unit) => unit,
            Err(fault) => {
                self.skip(index, fault);
                return Ok(None);
            }
        };
        let order = u32::try_from(index).unwrap_or(u32::MAX);
        let translation_units = u64::from(unit.is_translation_unit());
        self.note_crate(&unit);
        if unit.root.split.is_some() {
            // Its entries are in another file that is read.
            return Ok(Some(StoredEntry { order, translation_units, ..StoredEntry::default() }));
        }
        if unit.source.expected.is_some_and(|id| unit.root.id.is_some_and(|is| is.0 != id)) {
            return Err(Malformed::new("it is of another build than the program"));
        }
        let ReadScratch { table, contents } = scratch;
        table.clear();
        if let Err(fault) = scan::scan(&unit, table) {
            self.skip(index, fault);
            return Ok(None);
        }
        if !table.foreign.is_empty() {
            let table = std::mem::take(table);
            let mut deferred = deferred.lock().unwrap_or_else(PoisonError::into_inner);
            deferred.push(Deferred { job: index, table });
            return Ok(None);
        }
        table.link();
        if let Err(fault) = contents.settle(table) {
            self.skip(index, fault);
            return Ok(None);
        }
        let bytes = unit.source.bytes_of(job);
        let mut around = Surroundings::new(self);
        around.units.insert(index, Some((unit, None)));
        let mut found = Emit::new(table, contents, store, &mut around, order).run()?;
        found.translation_units = translation_units;
        if let Some(file) = self.files[job.source as usize] {
            file.release(bytes);
        }
        Ok(Some(found))
    }

    fn note_crate(&self, unit: &Unit<'_, 'd>) {
        let Some((root, name)) = unit.of_crate() else { return };
        let crates = || self.crates.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = || crates().iter().any(|(_, known)| *known == root);
        // What cannot be read is found by the scan, which says where.
        let named = |root: &str| unit.namespace_beside(root).ok().flatten();
        let name = name.or_else(|| if is_known() { None } else { named(&root) });
        if let Some(name) = name {
            crates().insert((name, root));
        }
    }

    fn open(&self, index: usize, keep: bool) -> Result<Unit<'_, 'd>, Malformed> {
        let job = &self.jobs[index];
        Unit::open(&self.sources[job.source as usize], job, &self.signatures, keep)
    }

    fn job_at(&self, at: EntryPosition) -> Option<usize> {
        let index = self.jobs.partition_point(|job| job.start <= at).checked_sub(1)?;
        (at < self.jobs[index].end()).then_some(index)
    }

    fn located(&self, fault: Malformed, job: &Job<'_>) -> Malformed {
        let source = &self.sources[job.source as usize];
        let name = source.entries_section(job).0.name();
        fault.at(&format!("unit at {name}"), job.start - job.base).within(&source.name)
    }
}

/// What the output needs beside the table: the units that it is of, with their source files.
struct Surroundings<'p, 'd> {
    program: &'p DwarfProgram<'d>,
    units: HashMap<usize, Option<(Unit<'p, 'd>, Option<Files<'d>>)>>,
}

impl<'p, 'd> Surroundings<'p, 'd> {
    fn new(program: &'p DwarfProgram<'d>) -> Self {
        Self { program, units: HashMap::new() }
    }

    fn unit(&mut self, at: EntryPosition) -> Option<&mut (Unit<'p, 'd>, Option<Files<'d>>)> {
        let job = self.program.job_at(at)?;
        let open = || self.program.open(job, true).ok().map(|unit| (unit, None));
        self.units.entry(job).or_insert_with(open).as_mut()
    }

    fn file(&mut self, at: EntryPosition, number: u32) -> Option<Name> {
        let (unit, files) = self.unit(at)?;
        files.get_or_insert_with(|| Files::of(unit)).get(unit, number)
    }

    fn section(&mut self, at: EntryPosition, index: u32) -> Name {
        self.unit(at).map(|(unit, _)| unit.source.program.places.name(index)).unwrap_or_default()
    }

    /// Name and type of a variable, from an entry that the table lacks.
    fn origin(&mut self, at: EntryPosition) -> Option<TableVariable<'d>> {
        let (unit, _) = self.unit(at)?;
        let offset = usize::try_from(at.checked_sub(unit.job.start)?).ok()?;
        let entry = unit.job.header.entry(&unit.abbreviations, gimli::UnitOffset(offset)).ok()?;
        let value = |name| entry.attr_value_raw(name);
        let number = |name| value(name).map_or(0, |value| small(&value));
        let position = |name| value(name).and_then(|value| unit.position(&value).ok());
        let name = value(gimli::DW_AT_name).and_then(|name| unit.string(&name).ok());
        Some(TableVariable {
            at,
            name: name.map_or(&[], |name| name.slice()),
            target_at: position(gimli::DW_AT_type).unwrap_or(NOWHERE),
            origin_at: position(gimli::DW_AT_specification)
                .or_else(|| position(gimli::DW_AT_abstract_origin))
                .unwrap_or(NOWHERE),
            scope: ROOT,
            file: number(gimli::DW_AT_decl_file),
            line: number(gimli::DW_AT_decl_line),
            place: None,
        })
    }
}
