//! The machine that a word means: a built-in one, or that of a file.

use super::Machine;
use crate::error::SimulationError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The default.
pub const DEFAULT: &str = "xeon-2s-112";

/// Names the machine that this runs on.
pub const THIS: &str = "this";

/// The file of its figures.
pub const THIS_FILE: &str = "this.toml";

const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why there is no such machine.
#[derive(Debug)]
pub enum OpenError {
    /// Not the name of a built-in machine.
    Unknown(SimulationError),
    /// Its file cannot be read.
    Unreadable(PathBuf, io::Error),
    /// Its file describes no machine.
    File(PathBuf, SimulationError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => write!(f, "{error}; or name a file that ends in .toml"),
            Self::Unreadable(path, error) if path == Path::new(THIS_FILE) => write!(
                f,
                "cannot read {THIS_FILE}: {error}; `tenure sim --calibrate` measures this machine and \
                 writes it"
            ),
            Self::Unreadable(path, error) => write!(
                f,
                "cannot read {}: {error}; `tenure sim --list` names the built-in machines",
                path.display()
            ),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}

/// The machine that `word` means: a file's if it ends in `.toml`, [`THIS`], or a built-in one.
///
/// # Errors
///
/// There is none.
pub fn open(word: &str) -> Result<Machine, OpenError> {
    let path = if word == THIS { THIS_FILE } else { word };
    if !is_file(path.as_ref()) {
        return Machine::preset(word).map_err(OpenError::Unknown);
    }
    let text = read(path.as_ref()).map_err(|error| OpenError::Unreadable(path.into(), error))?;
    Machine::from_toml(&text).map_err(|error| OpenError::File(path.into(), error))
}

/// A path rather than a name.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// The text of a file that may be hostile.
///
/// # Errors
///
/// It cannot be read, is no file, or is larger than a machine or a pattern can be.
pub fn read(path: &Path) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    // A device or a pipe may have no end, or no beginning.
    let about = std::fs::metadata(path)?;
    if !about.is_file() && !about.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let read = std::fs::File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(text)
}

/// Name, CPUs and description of every built-in machine.
#[must_use]
pub fn listed() -> Vec<(String, usize, String)> {
    let info = |machine: Machine| (machine.name.clone(), machine.cpus(), machine.about);
    Machine::presets().into_iter().map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_machine_comes_along() {
        assert_eq!(open(DEFAULT).unwrap().cpus(), 112);
        assert!(listed().iter().any(|(name, cpus, _)| (name.as_str(), *cpus) == (DEFAULT, 112)));
    }

    #[test]
    fn a_name_that_no_machine_has_is_told_with_those_there_are() {
        let error = open("xeon").unwrap_err().to_string();
        assert!(error.contains("'xeon'") && error.contains(DEFAULT), "{error}");
        assert!(error.ends_with("or name a file that ends in .toml"), "{error}");
    }

    #[test]
    fn a_file_that_is_none_or_no_machine_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("desk.toml");
        let word = path.to_str().unwrap();
        assert!(open(word).unwrap_err().to_string().contains("cannot read"));
        for text in ["name = ", "\u{0}", "name = 'desk'"] {
            std::fs::write(&path, text).unwrap();
            let error = open(word).unwrap_err().to_string();
            assert!(error.contains("desk.toml") && error.lines().count() == 1, "{error}");
        }
        let written = Machine::preset(DEFAULT).unwrap();
        std::fs::write(&path, written.to_toml()).unwrap();
        assert_eq!(open(word).unwrap(), written);
    }
}
