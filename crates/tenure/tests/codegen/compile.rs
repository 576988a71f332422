//! Calls the compiler that runs the tests, as a user's release build would.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn rustc(source: &Path, output: &Path, arguments: &[&str]) {
    let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let result = Command::new(&rustc)
        .args(["--edition=2024", "-Copt-level=3", "-Ccodegen-units=1", "--cap-lints=allow"])
        .args(arguments)
        .arg("-o")
        .args([output, source])
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", rustc.display()));
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{}:\n{errors}", source.display());
}
