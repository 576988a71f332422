//! Runs git on the user's repository, and on copies of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The top of the work tree that a folder is in.
///
/// # Errors
///
/// It is in none: git's line.
pub fn top(folder: &Path) -> Result<PathBuf, String> {
    git(folder, &["rev-parse", "--show-toplevel"]).map(PathBuf::from)
}

/// What git prints in a folder, without its last line break.
///
/// # Errors
///
/// Git cannot be run, or fails: a line with its last words.
pub fn git(folder: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    // A hook's would name its own repository, whatever the folder is.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    let output = command.arg("-C").arg(folder).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        return Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let verb = words.iter().find(|it| !it.starts_with('-') && !it.contains('=')).unwrap_or(&"");
    Err(format!("git {verb} failed: {}", said.lines().next_back().unwrap_or("it does not say why")))
}
