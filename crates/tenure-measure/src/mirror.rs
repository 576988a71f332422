//! Copies of a repository below another root, at the path that it has below `/`: a path that leads out of the repository leads out
//! of the copy too.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use crate::git::{self, git};

/// Where something of this absolute path lies below a root.
#[must_use]
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Clones the repository whose top this is, without what is not committed, and returns the copy's top. Objects are shared, not copied.
///
/// # Errors
///
/// Git fails.
pub fn clone(root: &Path, top: &Path, commit: &str) -> Result<PathBuf, String> {
    let tree = below(root, top);
    let paths = [top, &tree].map(Path::to_string_lossy);
    git(top, &["clone", "--quiet", "--shared", "--no-checkout", "--", &paths[0], &paths[1]])?;
    git(&tree, &["checkout", "--quiet", "--detach", commit])?;
    Ok(tree)
}

/// Links, below a root, what the manifests of a copy name outside of it, and what those name in turn: cargo's path dependencies. Returns
/// the links, by what they lead to.
///
/// # Errors
///
/// A link cannot be made.
pub fn link_dependencies(root: &Path, top: &Path) -> Result<Vec<PathBuf>, String> {
    let list = git(&below(root, top), &["ls-files", "-z", "--", "*Cargo.toml"])?;
    let mut manifests: Vec<_> =
        list.split('\0').filter(|it| !it.is_empty()).map(|it| top.join(it)).collect();
    let (mut read, mut homes) = (BTreeSet::new(), BTreeSet::new());
    while let Some(manifest) = manifests.pop() {
        if !read.insert(manifest.clone()) {
            continue;
        }
        let folder = manifest.parent().unwrap_or(Path::new("/"));
        // Those of the copy may be of another revision than the user's.
        let is_copied = manifest.starts_with(top);
        let file = if is_copied { below(root, &manifest) } else { manifest.clone() };
        let text = fs::read_to_string(file).unwrap_or_default();
        // An absolute path leads to the same place from a copy.
        for path in paths(&text).iter().filter(|it| Path::new(it).is_relative()) {
            let path = plain(&folder.join(path));
            if path.starts_with(top) || !path.exists() {
                continue;
            }
            let home = home(&path, top);
            if !top.starts_with(&home) {
                homes.insert(home.clone());
            }
            // That of the workspace has paths for its members.
            manifests.extend([home, path].map(|it| it.join("Cargo.toml")));
        }
    }
    let mut links: Vec<PathBuf> = Vec::new();
    // What contains others comes first.
    for home in homes {
        let link = below(root, &home);
        if links.iter().any(|it| home.starts_with(it)) || link.symlink_metadata().is_ok() {
            continue;
        }
        let made = link.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| symlink(&home, &link))
            .map_err(|error| format!("cannot link {}: {error}", home.display()))?;
        links.push(home);
    }
    Ok(links)
}

/// The paths that a manifest names: of dependencies, and of sources, which are in its folder nearly always.
fn paths(manifest: &str) -> Vec<String> {
    fn collect(value: &toml::Value, paths: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    match value {
                        toml::Value::String(path) if key == "path" => paths.push(path.clone()),
                        value => collect(value, paths),
                    }
                }
            }
            toml::Value::Array(all) => all.iter().for_each(|it| collect(it, paths)),
            _ => {}
        }
    }
    let mut paths = Vec::new();
    if let Ok(table) = manifest.parse::<toml::Table>() {
        collect(&toml::Value::Table(table), &mut paths);
    }
    paths
}

/// The folder that is linked for a path: the top of the repository that it is in, or that of its workspace, or else itself.
fn home(path: &Path, top: &Path) -> PathBuf {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let has_workspace = |it: &&Path| {
        fs::read_to_string(it.join("Cargo.toml")).is_ok_and(|it| it.contains("[workspace"))
    };
    let around = || folder.ancestors().find(has_workspace).map(Path::to_owned);
    let is_apart = |it: &PathBuf| !top.starts_with(it) && folder.starts_with(it);
    let home = git::top(folder).ok().filter(is_apart).or_else(|| around().filter(is_apart));
    home.unwrap_or_else(|| folder.to_owned())
}

/// A path without `..` and `.`.
#[must_use]
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_manifests_name_outside_of_a_repository_is_where_they_say_in_its_copy() {
        let folder = tempfile::tempdir().unwrap();
        let user = fs::canonicalize(folder.path()).unwrap();
        let package = |name: &str, dependencies: &str| {
            let text = format!("[package]\nname = \"{name}\"\n{dependencies}");
            fs::create_dir_all(user.join(name)).unwrap();
            fs::write(user.join(name).join("Cargo.toml"), text).unwrap();
        };
        package(
            "app/inner",
            "[target.'cfg(unix)'.dependencies]\none = { path = \"../../one\" }\nown = { path = \"../own\" }\n\
             [dev-dependencies]\nnone = { path = \"../../none\" }\n",
        );
        package("one", "[dependencies.two]\npath = \"../deep/two\"\n[lib]\npath = \"lib.rs\"\n");
        package("deep/two", "[dependencies]\nback = { path = \"../../app/inner\" }\n");
        package("other", "");
        let app = user.join("app");
        git(&app, &["init", "--quiet"]).unwrap();
        git(&app, &["add", "--all"]).unwrap();
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&app, &[&who[..], &["commit", "--quiet", "-m", "x"]].concat()).unwrap();
        let root = user.join("root");
        let copy = clone(&root, &app, "HEAD").unwrap();
        assert_eq!(copy, below(&root, &app));
        assert!(copy.join("inner/Cargo.toml").is_file());
        let links = link_dependencies(&root, &app).unwrap();
        assert_eq!(links, [user.join("deep/two"), user.join("one")]);
        for link in links {
            assert_eq!(fs::read_link(below(&root, &link)).unwrap(), link);
        }
        assert!(!below(&root, &user.join("other")).exists());
        assert!(link_dependencies(&root, &app).unwrap().is_empty(), "they are there");
    }

    #[test]
    fn of_a_path_in_a_repository_its_top_is_linked() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let inner = top.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        git(&top, &["init", "--quiet"]).unwrap();
        assert_eq!(home(&inner, Path::new("/elsewhere")), top);
        assert_eq!(home(&inner, &top.join("app")), inner, "the repository is around the user's");
    }
}
