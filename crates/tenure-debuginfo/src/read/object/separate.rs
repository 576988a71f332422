use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use object::Object as _;

use super::has_dwarf;
use crate::Error;
use crate::read::file::{MappedFile, path_in};

/// Where distributions' `-dbg` packages lie.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// A program's debugging information: by its build id, else by the name in `.gnu_debuglink`.
pub(crate) fn find(path: &Path, object: &object::File<'_>) -> Option<MappedFile> {
    candidates(path, object).into_iter().find_map(|candidate| {
        let file = MappedFile::open(&candidate).ok()?;
        let object_in_it = object::File::parse(file.bytes()).ok()?;
        let same = match (object.build_id(), object_in_it.build_id()) {
            (Ok(Some(ours)), Ok(Some(theirs))) => ours == theirs,
            // Without build ids the name has to do.
            _ => true,
        };
        (same && has_dwarf(&object_in_it, false)).then_some(file)
    })
}

fn candidates(path: &Path, object: &object::File<'_>) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Ok(Some(id)) = object.build_id() {
        candidates.extend(by_build_id(id));
    }
    if let Ok(Some((name, _))) = object.gnu_debuglink() {
        let name = path_in(name);
        // A name only: no directories.
        if let Some(name) = name.file_name()
            && let Some(directory) = path.canonicalize().ok().as_deref().and_then(Path::parent)
        {
            candidates.push(directory.join(name));
            candidates.push(directory.join(".debug").join(name));
            let inside = directory.strip_prefix("/").unwrap_or(directory);
            candidates.push(Path::new(DEBUG_ROOT).join(inside).join(name));
        }
    }
    candidates
}

fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let hex = id.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let (first, rest) = hex.split_at_checked(2)?;
    Some(Path::new(DEBUG_ROOT).join(".build-id").join(first).join(format!("{rest}.debug")))
}

/// `dwz`'s supplementary file; none if the file needs none. Fails if it is missing.
pub(in crate::read) fn supplement(
    path: &Path,
    object: &object::File<'_>,
) -> Result<Option<MappedFile>, Error> {
    let Ok(Some((name, id))) = object.gnu_debugaltlink() else { return Ok(None) };
    let name = path_in(name);
    let directory = path.canonicalize().ok();
    let directory = directory.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    let beside = directory.join(name);
    by_build_id(id)
        .into_iter()
        .chain([beside.clone()])
        .find_map(|candidate| MappedFile::open(&candidate).ok())
        .map(Some)
        .ok_or_else(|| {
            Error::new(format!(
                "{} shares debugging information with other programs, in {}, which is missing; \
                 install the package that has it",
                path.display(),
                beside.display()
            ))
        })
}
