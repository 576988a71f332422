//! Lines of source, where the files are there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// A larger file is generated.
const MAX_BYTES: u64 = 4 << 20;

/// The files that were read.
#[derive(Debug, Default)]
pub(crate) struct SourceFiles {
    /// The lines of each; `None` of those that may not be what was compiled.
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl SourceFiles {
    /// A line, counted from 1, without the spaces around it. Of a file that was changed after `built` nothing is known.
    pub(crate) fn line(&self, file: &str, line: u32, built: Option<SystemTime>) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry(file.to_owned()).or_insert_with(|| lines(Path::new(file), built));
        let line = lines.as_ref()?.get((line as usize).checked_sub(1)?)?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

fn lines(file: &Path, built: Option<SystemTime>) -> Option<Vec<String>> {
    let about = fs::metadata(file).ok()?;
    if !about.is_file() || about.len() > MAX_BYTES || about.modified().ok()? > built? {
        return None;
    }
    Some(fs::read_to_string(file).ok()?.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_is_shown_only_of_the_file_that_was_compiled() {
        let folder = std::env::temp_dir().join(format!("tenure-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("server.rs");
        fs::write(&path, "fn get() {\n    self.refs.fetch_add(1);\n\n}\n").unwrap();
        let file = path.to_str().unwrap();
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        let line = |number, built| SourceFiles::default().line(file, number, built);
        let later = Some(written + Duration::from_secs(1));
        assert_eq!(line(2, later).as_deref(), Some("self.refs.fetch_add(1);"));
        assert_eq!([line(0, later), line(3, later), line(9, later)], [const { None }; 3]);
        assert_eq!(line(2, Some(written - Duration::from_secs(1))), None, "it was changed since");
        assert_eq!(line(2, None), None);
        assert_eq!(SourceFiles::default().line("/dev/zero", 1, later), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
