//! A program that exists: whether it is instrumented.

use std::ffi::OsStr;
use std::fs::File;
use std::path::PathBuf;

use object::{Object, ObjectSymbol};
use rustix::fs::{Access, access};
use tenure_types::Error;

/// Refuses a program that would show nothing. One that `PATH` has, such as `make`, `timeout` or `sh`, may start an
/// instrumented one, and so may a script.
pub(crate) fn check(word: &OsStr) -> Result<(), Error> {
    let path = find(word)?;
    if is_bare(word) {
        return Ok(());
    }
    let file = File::open(&path).map_err(|error| Error::unreadable(&path, &error))?;
    let cache = object::ReadCache::new(file);
    // What is no object file is a script, or the system says what is wrong with it.
    let Ok(program) = object::File::parse(&cache) else { return Ok(()) };
    let name = path.display();
    match instrumentation(&program) {
        Instrumentation::Open => Ok(()),
        Instrumentation::Closed => Err(Error::new(format!(
            "{name} has ThreadSanitizer's own runtime linked into it; build it with `tenure run --cc -- make` or \
             `tenure run -- cargo build`"
        ))),
        Instrumentation::None => Err(Error::new(format!(
            "{name} is not instrumented; build it with -fsanitize=thread, with `tenure run --cc -- make` or with \
             `tenure run -- cargo build`"
        ))),
    }
}

enum Instrumentation {
    None,
    /// It calls a runtime that it does not have.
    Open,
    /// It calls a runtime that it has.
    Closed,
}

fn instrumentation<'data>(program: &impl Object<'data>) -> Instrumentation {
    let is_ours = |name: &[u8]| name.starts_with(b"__tsan_");
    let mut symbols =
        program.dynamic_symbols().filter(|symbol| symbol.name_bytes().is_ok_and(is_ours));
    if symbols.any(|symbol| symbol.is_undefined()) {
        return Instrumentation::Open;
    }
    let mut all = program.symbols().chain(program.dynamic_symbols());
    match all.any(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(b"__tsan_init")) {
        true => Instrumentation::Closed,
        false => Instrumentation::None,
    }
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
    let missing =
        || Error::new(format!("{}: no such program, or it may not be executed", word.display()));
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
