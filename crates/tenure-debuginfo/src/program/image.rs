//! The file of a module: its sections of debugging information, and its symbols.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;
use std::path::Path;

use gimli::{EndianSlice, RunTimeEndian, SectionId};
use object::{File, Object as _, ObjectSection as _};

use super::entries::Dwarf;
use super::symbols::Symbols;
use crate::Error;
use crate::model::Malformed;
use crate::read::file::MappedFile;
use crate::read::object::{decompressed, has_dwarf, is_named, separate};

/// What names of functions and lines and places of variables take; the types are read elsewhere.
const WANTED: [SectionId; 11] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugLine,
    SectionId::DebugStrOffsets,
    SectionId::DebugAddr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
];

/// The file that holds the debugging information, and where its sections are.
#[derive(Debug)]
pub struct Image {
    file: MappedFile,
    endian: RunTimeEndian,
    sections: Vec<(SectionId, Piece)>,
    /// What its symbols name.
    pub symbols: Symbols,
}

#[derive(Debug)]
enum Piece {
    /// Bytes of the file.
    Mapped(Range<usize>),
    /// What was compressed there.
    Inflated(Vec<u8>),
}

impl Image {
    /// Opens a file, and what has its debugging information.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a program or library.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_with(path, None)
    }

    /// Opens a file, with debugging information from another one if that is named.
    pub fn open_with(path: &Path, debug_file: Option<&Path>) -> Result<Self, Error> {
        let file = MappedFile::open(path)?;
        let object = parse(&file)?;
        let mut symbols = Symbols::default();
        symbols.extend(&object, file.bytes().len());
        let separate = match debug_file {
            Some(path) => Some(MappedFile::open(path)?),
            None if has_dwarf(&object, false) => None,
            None => separate::find(path, &object),
        };
        if let Some(separate) = separate {
            let object = parse(&separate)?;
            symbols.extend(&object, separate.bytes().len());
            let (endian, sections) = sections(&separate, &object)?;
            return Ok(Self { file: separate, endian, sections, symbols });
        }
        let (endian, sections) = sections(&file, &object)?;
        Ok(Self { file, endian, sections, symbols })
    }

    /// Its sections with debugging information.
    pub fn dwarf(&self) -> Dwarf<'_> {
        let load = |id| Ok::<_, Infallible>(EndianSlice::new(self.bytes(id), self.endian));
        let Ok(dwarf) = gimli::Dwarf::load(load);
        dwarf
    }

    /// The bytes of a section; none if it lacks.
    pub fn bytes(&self, id: SectionId) -> &[u8] {
        match self.sections.iter().find(|(section, _)| *section == id) {
            None => &[],
            Some((_, Piece::Mapped(range))) => &self.file.bytes()[range.clone()],
            Some((_, Piece::Inflated(bytes))) => bytes,
        }
    }
}

fn parse(file: &MappedFile) -> Result<File<'_>, Error> {
    File::parse(file.bytes()).map_err(|error| {
        Error::new(format!(
            "{} is not a program or library: {error}; give the file that the process has loaded",
            file.path().display()
        ))
    })
}

fn sections(
    file: &MappedFile,
    object: &File<'_>,
) -> Result<(RunTimeEndian, Vec<(SectionId, Piece)>), Error> {
    let endian = match object.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let mut budget = file.bytes().len() as u64;
    let mut pieces: Vec<(SectionId, Piece)> = Vec::new();
    for section in object.sections() {
        let Ok(name) = section.name_bytes() else { continue };
        let Some(id) = WANTED.into_iter().find(|id| is_named(name, *id, false)) else { continue };
        if pieces.iter().any(|(known, _)| *known == id) {
            continue;
        }
        let bytes = decompressed(object, section.index(), &mut budget)
            .map_err(|what: Malformed| Error::malformed(file.path(), &what))?;
        let piece = match bytes {
            Cow::Owned(bytes) => Piece::Inflated(bytes),
            Cow::Borrowed(bytes) => {
                let start = (bytes.as_ptr() as usize).wrapping_sub(file.bytes().as_ptr() as usize);
                match start.checked_add(bytes.len()) {
                    Some(end) if end <= file.bytes().len() => Piece::Mapped(start..end),
                    _ => Piece::Inflated(bytes.to_vec()),
                }
            }
        };
        pieces.push((id, piece));
    }
    Ok((endian, pieces))
}
