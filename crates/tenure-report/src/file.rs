//! Atomic replacement of files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file name of a page about `names`, or about everything: `bench.html`, `bench-refs-upgrade.html`. Runs with
/// different names do not overwrite each other's pages.
#[must_use]
pub fn page_name(instrument: &str, names: &[String]) -> String {
    const MAX_STEM_BYTES: usize = 120;
    let mut stem = instrument.to_owned();
    for (at, name) in names.iter().enumerate() {
        if stem.len() + name.len() > MAX_STEM_BYTES {
            stem += &format!("-and-{}-more", names.len() - at);
            break;
        }
        stem.push('-');
        stem.extend(name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }));
    }
    stem + ".html"
}

/// Tests whether [`write()`] to `path` would work, before a run of two minutes. Does not change an existing file.
///
/// # Errors
///
/// Those of [`write()`].
pub fn check(path: &Path) -> io::Result<()> {
    match target(path)? {
        WriteTarget::Replace(path) => temporary_beside(&path).map(drop),
        WriteTarget::Stream(path) => File::options().write(true).open(path).map(drop),
    }
}

/// Whether [`write()`] replaces what is there, and does not add to a device or a pipe.
#[must_use]
pub fn is_replaced(path: &Path) -> bool {
    !matches!(target(path), Ok(WriteTarget::Stream(_)))
}

/// Writes `text` to `path`. A reader sees the old file or the new one, never a part. A device or a pipe is written to
/// in place.
///
/// # Errors
///
/// The path is a folder, or its folder is missing or not writable.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    match target(path)? {
        WriteTarget::Replace(path) => {
            let mut file = temporary_beside(&path)?;
            file.write_all(text.as_bytes())?;
            file.persist(path)?;
            Ok(())
        }
        WriteTarget::Stream(path) => {
            File::options().write(true).open(path)?.write_all(text.as_bytes())
        }
    }
}

enum WriteTarget {
    Replace(PathBuf),
    /// A device or a pipe: a rename would replace `/dev/null` for all.
    Stream(PathBuf),
}

fn target(path: &Path) -> io::Result<WriteTarget> {
    if let Ok(found) = fs::metadata(path) {
        if found.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if !found.is_file() {
            return Ok(WriteTarget::Stream(path.to_owned()));
        }
        // Replaces the target of a link, not the link.
        return fs::canonicalize(path).map(WriteTarget::Replace);
    }
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
    }
    Ok(WriteTarget::Replace(path.to_owned()))
}

fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tenure-");
    // Readable as the umask says, not by the owner alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Its own errors name the temporary file, which the user did not choose.
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        kind @ io::ErrorKind::NotFound => io::Error::new(kind, "its folder does not exist"),
        kind => kind.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_about_different_names_have_different_files() {
        let page = |names: &[&str]| {
            page_name("bench", &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(page(&[]), "bench.html");
        assert_eq!(page(&["refs"]), "bench-refs.html");
        assert_eq!(page(&["refs/get-put", "pool"]), "bench-refs-get-put-pool.html");
        let many = page(&["refs/a-rather-long-name"; 40]);
        assert!(many.len() < 200 && many.ends_with("-more.html"), "{many}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_and_is_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/out.json");
        assert_eq!(check(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(write(&path, "").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_check_leaves_the_folder_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        check(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(&path, "before").unwrap();
        check(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    }

    #[test]
    fn a_folder_and_a_path_through_a_file_are_refused_by_the_check() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check(folder.path()).is_err());
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(check(&file.join("out.json")).is_err());
        assert!(check(Path::new("")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_error_does_not_name_the_temporary_file() {
        let error = check(Path::new("/proc/out.json")).unwrap_err();
        assert!(!error.to_string().contains(".tenure-"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let null = Path::new("/dev/null");
        check(null).unwrap();
        write(null, "text").unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "before").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write(&link, "after").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "after");
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_the_umask_lets_them() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (plain, ours) = (folder.path().join("plain"), folder.path().join("ours"));
        fs::write(&plain, "").unwrap();
        write(&ours, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
