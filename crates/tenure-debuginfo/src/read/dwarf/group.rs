use std::collections::HashMap;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::content::UnitContents;
use super::emit::{Emit, Surroundings};
use super::fault::DwarfFault;
use super::store::{Store, StoredEntry};
use super::table::{EntryPosition, EntryTable, TableVariable};
use super::unit::{Files, Unit};
use super::{Deferred, DwarfProgram, origin_in, scan};
use crate::model::Name;

/// Reads the deferred units, and those that they refer to.
pub(super) fn read<'d>(
    program: &DwarfProgram<'d>,
    deferred: Vec<Deferred<'d>>,
    store: &Store<'d>,
) -> Result<StoredEntry<'d>, DwarfFault> {
    let mut scanned: HashMap<usize, EntryTable<'d>> = HashMap::new();
    let mut fresh: Vec<usize> = Vec::new();
    let mut first = Vec::new();
    for Deferred { job, table } in deferred {
        first.push(job);
        scanned.insert(job, table);
    }
    first.sort_unstable();
    let mut last = first.clone();
    // Each round reads the unread units to which the last one refers.
    while !last.is_empty() {
        for job in &last {
            let mut foreign = std::mem::take(&mut scanned.entry(*job).or_default().foreign);
            foreign.sort_unstable();
            foreign.dedup();
            fresh.extend(foreign.iter().filter_map(|at| program.job_at(*at)));
        }
        fresh.sort_unstable();
        fresh.dedup();
        fresh.retain(|job| !scanned.contains_key(job));
        let empty = || {
            let mut table = EntryTable::default();
            table.clear();
            table
        };
        let read = |job: usize| {
            let mut table = empty();
            scan::scan(&program.open(job, false)?, &mut table)?;
            Ok(table)
        };
        let tables: Vec<(usize, EntryTable<'d>)> = fresh
            .par_iter()
            .map(|&job| match read(job) {
                Ok(table) => (job, table),
                Err(fault) => {
                    program.skip(job, fault);
                    (job, empty())
                }
            })
            .collect();
        scanned.extend(tables);
        last = std::mem::take(&mut fresh);
    }

    let mut order: Vec<usize> = scanned.keys().copied().collect();
    order.sort_unstable();
    let mut table = EntryTable::default();
    table.clear();
    for job in &order {
        if let Some(one) = scanned.remove(job) {
            table.append(&one)?;
        }
    }
    table.link();
    let mut contents = UnitContents::default();
    contents.settle(&table)?;
    let around = Together { program, units: HashMap::new() };
    let number = u32::try_from(program.jobs.len()).unwrap_or(u32::MAX);
    let mut found = Emit::new(&table, &mut contents, store, around, number).run()?;
    // The others were counted when they were read alone.
    for job in first {
        found.translation_units += u64::from(program.open(job, true)?.is_translation_unit());
    }
    Ok(found)
}

struct Together<'p, 'd> {
    program: &'p DwarfProgram<'d>,
    units: HashMap<usize, Option<(Unit<'p, 'd>, Option<Files<'d>>)>>,
}

impl<'p, 'd> Together<'p, 'd> {
    fn unit(&mut self, at: EntryPosition) -> Option<&mut (Unit<'p, 'd>, Option<Files<'d>>)> {
        let job = self.program.job_at(at)?;
        let program = self.program;
        self.units
            .entry(job)
            .or_insert_with(|| program.open(job, true).ok().map(|unit| (unit, None)))
            .as_mut()
    }
}

impl<'d> Surroundings<'d> for Together<'_, 'd> {
    fn file(&mut self, at: EntryPosition, number: u32) -> Option<Name> {
        let (unit, files) = self.unit(at)?;
        files.get_or_insert_with(|| Files::of(unit)).get(unit, number)
    }

    fn section(&mut self, at: EntryPosition, index: u32) -> Name {
        self.unit(at).map(|(unit, _)| unit.source.program.places.name(index)).unwrap_or_default()
    }

    fn origin(&mut self, at: EntryPosition) -> Option<TableVariable<'d>> {
        let (unit, _) = self.unit(at)?;
        origin_in(unit, at)
    }
}
