//! Copies of the user's tree: without a change, with it, and one to record.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tenure_measure::git::{self, git};
use tenure_measure::mirror;
use tenure_model::{DependencyPatch, SourceEdit};

use crate::files::{commit, copy_package, diff, uncommitted};
use crate::outside::{Outside, ROOT};
use crate::tree::SourceTree;

/// The copies, which go when this is dropped.
pub(crate) struct TreeCopies {
    /// Without the change, and with it.
    pub(crate) both: [SourceTree; 2],
    /// Where builds of C and C++ are instrumented: their objects lie beside the sources.
    recorded: SourceTree,
    /// What path dependencies lead to.
    links: Vec<PathBuf>,
    _folder: tempfile::TempDir,
}

impl TreeCopies {
    /// Copies the repository that `here` is in.
    pub(crate) fn of(here: &Path) -> Result<Self, String> {
        let user = git::top(here).map_err(|_| {
            format!("fix edits a copy of a git checkout, and {} is in none", here.display())
        })?;
        let below = git(here, &["rev-parse", "--show-prefix"])?;
        git(here, &["rev-parse", "--verify", "--quiet", "HEAD"])
            .map_err(|_| "the repository has no commit yet: commit what is there".to_owned())?;
        let folder = tempfile::Builder::new()
            .prefix("tenure-fix-")
            .tempdir()
            .map_err(|it| format!("cannot make a folder: {it}"))?;
        let outside = Rc::default();
        let mut links = Vec::new();
        let mut copy = |name: &str| {
            let of = folder.path().join(name);
            let copies = of.join(ROOT);
            let root = mirror::clone(&copies, &user, "HEAD")?;
            uncommitted(&user, &root)?;
            commit(&root)?;
            links = mirror::link_dependencies(&copies, &user)?;
            Ok::<_, String>(SourceTree {
                root,
                below: below.clone().into(),
                user: user.clone(),
                target: of.join("target"),
                folder: of,
                outside: Rc::clone(&outside),
            })
        };
        let (both, recorded) = ([copy("before")?, copy("after")?], copy("recorded")?);
        Ok(Self { both, recorded, links, _folder: folder })
    }

    /// The name of a vendored crate that is changed.
    pub(crate) fn vendored(&self) -> Option<String> {
        let [without, with] = &self.both;
        let changed = changed(without, with).ok()?;
        let folder = changed.iter().find_map(|it| with.vendored(it))?;
        Some(folder.file_name()?.to_string_lossy().into_owned())
    }

    /// How many packages outside were copied so far.
    pub(crate) fn copied(&self) -> usize {
        self.both[0].outside.borrow().len()
    }

    /// Takes back the copies of packages after the first `count`: builds use the packages themselves again.
    pub(crate) fn take_back(&self, count: usize) -> Result<(), String> {
        let trees = [&self.both[0], &self.both[1], &self.recorded];
        let taken = self.both[0].outside.borrow_mut().split_off(count);
        for (tree, outside) in trees.iter().flat_map(|tree| taken.iter().map(move |it| (tree, it)))
        {
            let copy = tree.folder.join(&outside.copy);
            let removed = match copy.symlink_metadata() {
                Ok(it) if it.is_dir() => fs::remove_dir_all(&copy),
                _ => Ok(()),
            };
            let linked = removed.and_then(|()| match outside.patched {
                None if !copy.is_symlink() => symlink(&outside.folder, &copy),
                _ => Ok(()),
            });
            linked.map_err(|error| format!("cannot take {} back: {error}", copy.display()))?;
        }
        match taken.is_empty() {
            true => Ok(()),
            false => trees.into_iter().try_for_each(SourceTree::configure),
        }
    }

    /// Makes both as the one with the change.
    pub(crate) fn keep(&self) -> Result<(), String> {
        copy(&self.both[1], &self.both[0])
    }

    /// Makes both as the one without it.
    pub(crate) fn withdraw(&self) -> Result<(), String> {
        copy(&self.both[0], &self.both[1])
    }

    /// The copy to record, made as one of both.
    pub(crate) fn recorded(&self, as_in: usize) -> Result<&SourceTree, String> {
        copy(&self.both[as_in], &self.recorded)?;
        Ok(&self.recorded)
    }

