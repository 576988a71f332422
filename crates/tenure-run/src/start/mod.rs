//! How a program is built and started, so that its memory accesses call the runtime.

mod allocations;
mod cargo;
mod compilers;
mod flags;
mod install;
mod program;
mod rustc;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use install::Installed;
use program::ProgramKind;
use tenure_debuginfo::Error;

use crate::RunRequest;

pub(crate) use compilers::missed;

/// The command to run, and what it does in a line.
pub(crate) fn prepare(request: &RunRequest, records: &Path) -> Result<(Command, String), Error> {
    let runtime = tenure_probe::library(request.line_bytes).ok_or_else(|| {
        Error::new(
            "this `tenure` was built without its runtime, which needs Linux on x86-64 or aarch64",
        )
    })?;
    let words = &request.command;
    if words.is_empty() {
        return Err(Error::new(
            "nothing to run: name a command after --, such as `cargo run --release` or `./server`",
        ));
    }
    let installed = Installed::new(runtime, request.cache.as_deref())?;
    // Before an allocator that the user preloads, whose `malloc` would be the only one.
    let user_preloads = std::env::var_os("LD_PRELOAD").is_some_and(|all| !all.is_empty());
    let mut preloads = user_preloads;
    let (mut command, about) = match cargo::prepare(words, request.build_std, &installed) {
        Some(prepared) => prepared?,
        None if request.build_std => {
            return Err(Error::new(
                "--build-std has cargo compile std: name `cargo run` or its like after --",
            ));
        }
        None if request.cc => {
            program::find(&words[0])?;
            compilers::prepare(words, &installed)?
        }
        None => {
            let kind = program::check(&words[0])?;
            preloads |= kind != ProgramKind::Instrumented;
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            let name = words[0].display();
            let about = match kind {
                ProgramKind::Host => format!(
                    "recording which cache lines threads contend for in the instrumented libraries that {name} loads; its own \
                     code is not seen"
                ),
                _ => format!("recording which cache lines the threads of {name} contend for"),
            };
            (command, about)
        }
    };
    if preloads {
        command.env("LD_PRELOAD", before(&installed.library, "LD_PRELOAD", &[' ', ':'])?);
        if !user_preloads {
            // Programs that it starts may be for another C library, or have a sanitizer that wants to be first.
            command.env("TENURE_PROBE_PRELOADED", "1");
        }
    }
    command
        .env("TENURE_PROBE_DIR", records)
        // For programs that were linked with the sanitizer's own library, which has the same name.
        .env("LD_LIBRARY_PATH", before(&installed.folder, "LD_LIBRARY_PATH", &[':', ';'])?);
    if let Some(bytes) = request.memory {
        command.env("TENURE_PROBE_MEMORY", bytes.to_string());
    }
    Ok((command, about))
}

/// The value of a variable in which the loader finds paths between these separators, with this one first.
fn before(path: &Path, variable: &str, separators: &[char]) -> Result<OsString, Error> {
    if path.to_string_lossy().contains(separators) {
        return Err(Error::new(format!(
            "the loader cannot take {}: set XDG_CACHE_HOME to a path without spaces and colons",
            path.display()
        )));
    }
    let mut all = path.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(variable).filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_the_loader_would_split_is_an_error() {
        let request = |cache: &Path| RunRequest {
            command: vec!["sh".into()],
            line_bytes: 64,
            cache: Some(cache.to_owned()),
            ..RunRequest::default()
        };
        let folder = tempfile::tempdir().unwrap();
        for name in ["with space", "with:colon"] {
            let error = prepare(&request(&folder.path().join(name)), folder.path()).unwrap_err();
            assert!(error.to_string().starts_with("the loader cannot take "), "{error}");
        }
        assert!(prepare(&request(&folder.path().join("plain")), folder.path()).is_ok());
    }
}
