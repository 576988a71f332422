//! Packages outside of the checkout: crates of a registry or of git, and those that a path leads to. A copy of one is edited.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenure_measure::mirror;

/// A package outside of the checkout, or the repository that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outside {
    /// Its folder, which is not edited.
    pub(crate) folder: PathBuf,
    /// `dashmap-5.5.3`: a release, a repository with its revision, or a folder.
    pub(crate) name: String,
    /// Where the copy lies, in the folder of a copy of the tree.
    pub(crate) copy: PathBuf,
    /// How cargo is told to use the copy; `None` for a path dependency, whose copy lies where the path leads.
    pub(crate) patched: Option<Patched>,
}

/// A table of `[patch]`: where packages come from whose copies are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patched {
    /// `crates-io`, or an address in quotes.
    pub(crate) table: String,
    /// The names of the packages.
    packages: Vec<String>,
}

impl Outside {
    /// What a file is in, if it is outside of the tree: `locks` are the texts of its `Cargo.lock` files, and `links` the folders that
    /// path dependencies lead to.
    pub(crate) fn of(file: &Path, locks: &[String], links: &[PathBuf]) -> Option<Self> {
        if let Some(folder) = links.iter().find(|it| file.starts_with(it)) {
            let name = folder.file_name()?.to_string_lossy().into_owned();
            let copy = mirror::below(Path::new(ROOT), folder);
            return Some(Self { folder: folder.clone(), name, copy, patched: None });
        }
        let parts: Vec<_> = file.iter().map(|it| it.to_string_lossy()).collect();
        let is = |at: usize, name: &str| parts.get(at).is_some_and(|it| it == name);
        let cached = |at: usize, names: [&str; 2]| {
            let has_all = is(at, names[0]) && is(at + 1, names[1]) && at + 4 < parts.len();
            has_all.then(|| (parts[at + 2].as_ref(), parts[at + 3].as_ref(), at + 4))
        };
        let locked = || locks.iter().flat_map(|lock| packages(lock));
        let (name, patched, end) = (0..parts.len()).find_map(|at| {
            if let Some((_, name, end)) = cached(at, ["registry", "src"]) {
                let of = locked().find(|it| format!("{}-{}", it.name, it.version) == name)?;
                let table = table(&of.source);
                return Some((name.to_owned(), Patched { table, packages: vec![of.name] }, end));
            }
            let (repository, revision, end) = cached(at, ["git", "checkouts"])?;
            let repository = repository.rsplit_once('-').map_or(repository, |(name, _)| name);
            let is_of = |it: &LockedPackage| {
                let (address, of) = it.source.split_once('#').unwrap_or((&it.source, ""));
                let address = address.split('?').next().unwrap_or_default();
                let last =
                    address.trim_end_matches('/').trim_end_matches(".git").rsplit('/').next();
                // Cargo writes GitHub's in small letters.
                let is_last = last.is_some_and(|it| it.eq_ignore_ascii_case(repository));
                it.source.starts_with("git+") && of.starts_with(revision) && is_last
            };
            let all: Vec<_> = locked().filter(is_of).collect();
            let table = table(&all.first()?.source);
            // Several locks may have it.
            let packages: BTreeSet<_> = all.into_iter().map(|it| it.name).collect();
            let packages = packages.into_iter().collect();
            Some((format!("{repository}-{revision}"), Patched { table, packages }, end))
        })?;
        let folder = file.iter().take(end).collect();
        let copy = Path::new("packages").join(&name);
        Some(Self { folder, name, copy, patched: Some(patched) })
    }
}

/// What stands for `/` in the folder of a copy of the tree.
pub(crate) const ROOT: &str = "root";

/// Cargo's configuration that has it use copies, which lie in this folder of a copy of the tree.
pub(crate) fn configuration(all: &[Outside], folder: &Path) -> String {
    let mut text = String::new();
    for outside in all {
        let Some(Patched { table, packages }) = &outside.patched else { continue };
        for name in packages {
            let Some(path) = folder_of(name, &folder.join(&outside.copy)) else { continue };
            // Dotted keys, which add to a table that is there.
            let key = format!("{}-{}", outside.name, name).replace(['.', '+'], "_");
            text += &format!("patch.{table}.{key} = {{ package = \"{name}\", path = {path:?} }}\n");
        }
    }
    text
}

/// The folder of a package in a repository.
fn folder_of(name: &str, within: &Path) -> Option<PathBuf> {
    let manifest = std::fs::read_to_string(within.join("Cargo.toml")).unwrap_or_default();
    let table: toml::Table = manifest.parse().unwrap_or_default();
    if table.get("package").and_then(|it| it.get("name")?.as_str()) == Some(name) {
        return Some(within.to_owned());
    }
    let mut folders: Vec<_> = std::fs::read_dir(within)
        .ok()?
        .flatten()
        .filter(|it| it.file_type().is_ok_and(|it| it.is_dir()) && it.file_name() != ".git")
        .map(|it| it.path())
        .collect();
    folders.sort();
    folders.iter().find_map(|folder| folder_of(name, folder))
}

/// A package of a `Cargo.lock` that is not the program's own.
struct LockedPackage {
    name: String,
    version: String,
    source: String,
}

