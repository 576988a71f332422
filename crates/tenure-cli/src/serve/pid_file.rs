//! The file with the number of the process.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file with the number of this process. Its drop removes it.
pub(crate) struct PidFile(PathBuf);

impl PidFile {
    /// Writes the file, in place of one that is there.
    pub(crate) fn write(path: &Path) -> Result<Self, Failure> {
        let number = format!("{}\n", std::process::id());
        std::fs::write(path, number).map_err(|error| Failure::unwritable(path, &error))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}
