//! Copies folders, and tells what changed in them.

use std::fs;
use std::path::Path;

use tenure_measure::git::{self, git};

/// Copies a package, or the repository that it is in: without what is ignored and what was built.
pub(crate) fn copy_package(from: &Path, to: &Path) -> Result<(), String> {
    if git::top(from).ok().is_none_or(|it| it != from) {
        return copy_folder(from, to);
    }
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let list = git(from, &words)?;
    for file in list.split('\0').filter(|it| !it.is_empty()) {
        let (from, to) = (from.join(file), to.join(file));
        if from.is_dir() && !from.is_symlink() {
            // A submodule.
            copy_folder(&from, &to)?;
        } else if from.is_file() {
            copy_file(&from, &to)?;
        }
    }
    Ok(())
}

pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy {}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(failed)?);
        let (from, to) = (entry.path(), to.join(&name));
        match kind.is_dir() {
            true if name == ".git" || from.join("CACHEDIR.TAG").exists() => {}
            true => copy_folder(&from, &to)?,
            false if from.is_file() => copy_file(&from, &to)?,
            false => {}
        }
    }
    Ok(())
}

pub(crate) fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::copy(from, to).map(drop))
        .map_err(|error| format!("cannot copy {}: {error}", from.display()))
}

/// Commits everything in a folder, so that later changes can be told from it.
pub(crate) fn commit(folder: &Path) -> Result<(), String> {
    const WHO: [&str; 6] = [
        "-c",
        "user.name=tenure",
        "-c",
        "user.email=tenure@localhost",
        "-c",
        "commit.gpgsign=false",
    ];
    const WORDS: [&str; 6] =
        ["commit", "--quiet", "--no-verify", "--allow-empty", "-m", "unmodified"];
    git(folder, &["add", "--all"])?;
    git(folder, &[WHO, WORDS].concat()).map(drop)
}

/// What changed in a folder, without cargo's lock, which it writes by itself.
pub(crate) fn diff(folder: &Path) -> Result<String, String> {
    let lock = [":(exclude)**/Cargo.lock", ":(exclude)Cargo.lock"];
    let patch = git(folder, &[&["diff", "--relative", "HEAD", "--", "."], &lock[..]].concat())?;
    Ok(if patch.is_empty() { patch } else { patch + "\n" })
}

/// Copies what is not committed, and not ignored.
pub(crate) fn uncommitted(from: &Path, to: &Path) -> Result<(), String> {
    let list = |words: &[&str]| git(from, words);
    let changed = list(&["diff", "--name-only", "-z", "HEAD"])?;
    let new = list(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    for file in changed.split('\0').chain(new.split('\0')).filter(|it| !it.is_empty()) {
        let (from, to) = (from.join(file), to.join(file));
        match from.symlink_metadata() {
            Ok(it) if it.is_file() => copy_file(&from, &to)?,
            Ok(_) => {}
            Err(_) => _ = fs::remove_file(to),
        }
    }
    Ok(())
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|it| it == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