fn packages(lock: &str) -> Vec<LockedPackage> {
    let lock: toml::Table = lock.parse().unwrap_or_default();
    let all = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |it: &toml::Value, key: &str| Some(it.get(key)?.as_str()?.to_owned());
    let locked = |it| {
        Some(LockedPackage {
            name: text(it, "name")?,
            version: text(it, "version")?,
            source: text(it, "source")?,
        })
    };
    all.filter_map(locked).collect()
}

/// The name of the table of `[patch]` for what a lock names as a source.
fn table(source: &str) -> String {
    const CRATES_IO: [&str; 2] = [
        "registry+https://github.com/rust-lang/crates.io-index",
        "sparse+https://index.crates.io/",
    ];
    if CRATES_IO.contains(&source) {
        return "crates-io".to_owned();
    }
    let address =
        source.strip_prefix("registry+").or(source.strip_prefix("git+")).unwrap_or(source);
    let address = address.split(['?', '#']).next().unwrap_or_default();
    format!("{address:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4
[[package]]
name = "app"
version = "0.1.0"
[[package]]
name = "crossbeam-utils"
version = "0.8.17"
source = "registry+https://github.com/rust-lang/crates.io-index"
[[package]]
name = "mine"
version = "1.0.0+x"
source = "sparse+https://example.com/index/"
[[package]]
name = "one"
version = "0.1.0"
source = "git+https://example.com/a/repo.git?branch=main#0123456789abcdef0123456789abcdef01234567"
[[package]]
name = "two"
version = "0.2.0"
source = "git+https://example.com/a/repo.git?branch=main#0123456789abcdef0123456789abcdef01234567"
[[package]]
name = "three"
version = "0.2.0"
source = "git+https://example.com/b/Other#0123456789abcdef0123456789abcdef01234567"
"#;

    #[test]
    fn a_lock_tells_where_a_package_comes_from() {
        let of = |file: &str| {
            let found = Outside::of(Path::new(file), &[LOCK.to_owned()], &[])?;
            let folder = found.folder.to_string_lossy().into_owned();
            let Patched { table, packages } = found.patched?;
            Some((folder, found.name, table, packages.join(" ")))
        };
        let found = |folder: &str, name: &str, table: &str, packages: &str| {
            Some([folder, name, table, packages].map(str::to_owned).into())
        };
        for (folder, name, table, packages) in [
            (
                "/c/registry/src/i-1/crossbeam-utils-0.8.17",
                "crossbeam-utils-0.8.17",
                "crates-io",
                "crossbeam-utils",
            ),
            (
                "/c/registry/src/i-2/mine-1.0.0+x",
                "mine-1.0.0+x",
                "\"sparse+https://example.com/index/\"",
                "mine",
            ),
            (
                "/c/git/checkouts/repo-0a1b/0123456",
                "repo-0123456",
                "\"https://example.com/a/repo.git\"",
                "one two",
            ),
            (
                "/c/git/checkouts/other-0a1b/0123456",
                "other-0123456",
                "\"https://example.com/b/Other\"",
                "three",
            ),
        ] {
            assert_eq!(of(&format!("{folder}/src/lib.rs")), found(folder, name, table, packages));
        }
        for file in [
            "/c/registry/src/i-1/crossbeam-utils-0.8.16/src/lib.rs",
            "/c/git/checkouts/repo-0a1b/9999999/src/lib.rs",
            "/c/registry/src/lib.rs",
            "src/lib.rs",
        ] {
            assert_eq!(of(file), None, "{file}");
        }
    }

    #[test]
    fn a_path_dependency_keeps_its_place() {
        let links = [PathBuf::from("/home/me/mine")];
        let found = Outside::of(Path::new("/home/me/mine/a/src/lib.rs"), &[], &links).unwrap();
        assert_eq!(found.copy, Path::new("root/home/me/mine"));
        assert_eq!((&*found.name, &found.patched, &found.folder), ("mine", &None, &links[0]));
        assert_eq!(Outside::of(Path::new("/home/me/mine2/src/lib.rs"), &[], &links), None);
    }

    #[test]
    fn each_package_of_a_repository_is_patched_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("packages/repo-0123456");
        for (at, name) in [("", "one"), ("deep/crates/second", "two")] {
            std::fs::create_dir_all(top.join(at)).unwrap();
            let text = format!("[package]\nname = \"{name}\"\n");
            std::fs::write(top.join(at).join("Cargo.toml"), text).unwrap();
        }
        let file = Path::new("/c/git/checkouts/repo-0a1b/0123456/src/lib.rs");
        // A workspace of its own, such as that of fuzz targets, may have it too.
        let outside = Outside::of(file, &[LOCK, LOCK].map(str::to_owned), &[]).unwrap();
        let text = configuration(&[outside], folder.path());
        let table: toml::Table = text.parse().unwrap();
        let patched = table["patch"]["https://example.com/a/repo.git"].as_table().unwrap();
        let of = |name: &str| {
            let one = patched.values().find(|it| it["package"].as_str() == Some(name)).unwrap();
            PathBuf::from(one["path"].as_str().unwrap())
        };
        assert_eq!([of("one"), of("two")], [top.clone(), top.join("deep/crates/second")]);
    }
}