    /// The change as edits, one for each file.
    pub(crate) fn edits(&self) -> Result<Vec<SourceEdit>, String> {
        let [without, with] = &self.both;
        let edit = |file: &PathBuf| {
            let [before, after] = [0, 1].map(|it| self.both[it].read(file));
            let (before, after) = (before?, after?);
            let start = common(before.chars(), after.chars());
            let end = common(before[start..].chars().rev(), after[start..].chars().rev());
            // Whole lines, which people can read.
            let start = before[..start].rfind('\n').map_or(0, |at| at + 1);
            let end = before[before.len() - end..].find('\n').map_or(0, |at| end - at);
            Ok(SourceEdit {
                file: without.name(file),
                range: [start as u64, (before.len() - end) as u64],
                text: after[start..after.len() - end].to_owned(),
            })
        };
        changed(without, with)?.iter().map(edit).collect()
    }

    /// What was kept, as a patch.
    pub(crate) fn patch(&self) -> Result<String, String> {
        diff(&self.both[0].root)
    }

    /// What was kept of packages outside of the tree: a patch for each.
    pub(crate) fn dependencies(&self) -> Result<Vec<DependencyPatch>, String> {
        let mut patches = Vec::new();
        let tree = &self.both[0];
        for outside in tree.outside.borrow().iter() {
            let patch = diff(&tree.folder.join(&outside.copy))?;
            if !patch.is_empty() {
                patches.push(DependencyPatch {
                    name: outside.name.clone(),
                    patch,
                    folder: outside.folder.to_string_lossy().into_owned(),
                    table: outside.patched.as_ref().map(|it| it.table.clone()),
                });
            }
        }
        Ok(patches)
    }

    /// Whether a file is of a package outside.
    pub(crate) fn has(&self, file: &Path) -> bool {
        self.outside(file).is_some()
    }

    /// The package outside that a file is of, with the user's path of the file.
    fn outside(&self, file: &Path) -> Option<(PathBuf, Outside)> {
        let tree = &self.both[0];
        let file = tree.original(file);
        if !file.is_file() || !file.is_absolute() {
            return None;
        }
        let known = tree.outside_of(&file);
        let found = known.or_else(|| Outside::of(&file, &tree.locks(), &self.links))?;
        Some((file, found))
    }

    /// The path, in a tree, of a file of a package outside. The package is copied, and all trees use their copies from then on; their
    /// manifests and locks stay. `None` for any other file.
    pub(crate) fn dependency(&self, file: &Path) -> Result<Option<PathBuf>, String> {
        let [tree, with] = &self.both;
        let Some((file, new)) = self.outside(file) else { return Ok(None) };
        if tree.outside_of(&file).is_none() {
            let mut new = new;
            // Two folders may have one name.
            while tree.outside.borrow().iter().any(|it| it.name == new.name) {
                new.name += "-2";
            }
            // Before it is copied: what fails is taken back.
            tree.outside.borrow_mut().push(new.clone());
            for tree in [tree, with, &self.recorded] {
                let copy = tree.folder.join(&new.copy);
                if copy.is_symlink() {
                    fs::remove_file(&copy)
                        .map_err(|error| format!("cannot remove {}: {error}", copy.display()))?;
                }
                copy_package(&new.folder, &copy)?;
                git(&copy, &["init", "--quiet"])?;
                commit(&copy)?;
            }
            [tree, with, &self.recorded].into_iter().try_for_each(SourceTree::configure)?;
        }
        Ok(Some(file))
    }
}

/// Makes a tree as another one.
fn copy(from: &SourceTree, to: &SourceTree) -> Result<(), String> {
    let changed = changed(from, to)?;
    for file in &changed {
        // Others keep their times, which builds go by.
        to.write(&to.path(file), &from.read(file)?)?;
    }
    to.have_built(changed.iter().map(PathBuf::as_path))
}

/// Files that differ between two trees, from their tops.
fn changed(one: &SourceTree, other: &SourceTree) -> Result<Vec<PathBuf>, String> {
    let mut files = BTreeSet::new();
    for tree in [one, other] {
        let mut add = |folder: &Path, of: &Path| {
            let list = git(folder, &["diff", "--name-only", "-z", "HEAD"])?;
            files.extend(list.split('\0').filter(|it| !it.is_empty()).map(|it| of.join(it)));
            Ok::<_, String>(())
        };
        add(&tree.root, Path::new(""))?;
        for outside in tree.outside.borrow().iter() {
            add(&tree.folder.join(&outside.copy), &outside.folder)?;
        }
    }
    // Cargo writes its lock by itself.
    let is_lock = |it: &Path| it.file_name().is_some_and(|name| name == "Cargo.lock");
    let text = |tree: &SourceTree, file: &Path| fs::read_to_string(tree.path(file)).ok();
    files.retain(|it| !is_lock(it) && text(one, it) != text(other, it));
    Ok(files.into_iter().collect())
}

