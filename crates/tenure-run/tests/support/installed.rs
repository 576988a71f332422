//! Programs that tests need: tenure-edit's include this file too.

use std::process::Command;

/// Whether a program is installed; a test fails for want of one that `TENURE_PACKAGES` asks for.
pub(crate) fn is_installed(program: &str) -> bool {
    if Command::new(program).arg("--version").output().is_ok() {
        return true;
    }
    let required = std::env::var("TENURE_PACKAGES").is_ok_and(|value| value == "required");
    assert!(!required, "{program} is not installed, and TENURE_PACKAGES asks for it");
    eprintln!("skipped: {program} is not installed");
    false
}
