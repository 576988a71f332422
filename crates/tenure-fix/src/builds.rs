//! What cargo noted of its builds, and of crates that were vendored.

use std::fs;
use std::path::{Path, PathBuf};

/// Cargo's list of the checksums of a vendored crate's files.
pub(crate) const CHECKSUMS: &str = ".cargo-checksum.json";

/// A list of checksums without a file: `{"files":{"src/lib.rs":"0a1b…",…`.
pub(crate) fn without(checksums: &str, file: &str) -> String {
    let key = format!("{file:?}:\"");
    let Some(start) = checksums.find(&key) else { return checksums.to_owned() };
    let (before, rest) = checksums.split_at(start);
    let after = rest[key.len()..].split_once('"').map_or("", |(_, after)| after);
    let (before, after) = match after.strip_prefix(',') {
        Some(after) => (before, after),
        None => (before.trim_end_matches(','), after),
    };
    format!("{before}{after}")
}

/// Removes what cargo noted of its builds of a crate, so that it builds it again. Its folder has the crate's name, or that and a version.
pub(crate) fn forget(builds: &Path, folder: &str) {
    for entry in fs::read_dir(builds).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == ".fingerprint" {
            for of in fs::read_dir(path).into_iter().flatten().flatten() {
                let name = of.file_name().to_string_lossy().into_owned();
                // `crossbeam-utils-0123456789abcdef`
                let name = name.rsplit_once('-').map_or("", |(name, _)| name);
                if !name.is_empty() && folder.starts_with(name) {
                    _ = fs::remove_dir_all(of.path());
                }
            }
        } else if path.is_dir() && name != "build" && name != "incremental" && name != "deps" {
            forget(&path, folder);
        }
    }
}

/// Adds the files that the `deps/*.d` of a folder of builds name.
pub(crate) fn list_read(folder: &Path, read: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        // `target/PROFILE/deps`, or `target/TRIPLE/PROFILE/deps`.
        if path.is_dir() && name != "build" && name != "incremental" && name != ".fingerprint" {
            list_read(&path, read);
        } else if path.extension().is_some_and(|it| it == "d") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            read.extend(
                text.split_ascii_whitespace().map(|word| word.trim_end_matches(':').into()),
            );
        }
    }
}
