//! Finds whether a program that was built before is instrumented.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSymbol};
use rustix::fs::{Access, access};
use tenure_debuginfo::Error;

use crate::instrumented::Instrumentation;

/// What a program is to a recording.
#[derive(Debug, PartialEq)]
pub(crate) enum ProgramKind {
    /// It is instrumented, or a library that it is linked with.
    Instrumented,
    /// It is not, but loads libraries, some of which may be: an interpreter, a server with modules.
    Host,
    /// It may start others: a script, or a program that `PATH` has, such as `make`, `timeout` or `sh`.
    Starter,
}

/// Refuses a program that would show nothing.
pub(crate) fn check(word: &OsStr) -> Result<ProgramKind, Error> {
    let path = find(word)?;
    let name = path.display();
    match Instrumentation::of(&path) {
        Some(Instrumentation::Open) => Ok(ProgramKind::Instrumented),
        // The system says what is wrong with it, if it is no script.
        None => Ok(ProgramKind::Starter),
        Some(_) if is_bare(word) => Ok(ProgramKind::Starter),
        Some(Instrumentation::Closed) => Err(Error::new(format!(
            "{name} has ThreadSanitizer's own runtime linked into it; build it with `tenure run --cc -- make` or \
             `tenure run -- cargo build`"
        ))),
        Some(Instrumentation::None) => {
            let Some(libraries) = libraries(&path) else {
                return Err(Error::new(format!(
                    "{name} is not instrumented, and the runtime cannot be loaded into it, because it is linked statically; build \
                     it without -static, with `tenure run --cc -- make` or with `tenure run -- cargo build`"
                )));
            };
            let is_instrumented = |path| Instrumentation::of(path) == Some(Instrumentation::Open);
            if libraries.iter().any(|library| is_instrumented(library)) {
                return Ok(ProgramKind::Instrumented);
            }
            let mut all = std::iter::once(&path).chain(&libraries);
            match all.any(|file| loads_libraries(file)) {
                true => Ok(ProgramKind::Host),
                false => Err(Error::new(format!(
                    "{name} is not instrumented; build it with -fsanitize=thread, with `tenure run --cc -- make` or with \
                     `tenure run -- cargo build`"
                ))),
            }
        }
    }
}

/// The libraries that a program is linked with, as the loader lists them for `ldd`; `None` for one that is linked statically.
fn libraries(program: &Path) -> Option<Vec<PathBuf>> {
    let cache = object::ReadCache::new(File::open(program).ok()?);
    // Without a loader the program itself would run.
    object::File::parse(&cache).ok()?.section_by_name(".interp")?;
    let program = program.canonicalize().ok()?;
    let list =
        Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).output();
    let Ok(list) = list else { return Some(Vec::new()) };
    let libraries = String::from_utf8_lossy(&list.stdout)
        .lines()
        // `libz.so.1 => /lib/libz.so.1 (0x7f...)`, or without the arrow for what is named by its path.
        .filter_map(|line| line.rsplit_once(" (").map(|(names, _)| names))
        .filter_map(|names| names.rsplit(" => ").next())
        .map(|path| PathBuf::from(path.trim()))
        .collect();
    Some(libraries)
}

/// Whether a program or library loads libraries by `dlopen`.
fn loads_libraries(path: &Path) -> bool {
    let loads = || {
        let cache = object::ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let mut symbols = file.dynamic_symbols().filter(ObjectSymbol::is_undefined);
        Some(symbols.any(|it| matches!(it.name_bytes(), Ok(b"dlopen" | b"dlmopen"))))
    };
    loads().unwrap_or(false)
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
    fn a_program_by_its_path_has_to_be_instrumented_or_to_load_what_is() {
        let folder = tempfile::tempdir().unwrap();
        let built = |name: &str, body: &str, options: &[&str]| {
            let (source, program) = (folder.path().join("main.c"), folder.path().join(name));
            std::fs::write(&source, format!("#include <dlfcn.h>\nint main(void) {{ {body} }}"))
                .unwrap();
            let mut compiler = Command::new("cc");
            assert!(
                compiler
                    .arg(source)
                    .arg("-o")
                    .arg(&program)
                    .args(options)
                    .status()
                    .unwrap()
                    .success()
            );
            program
        };
        let plain = built("plain", "return 0;", &[]);
        assert!(refusal(plain).contains("is not instrumented; build it with"));
        for option in ["-static", "-static-pie"] {
            assert!(refusal(built("static", "return 0;", &[option])).contains("without -static"));
        }
        let host = built("host", "return dlopen(\"x\", RTLD_NOW) != 0;", &[]);
        assert_eq!(check(host.as_os_str()).unwrap(), ProgramKind::Host);
        assert!(refusal("./no-such").contains("no such program"));
        assert!(refusal("no-such-program").contains("no such program"));
    }

    #[test]
    fn programs_that_start_others_are_let_through() {
        assert_eq!(check("sh".as_ref()).unwrap(), ProgramKind::Starter);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        assert!(refusal(&script).contains("no such program"), "it may not be executed");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        assert_eq!(check(script.as_os_str()).unwrap(), ProgramKind::Starter);
    }
}