/// How many bytes both begin with.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).map(|(it, _)| it.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::SystemTime;

    use tenure_edit::SourcePlace;

    use super::*;
    use crate::builds::without;

    /// A checkout with these files, by their texts.
    fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        git(folder.path(), &["init", "--quiet"]).unwrap();
        commit(folder.path()).unwrap();
        folder
    }

    #[test]
    fn of_several_declarations_those_in_files_that_were_built_count() {
        let folder = tempfile::tempdir().unwrap();
        let deps = folder.path().join("target/release/deps");
        fs::create_dir_all(&deps).unwrap();
        let listed =
            "/t/liba.rlib: /r/a-1.0/src/lib.rs /r/a-1.0/src/wide.rs\n\n/r/a-1.0/src/wide.rs:\n";
        fs::write(deps.join("a.d"), listed).unwrap();
        let outside = Outside {
            folder: "/c/a-1.0".into(),
            name: "a-1.0".to_owned(),
            copy: "r/a-1.0".into(),
            patched: None,
        };
        let tree = SourceTree {
            folder: PathBuf::new(),
            root: folder.path().into(),
            below: PathBuf::new(),
            user: folder.path().into(),
            target: folder.path().join("target"),
            outside: Rc::new(RefCell::new(vec![outside])),
        };
        let place = |file: &str| SourcePlace { file: file.into(), line: 3 };
        let [wide, narrow] = ["/c/a-1.0/src/wide.rs", "/c/a-1.0/src/narrow.rs"].map(place);
        assert_eq!(tree.compiled(&[narrow.clone(), wide.clone()]), [wide]);
        assert_eq!(tree.compiled(&[narrow, place("src/main.rs")]), []);
    }

    #[test]
    fn an_edited_file_is_taken_off_the_list_of_a_vendored_crate() {
        let list = r#"{"files":{"a.rs":"01","src/b.rs":"02","src/c.rs":"03"},"package":"04"}"#;
        for (file, expected) in [
            ("a.rs", r#"{"files":{"src/b.rs":"02","src/c.rs":"03"},"package":"04"}"#),
            ("src/b.rs", r#"{"files":{"a.rs":"01","src/c.rs":"03"},"package":"04"}"#),
            ("src/c.rs", r#"{"files":{"a.rs":"01","src/b.rs":"02"},"package":"04"}"#),
            ("b.rs", list),
        ] {
            assert_eq!(without(list, file), expected);
        }
        let folder =
            checkout(&[("vendor/a/.cargo-checksum.json", list), ("vendor/a/src/b.rs", "long a;")]);
        let trees = TreeCopies::of(folder.path()).unwrap();
        let file = "vendor/a/src/b.rs".to_owned();
        let edit = SourceEdit { file, range: [0, 4], text: "short".to_owned() };
        trees.both[1].edit(&[edit]).unwrap();
        assert_eq!(trees.vendored().as_deref(), Some("a"));
        let built = |name: &str| trees.both[0].target.join("x/release/.fingerprint").join(name);
        for name in ["a-0123", "b-0123"] {
            fs::create_dir_all(built(name)).unwrap();
        }
        trees.keep().unwrap();
        assert!(!built("a-0123").exists() && built("b-0123").exists());
        assert_eq!(trees.vendored(), None);
        let patch = trees.patch().unwrap();
        assert!(patch.contains("+short a;") && patch.contains(r#"+{"files":{"a.rs":"#), "{patch}");
    }

    #[test]
    fn no_file_is_written_that_lies_outside_of_a_copy() {
        let elsewhere = tempfile::tempdir().unwrap();
        let users = elsewhere.path().join("a.c");
        fs::write(&users, "long a;").unwrap();
        let folder = checkout(&[("b.c", "long b;")]);
        symlink(elsewhere.path(), folder.path().join("shared")).unwrap();
        commit(folder.path()).unwrap();
        let trees = TreeCopies::of(folder.path()).unwrap();
        let file = "shared/a.c".to_owned();
        let edit = SourceEdit { file, range: [0, 4], text: "short".to_owned() };
        let refused = trees.both[1].edit(&[edit]).unwrap_err();
        assert!(refused.ends_with("shared/a.c leads out of the copy"), "{refused}");
        assert_eq!(fs::read_to_string(users).unwrap(), "long a;");
    }

    #[test]
    fn the_copy_of_a_path_dependency_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let beside = folder.join("beside/lib.rs");
        fs::create_dir(folder.join("beside")).unwrap();
        fs::write(&beside, "static A: u8 = 1;").unwrap();
        let app = folder.join("app");
        fs::create_dir(&app).unwrap();
        let manifest = "[dependencies]\nbeside = { path = \"../beside\" }\n";
        fs::write(app.join("Cargo.toml"), manifest).unwrap();
        git(&app, &["init", "--quiet"]).unwrap();
        commit(&app).unwrap();
        let trees = TreeCopies::of(&app).unwrap();
        let copied = trees.both[1].folder.join(ROOT).join(beside.strip_prefix("/").unwrap());
        let is_link = || copied.parent().unwrap().is_symlink();
        assert!(is_link());
        let file = trees.dependency(&copied).unwrap().unwrap();
        assert_eq!((&file, trees.copied()), (&beside, 1));
        assert!(!is_link() && trees.both[1].read(&file).is_ok());
        assert_eq!(trees.both[1].find(&copied), Some(beside.clone()));
        trees.take_back(0).unwrap();
        assert!(is_link() && trees.copied() == 0 && beside.is_file());
        assert_eq!(trees.both[1].find(&copied), None);
    }

    #[test]
    fn a_lifetime_is_no_declaration() {
        let text = "pub struct Lock(u64);\nstruct Guard {\n    of: &'static Lock,\n}\n";
        let folder = checkout(&[("lib.rs", text)]);
        let trees = TreeCopies::of(folder.path()).unwrap();
        let declared = trees.both[1].declarations(Path::new(""), Some("Lock"), &[]);
        assert_eq!(declared, [SourcePlace { file: "lib.rs".into(), line: 1 }]);
    }

    #[test]
    fn what_includes_an_edited_header_is_built_anew() {
        let files = [
            ("a.h", "struct a { int x; };\n"),
            ("b.h", "#include \"a.h\"\n"),
            ("b.c", "#  include <b.h>\n"),
            ("other.c", "#include \"data.h\"\n"),
        ];
        let folder = checkout(&files);
        let trees = TreeCopies::of(folder.path()).unwrap();
        let [without, with] = &trees.both;
        let past = SystemTime::UNIX_EPOCH;
        let is_touched = |tree: &SourceTree, file: &str| {
            let file = fs::File::options().append(true).open(tree.root.join(file)).unwrap();
            let is_touched = file.metadata().unwrap().modified().unwrap() != past;
            file.set_modified(past).unwrap();
            is_touched
        };
        let touched = |tree| files.map(|(file, _)| is_touched(tree, file));
        let all = [without, with].map(touched);
        assert_eq!(all, [[true; 4]; 2]);
        let edit = SourceEdit { file: "a.h".to_owned(), range: [11, 14], text: "long".to_owned() };
        with.edit(&[edit]).unwrap();
        assert_eq!([without, with].map(touched), [[false; 4], [true, true, true, false]]);
        trees.keep().unwrap();
        assert_eq!([without, with].map(touched), [[true, true, true, false], [false; 4]]);
    }

    #[test]
    fn a_file_is_found_by_the_names_that_builds_give_it() {
        let files = ["include/stats.h", "src/main.c", "src/a/util.c", "src/b/util.c"];
        let folder = checkout(&files.map(|file| (file, "")));
        let trees = TreeCopies::of(folder.path()).unwrap();
        let tree = &trees.both[1];
        let recorded = trees.recorded.root.join("include/stats.h");
        let found = |file: &Path| tree.find(file).map(|it| it.to_string_lossy().into_owned());
        for (file, expected) in [
            (recorded.as_path(), Some("include/stats.h")),
            (&folder.path().join("src/main.c"), Some("src/main.c")),
            (Path::new("../include/stats.h"), Some("include/stats.h")),
            (Path::new("./../src/main.c"), Some("src/main.c")),
            (Path::new("main.c"), Some("src/main.c")),
            (Path::new("util.c"), None),
            (Path::new("/usr/include/stdio.h"), None),
        ] {
            assert_eq!(found(file).as_deref(), expected, "{file:?}");
        }
    }
}
