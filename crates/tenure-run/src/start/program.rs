//! A program that exists: whether it is instrumented.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::Object;
use rustix::fs::{Access, access};
use tenure_types::Error;

use crate::instrumented::Instrumentation;

/// Refuses a program that would show nothing. One that `PATH` has, such as `make`, `timeout` or `sh`, may start an
/// instrumented one, and so may a script.
pub(crate) fn check(word: &OsStr) -> Result<(), Error> {
    let path = find(word)?;
    if is_bare(word) {
        return Ok(());
    }
    let name = path.display();
    match Instrumentation::of(&path) {
        // What is no object file is a script, or the system says what is wrong with it.
        None | Some(Instrumentation::Open) => Ok(()),
        Some(Instrumentation::Closed) => Err(Error::new(format!(
            "{name} has ThreadSanitizer's own runtime linked into it; build it with `tenure run --cc -- make` or \
             `tenure run -- cargo build`"
        ))),
        Some(Instrumentation::None) if has_instrumented_libraries(&path) => Ok(()),
        Some(Instrumentation::None) => Err(Error::new(format!(
            "{name} is not instrumented; build it with -fsanitize=thread, with `tenure run --cc -- make` or with \
             `tenure run -- cargo build`"
        ))),
    }
}

/// Whether a library that the program is linked with is instrumented. The loader lists them, as for `ldd`.
fn has_instrumented_libraries(program: &Path) -> bool {
    let list = || {
        let cache = object::ReadCache::new(File::open(program).ok()?);
        // Without a loader the program itself would run.
        object::File::parse(&cache).ok()?.section_by_name(".interp")?;
        let program = program.canonicalize().ok()?;
        Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).output().ok()
    };
    let Some(list) = list() else { return false };
    String::from_utf8_lossy(&list.stdout)
        .lines()
        // `libz.so.1 => /lib/libz.so.1 (0x7f...)`, or without the arrow for what is named by its path.
        .filter_map(|line| line.rsplit_once(" (").map(|(names, _)| names))
        .filter_map(|names| names.rsplit(" => ").next())
        .any(|path| Instrumentation::of(Path::new(path.trim())) == Some(Instrumentation::Open))
}

fn is_bare(word: &OsStr) -> bool {
    !word.as_encoded_bytes().contains(&b'/')
}

/// The file of a program, by its path or by its name on `PATH`.
pub(crate) fn find(word: &OsStr) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = match is_bare(word) {
        true => std::env::split_paths(&path).map(|folder| folder.join(word)).collect(),
        false => vec![word.into()],
    };
    places.retain(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok());
    let missing = || {
        let word = word.display();
        Error::new(format!(
            "{word}: no such program, or it may not be executed; build it, or name it by its path"
        ))
    };
    places.into_iter().next().ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(word: impl AsRef<OsStr>) -> String {
        check(word.as_ref()).unwrap_err().to_string()
    }

    #[test]
    fn a_program_by_its_path_has_to_be_instrumented() {
        let this = std::env::current_exe().unwrap();
        if cfg!(not(sanitized)) {
            assert!(refusal(this).contains("is not instrumented; build it with"));
        }
        assert!(refusal("./no-such").contains("no such program"));
        assert!(refusal("no-such-program").contains("no such program"));
    }

    #[test]
    fn programs_that_start_others_are_let_through() {
        assert!(check("sh".as_ref()).is_ok());
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        assert!(refusal(&script).contains("no such program"), "it may not be executed");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        assert!(check(script.as_os_str()).is_ok());
    }
}
