//! Names of source files, which are in the line tables: read for a unit when it has something new to
//! say.

use gimli::{DebugLineOffset, DwarfFileType, LineProgramHeader};

use super::source::Slice;
use super::unit::Unit;
use crate::model::Name;

/// The source files of one unit.
#[derive(Debug)]
pub(super) struct Files<'d> {
    header: Option<LineProgramHeader<Slice<'d>>>,
    names: Vec<Option<Name>>,
}

impl<'d> Files<'d> {
    pub(super) fn of(unit: &Unit<'_, 'd>) -> Self {
        // A unit whose line table cannot be read has types all the same.
        let lines = match unit.source.dwarf.file_type {
            DwarfFileType::Main => unit.root.lines,
            // A split file has one table, and its units need not say so.
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

    /// The path of a file by its number: with its directory, without the unit's.
    pub(super) fn get(&mut self, unit: &Unit<'_, 'd>, number: u32) -> Option<Name> {
        let header = self.header.as_ref()?;
        let file = header.file(number.into())?;
        let place = number as usize;
        if self.names.len() <= place {
            // The header has that many files.
            self.names.resize(place + 1, None);
        }
        if let Some(name) = &self.names[place] {
            return Some(name.clone());
        }
        let text = |value| {
            let text = unit.string(&value).ok()?;
            Some(String::from_utf8_lossy(text.slice()).into_owned())
        };
        let mut path = text(file.path_name())?;
        // Directory 0 is the one that the compiler was started in: a path is shorter without it, and
        // the same on every machine.
        if !path.starts_with('/')
            && file.directory_index() != 0
            && let Some(directory) = file.directory(header).and_then(text)
        {
            path = format!("{}/{path}", directory.trim_end_matches('/'));
        }
        let name: Name = path.into();
        self.names[place] = Some(name.clone());
        Some(name)
    }
}
