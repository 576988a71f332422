//! The line tables: which line of which file an address was compiled from.

use super::entries::{Dwarf, Unit};
use crate::read::file::{file_path, within};

/// The rows of a unit's line table.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Sequences, by first address.
    sequences: Vec<Sequence>,
}

/// Rows without gaps.
#[derive(Debug)]
struct Sequence {
    end: u64,
    /// Rows by address; never empty.
    rows: Vec<LineTableRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineTableRow {
    address: u64,
    file: u32,
    line: u32,
}

impl Lines {
    /// Rows after what cannot be read are missing.
    pub(super) fn of(unit: &Unit<'_>) -> Self {
        let mut sequences = Vec::new();
        let mut rows: Vec<LineTableRow> = Vec::new();
        if let Some(program) = unit.line_program.clone() {
            let mut all = program.rows();
            while let Ok(Some((_, row))) = all.next_row() {
                let address = row.address();
                if row.end_sequence() {
                    let mut rows = std::mem::take(&mut rows);
                    // Of code that the linker dropped, the first address is 0.
                    if rows.first().is_some_and(|first| first.address != 0) {
                        rows.sort_by_key(|row| row.address);
                        rows.shrink_to_fit();
                        sequences.push(Sequence { end: address, rows });
                    }
                    continue;
                }
                let file = u32::try_from(row.file_index()).unwrap_or(u32::MAX);
                let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
                match rows.last_mut() {
                    Some(last) if last.address == address => (last.file, last.line) = (file, line),
                    Some(last) if (last.file, last.line) == (file, line) => {}
                    _ => rows.push(LineTableRow { address, file, line }),
                }
            }
        }
        sequences.sort_by_key(|sequence: &Sequence| sequence.rows[0].address);
        Self { sequences }
    }

    /// File and line.
    pub(super) fn at(&self, address: u64) -> Option<(u64, u32)> {
        let after = self.sequences.partition_point(|one| one.rows[0].address <= address);
        let sequence = self.sequences[..after].last().filter(|one| address < one.end)?;
        let after = sequence.rows.partition_point(|row| row.address <= address);
        let row = sequence.rows[..after].last()?;
        Some((row.file.into(), row.line))
    }
}

/// The path of a file by its number. A relative one is within the directory in which the compiler ran: that says whose
/// `src/lib.rs` it is.
pub(super) fn file(dwarf: &Dwarf<'_>, unit: &Unit<'_>, number: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let path = file_path(header, number, |value| dwarf.attr_string(unit, value).ok())?;
    Some(match &unit.comp_dir {
        Some(directory) => within(&directory.to_string_lossy(), path),
        None => path,
    })
}
