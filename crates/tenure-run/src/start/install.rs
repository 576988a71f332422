//! The runtime in the user's cache directory, and the compilers' stand-ins beside it.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tenure_debuginfo::Error;

/// The file names under which a linker and a loader find the runtime.
const SONAME: &str = "libtsan.so.2";
const LINK_NAME: &str = "libtsan.so";

/// A directory that has the runtime. Its path depends on the runtime's contents, so that versions do not meet.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) folder: PathBuf,
    pub(crate) library: PathBuf,
}

/// A stand-in for every compiler, which its first argument names.
pub(crate) const LAUNCHER: &str = "launch";

impl Installed {
    /// Writes the runtime into the cache directory unless it is there.
    pub(crate) fn new(runtime: &[u8], cache: Option<&Path>) -> Result<Self, Error> {
        let cache = cache.map(Path::to_owned).or_else(users_cache).ok_or_else(|| {
            Error::new("there is no directory for the runtime: HOME is not set; set XDG_CACHE_HOME to a directory")
        })?;
        Self::within(&cache, runtime).map_err(|error| {
            let cache = cache.display();
            Error::new(format!(
                "cannot write the runtime to {cache}/tenure: {error}; set XDG_CACHE_HOME to a directory that can be \
                 written"
            ))
        })
    }

    fn within(cache: &Path, runtime: &[u8]) -> io::Result<Self> {
        let mut hasher = DefaultHasher::new();
        (runtime, SCRIPT).hash(&mut hasher);
        let name = format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
        let folder = cache.join("tenure").join(name);
        fs::create_dir_all(&folder)?;
        let library = folder.join(SONAME);
        lay(&library, runtime)?;
        link(Path::new(SONAME), &folder.join(LINK_NAME))?;
        Ok(Self { folder, library })
    }

    /// A library that Rust programs are linked with, made by `make` if there is none of this key.
    pub(crate) fn library_of(
        &self,
        key: &impl Hash,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let library = self.folder.join(format!("liballocations-{:016x}.rlib", hasher.finish()));
        if !library.exists() {
            let made = tempfile::tempdir_in(&self.folder).map_err(|error| self.failed(&error))?;
            let path = made.path().join("liballocations.rlib");
            make(&path)?;
            fs::rename(path, &library).map_err(|error| self.failed(&error))?;
        }
        Ok(library)
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::new(format!(
            "cannot write to {}: {error}; set XDG_CACHE_HOME to another directory",
            self.folder.display()
        ))
    }

    /// A directory with stand-ins for these compilers, to be put before all others on `PATH`.
    pub(crate) fn compilers(&self, names: &[String]) -> Result<PathBuf, Error> {
        // Of these names alone: another run's stand-ins may have no compiler to call here.
        let mut hasher = DefaultHasher::new();
        names.hash(&mut hasher);
        let folder = self.folder.join(format!("cc-{:016x}", hasher.finish()));
        let lay_all = || {
            fs::create_dir_all(&folder)?;
            let script = SCRIPT
                .replace("@ARCH@", std::env::consts::ARCH)
                .replace("@HERE@", &quoted(&folder))
                .replace("@LIBRARY@", &quoted(&self.folder));
            lay(&folder.join(".compiler"), script.as_bytes())?;
            let mut names = names.iter().map(String::as_str).chain([LAUNCHER]);
            names.try_for_each(|name| link(Path::new(".compiler"), &folder.join(name)))
        };
        lay_all().map_err(|error: io::Error| self.failed(&error))?;
        Ok(folder)
    }
}

/// What stands in for a compiler: it finds the real one after itself on `PATH`, and adds what instruments and links.
const SCRIPT: &str = include_str!("compiler.sh");

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn users_cache() -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    std::env::var_os("XDG_CACHE_HOME")
        .and_then(absolute)
        .or_else(|| std::env::var_os("HOME").and_then(absolute).map(|home| home.join(".cache")))
}

/// Writes an executable file: in full or not at all, and only if it is not there yet. By its contents: a stand-in says where it
/// lies, and with another place of the same length it would call itself without end.
fn lay(path: &Path, contents: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == contents) {
        return Ok(());
    }
    let folder = path.parent().expect("a file in a directory");
    let mut builder = tempfile::Builder::new();
    builder.permissions(fs::Permissions::from_mode(0o755));
    let mut file = builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}

fn link(target: &Path, path: &Path) -> io::Result<()> {
    match symlink(target, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_is_laid_once_and_each_version_apart() {
        let cache = tempfile::tempdir().unwrap();
        let first = Installed::within(cache.path(), b"one").unwrap();
        assert_eq!(fs::read(&first.library).unwrap(), b"one");
        assert_eq!(fs::read(first.folder.join(LINK_NAME)).unwrap(), b"one");
        let made = fs::metadata(&first.library).unwrap().modified().unwrap();
        let again = Installed::within(cache.path(), b"one").unwrap();
        assert_eq!(fs::metadata(&again.library).unwrap().modified().unwrap(), made);
        assert_ne!(Installed::within(cache.path(), b"two").unwrap().folder, first.folder);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_an_error() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Installed::within(&file, b"one").is_err());
    }

    #[test]
    fn a_stand_in_has_every_name_and_can_be_run() {
        let cache = tempfile::tempdir().unwrap();
        let installed = Installed::within(cache.path(), b"one").unwrap();
        let folder = installed.compilers(&["cc".to_owned(), "g++-12".to_owned()]).unwrap();
        for name in ["cc", "g++-12"] {
            let mode = fs::metadata(folder.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o111, 0o111, "{name}");
        }
        let fewer = installed.compilers(&["cc".to_owned()]).unwrap();
        assert!(!fewer.join("g++-12").exists(), "of another run");
    }

    #[test]
    fn a_stand_in_of_a_cache_that_was_moved_says_where_it_is_now() {
        let (cache, names) = (tempfile::tempdir().unwrap(), ["cc".to_owned()]);
        let [before, after] = ["one", "two"].map(|name| cache.path().join(name));
        Installed::within(&before, b"one").unwrap().compilers(&names).unwrap();
        fs::rename(&before, &after).unwrap();
        let folder = Installed::within(&after, b"one").unwrap().compilers(&names).unwrap();
        let script = fs::read_to_string(folder.join("cc")).unwrap();
        assert!(script.contains(&quoted(&folder)), "{script}");
        assert!(!script.contains(before.to_str().unwrap()), "{script}");
    }
}
