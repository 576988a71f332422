//! How a program is built and started, so that its memory accesses call the runtime.

mod cargo;
mod compilers;
mod install;
mod program;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use tenure_types::Error;

use install::Installed;

use crate::Request;

/// The command to run, and what it does in a line.
pub(crate) fn prepare(request: &Request, records: &Path) -> Result<(Command, String), Error> {
    let runtime = tenure_probe::library(request.line_bytes).ok_or_else(|| {
        Error::new(
            "this `tenure` was built without its runtime, which needs Linux on x86-64 or aarch64",
        )
    })?;
    let words = &request.command;
    if words.is_empty() {
        return Err(Error::new(
            "nothing to run: name a program, or `cargo run` and its like, behind --",
        ));
    }
    let installed = Installed::new(runtime, request.cache.as_deref())?;
    let (mut command, about) = match cargo::prepare(words, request.build_std, &installed) {
        Some(prepared) => prepared?,
        None if request.build_std => {
            return Err(Error::new(
                "--build-std has cargo compile std: name `cargo run` or its like behind --",
            ));
        }
        None if request.cc => {
            program::find(&words[0])?;
            compilers::prepare(words, &installed)?
        }
        None => {
            program::check(&words[0])?;
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            (
                command,
                format!(
                    "recording which cache lines the threads of {} contend for",
                    words[0].display()
                ),
            )
        }
    };
    command
        .env("TENURE_PROBE_DIR", records)
        // For programs that were linked with the sanitizer's own library, which has the same name.
        .env("LD_LIBRARY_PATH", library_path(&installed));
    if let Some(bytes) = request.memory {
        command.env("TENURE_PROBE_MEMORY", bytes.to_string());
    }
    Ok((command, about))
}

fn library_path(installed: &Installed) -> OsString {
    let mut path = installed.folder.clone().into_os_string();
    if let Some(before) = std::env::var_os("LD_LIBRARY_PATH").filter(|before| !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    path
}
