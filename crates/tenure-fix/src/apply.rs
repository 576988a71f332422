//! Applies a patch to the user's own tree, which nothing else here touches.

use std::fs;
use std::path::Path;

use tenure_measure::git::{self, git};

/// Applies the patch to the tree that `here` is in.
///
/// # Errors
///
/// A file that it changes has uncommitted changes, or git refuses it: one line says which, or why.
pub fn apply(here: &Path, patch: &Path) -> Result<(), String> {
    let patch = fs::canonicalize(patch).unwrap_or_else(|_| patch.to_owned());
    let path = patch.to_string_lossy();
    let top = &git::top(here)?;
    let failed = |why| format!("the patch was not applied: {why}");
    let numbers = git(top, &["apply", "--numstat", "-z", &path]).map_err(failed)?;
    for file in numbers.split('\0').filter_map(|line| line.split('\t').nth(2)) {
        if !git(top, &["status", "--porcelain", "--", file])?.is_empty() {
            return Err(format!(
                "{file} has uncommitted changes, so the patch was not applied: commit them, then git apply {path}"
            ));
        }
    }
    git(top, &["apply", &path]).map(drop).map_err(failed)
}
