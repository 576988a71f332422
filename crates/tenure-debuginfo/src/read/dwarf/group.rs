use std::collections::HashMap;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::content::UnitContents;
use super::emit::Emit;
use super::store::{Store, StoredEntry};
use super::table::EntryTable;
use super::{Deferred, DwarfProgram, Surroundings, scan};
use crate::model::Malformed;

/// Reads the deferred units, and those that they refer to.
pub(super) fn read<'d>(
    program: &DwarfProgram<'d>,
    deferred: Vec<Deferred<'d>>,
    store: &Store<'d>,
) -> Result<StoredEntry<'d>, Malformed> {
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
        let read = |job: usize| {
            let mut table = EntryTable::empty();
            scan::scan(&program.open(job, false)?, &mut table)?;
            Ok(table)
        };
        let tables: Vec<(usize, EntryTable<'d>)> = fresh
            .par_iter()
            .map(|&job| match read(job) {
                Ok(table) => (job, table),
                Err(fault) => {
                    program.skip(job, fault);
                    (job, EntryTable::empty())
                }
            })
            .collect();
        scanned.extend(tables);
        last = std::mem::take(&mut fresh);
    }

    let mut order: Vec<usize> = scanned.keys().copied().collect();
    order.sort_unstable();
    let mut table = EntryTable::empty();
    for job in &order {
        if let Some(one) = scanned.remove(job) {
            table.append(&one)?;
        }
    }
    table.link();
    let mut contents = UnitContents::default();
    contents.settle(&table)?;
    let mut around = Surroundings::new(program);
    let number = u32::try_from(program.jobs.len()).unwrap_or(u32::MAX);
    let mut found = Emit::new(&table, &mut contents, store, &mut around, number).run()?;
    // The others were counted when they were read alone.
    for job in first {
        found.translation_units += u64::from(program.open(job, true)?.is_translation_unit());
    }
    Ok(found)
}
