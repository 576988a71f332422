//! Runs git on the user's repository, and on copies of it.

use std::path::Path;
use std::process::{Command, Stdio};

/// What git prints in a folder, without its last line break.
///
/// # Errors
///
/// Git cannot be run, or fails: a line with its last words.
pub fn git(folder: &Path, words: &[&str]) -> Result<String, String> {
    let output =
        Command::new("git").arg("-C").arg(folder).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let verb = words.iter().find(|it| !it.starts_with('-') && !it.contains('=')).unwrap_or(&"");
    Err(format!("git {verb} failed: {}", said.lines().next_back().unwrap_or("it does not say why")))
}
