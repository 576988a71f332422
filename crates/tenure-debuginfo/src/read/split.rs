//! Split DWARF: finds the files of `-gsplit-dwarf`.

use std::path::{Path, PathBuf};

use super::dwarf::{Missing, SplitUnit};
use super::file::{MappedFile, path_in};
use crate::Error;

/// Each is an open mapping, of which a process may have some 65,000. A package (`dwp`) has no such limit.
const MAX_FILES: usize = 50_000;

#[derive(Debug)]
pub(super) struct SplitFile {
    pub(super) file: MappedFile,
    /// A package of several files.
    pub(super) is_package: bool,
    /// Those that the program names.
    pub(super) units: Vec<SplitUnit>,
}

/// Opens the files of missing units: the program's package, or each unit's own. Fails if one is missing.
pub(super) fn find(program: &Path, missing: &[Missing]) -> Result<Vec<SplitFile>, Error> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let mut package = program.as_os_str().to_owned();
    package.push(".dwp");
    let package = PathBuf::from(package);
    if package.exists() {
        let units = missing.iter().map(|one| one.unit).collect();
        return Ok(vec![SplitFile { file: MappedFile::open(&package)?, is_package: true, units }]);
    }
    if missing.len() > MAX_FILES {
        return Err(Error::new(format!(
            "the debugging information of {} is split over {} files; make one of them with dwp",
            program.display(),
            missing.len()
        )));
    }
    missing
        .iter()
        .map(|one| {
            let candidates = candidates(program, one);
            let file = candidates.iter().find_map(|path| MappedFile::open(path).ok());
            match file {
                Some(file) => Ok(SplitFile { file, is_package: false, units: vec![one.unit] }),
                None => Err(Error::new(format!(
                    "the debugging information of {} is split off (-gsplit-dwarf), and {} is \
                     missing; build again, or put it or {} in its place",
                    program.display(),
                    candidates[0].display(),
                    package.display()
                ))),
            }
        })
        .collect()
}

/// Never empty.
fn candidates(program: &Path, missing: &Missing) -> Vec<PathBuf> {
    let file = path_in(&missing.file);
    let beside = program.parent().unwrap_or(Path::new(""));
    let mut candidates = vec![path_in(&missing.directory).join(&file), beside.join(&file)];
    candidates.extend(file.file_name().map(|name| beside.join(name)));
    candidates
}
