//! Copies of the user's tree: without a change, with it, and one to record.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use tenure_edit::{SourcePlace, apply};
use tenure_measure::git::git;
use tenure_measure::mirror;
use tenure_model::{DependencyPatch, SourceEdit};

use crate::outside::{Outside, ROOT, configuration};

/// A tree of sources: the user's own, or a copy with all that is not ignored, also what is not committed.
///
/// A path in it leads from its top, or is the absolute one of a file outside whose package was copied.
pub(crate) struct SourceTree {
    /// Of a copy: where it lies, with copies of packages and cargo's configuration.
    folder: PathBuf,
    /// The top.
    root: PathBuf,
    /// The user's folder, seen from the top.
    below: PathBuf,
    /// The top of the user's own tree.
    user: PathBuf,
    /// Where its builds go.
    pub(crate) target: PathBuf,
    /// What was copied from outside, of which each copy of the tree has its own.
    outside: Rc<RefCell<Vec<Outside>>>,
}

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
        let top = git(here, &["rev-parse", "--show-toplevel"]).map_err(|_| {
            format!("fix edits a copy of a git checkout, and {} is in none", here.display())
        })?;
        let below = git(here, &["rev-parse", "--show-prefix"])?;
        git(here, &["rev-parse", "--verify", "--quiet", "HEAD"])
            .map_err(|_| "the repository has no commit yet: commit what is there".to_owned())?;
        let folder = tempfile::Builder::new()
            .prefix("tenure-fix-")
            .tempdir()
            .map_err(|it| format!("cannot make a folder: {it}"))?;
        let (outside, user) = (Rc::default(), PathBuf::from(top));
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

/// How the names of files end that others include.
const HEADERS: [&str; 8] = ["h", "hh", "hpp", "hxx", "h++", "inc", "inl", "ipp"];

impl SourceTree {
    /// The user's own, which is not edited; `None` if the folder is in no git checkout.
    pub(crate) fn of_user(here: &Path) -> Option<Self> {
        let top = PathBuf::from(git(here, &["rev-parse", "--show-toplevel"]).ok()?);
        let below = git(here, &["rev-parse", "--show-prefix"]).ok()?.into();
        let (root, outside) = (top.clone(), Rc::default());
        Some(Self {
            folder: PathBuf::new(),
            root,
            below,
            user: top,
            target: PathBuf::new(),
            outside,
        })
    }

    /// The package outside that a file is in.
    pub(crate) fn outside_of(&self, file: &Path) -> Option<Outside> {
        self.outside.borrow().iter().find(|it| file.starts_with(&it.folder)).cloned()
    }

    /// Where a file lies whose path in the tree this is.
    pub(crate) fn path(&self, file: &Path) -> PathBuf {
        match self.outside_of(file) {
            Some(it) => self.folder.join(&it.copy).join(inside(&it, file)),
            None => self.root.join(file),
        }
    }

    /// A file's path for people and programs: from the top, or with the name of its package.
    fn name(&self, file: &Path) -> String {
        let of = |it: Outside| Path::new(&it.name).join(inside(&it, file));
        self.outside_of(file).map_or_else(|| file.to_owned(), of).to_string_lossy().into_owned()
    }

    /// The texts of its `Cargo.lock` files, also where git ignores them.
    fn locks(&self) -> Vec<String> {
        let words = ["ls-files", "-z", "--cached", "--others", "--", "*Cargo.lock"];
        let list = git(&self.root, &words).unwrap_or_default();
        let files = list.split('\0').filter(|it| !it.is_empty());
        files.filter_map(|it| fs::read_to_string(self.root.join(it)).ok()).collect()
    }

    /// Writes a file of a copy, and none that a link in it leads to.
    fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        let real = fs::canonicalize(path).or_else(|_| match path.parent() {
            Some(folder) => fs::canonicalize(folder),
            None => Err(std::io::ErrorKind::NotFound.into()),
        });
        let folder = fs::canonicalize(&self.folder);
        match (real, folder) {
            (Ok(real), Ok(folder)) if real.starts_with(&folder) => write(path, text),
            _ => Err(format!("{} leads out of the copy", path.display())),
        }
    }

    /// Has cargo use the copies, by its configuration above the tree.
    fn configure(&self) -> Result<(), String> {
        let config = self.folder.join(".cargo");
        fs::create_dir_all(&config)
            .map_err(|error| format!("cannot make {}: {error}", config.display()))?;
        let text = configuration(&self.outside.borrow(), &self.folder);
        self.write(&config.join("config.toml"), &text)
    }

    /// The path of the user's file that one in any of the copies stands for; others stay.
    fn original(&self, file: &Path) -> PathBuf {
        let file = &mirror::plain(file);
        let copies = self.folder.parent().unwrap_or(Path::new(""));
        let canonical = fs::canonicalize(copies).unwrap_or_default();
        let is_copy = |it: &&Path| it.is_absolute();
        let mut copies = [copies, &canonical].into_iter().filter(is_copy);
        let Some(inside) = copies.find_map(|it| file.strip_prefix(it).ok()) else {
            return file.to_owned();
        };
        // `before/root/home/me/program/src/main.rs`
        let inside: PathBuf = inside.iter().skip(1).collect();
        if let Ok(path) = inside.strip_prefix(ROOT) {
            return Path::new("/").join(path);
        }
        let all = self.outside.borrow();
        let of = |it: &Outside| Some(it.folder.join(inside.strip_prefix(&it.copy).ok()?));
        all.iter().find_map(of).unwrap_or_else(|| file.to_owned())
    }

    pub(crate) fn has_submodules(&self) -> bool {
        self.root.join(".gitmodules").exists()
    }

    /// The folder that stands for the user's.
    pub(crate) fn here(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// The path in the tree of a file that debugging information or a compiler names; `None` if it is not the program's own.
    pub(crate) fn find(&self, file: &Path) -> Option<PathBuf> {
        if file.is_absolute() {
            let file = self.original(file);
            // Cargo's own folder may lie in the checkout.
            let is_outside = self.outside_of(&file).is_some();
            let inside = file.strip_prefix(&self.user).ok().filter(|_| !is_outside);
            let found = inside.map_or_else(|| file.clone(), Path::to_owned);
            let is_known = is_outside || inside.is_some();
            return Some(found).filter(|it| is_known && self.path(it).is_file());
        }
        // The name may start at the folder of the build, wherever that is, or at one further up.
        let is_up = |it: &Component<'_>| matches!(it, Component::ParentDir | Component::CurDir);
        let file: &Path = &file.components().skip_while(is_up).collect::<PathBuf>();
        let above = self.below.ancestors().map(|folder| folder.join(file));
        if let Some(found) = above.into_iter().find(|it| self.root.join(it).is_file()) {
            return Some(found);
        }
        let all = git(&self.root, &["ls-files", "-z"]).ok()?;
        let mut ends = all.split('\0').filter(|it| Path::new(it).ends_with(file));
        let found = ends.next()?;
        ends.next().is_none().then(|| found.into())
    }

    pub(crate) fn read(&self, file: &Path) -> Result<String, String> {
        read(&self.path(file))
    }

    /// Makes edits whose files are paths in the tree.
    pub(crate) fn edit(&self, edits: &[SourceEdit]) -> Result<(), String> {
        let mut files: Vec<&str> = edits.iter().map(|it| it.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        for file in &files {
            let of_file: Vec<_> = edits.iter().filter(|it| it.file == *file).cloned().collect();
            let path = self.path(Path::new(file));
            self.write(&path, &apply(&read(&path)?, &of_file))?;
            self.unlist(Path::new(file))?;
        }
        self.have_built(files.into_iter().map(Path::new))
    }

    /// Has builds see that these files changed.
    fn have_built<'f>(&self, files: impl Iterator<Item = &'f Path> + Clone) -> Result<(), String> {
        // Cargo does not look at files of vendored crates again.
        let vendored: BTreeSet<_> = files.clone().filter_map(|it| self.vendored(it)).collect();
        for name in vendored.iter().filter_map(|it| it.file_name()) {
            forget(&self.target, &name.to_string_lossy());
        }
        self.touch_users(files)
    }

    /// The folder, in the tree, of the vendored crate that a file is in.
    fn vendored<'f>(&self, file: &'f Path) -> Option<&'f Path> {
        let has_list = |folder: &&Path| self.root.join(folder).join(CHECKSUMS).is_file();
        file.ancestors().skip(1).filter(|_| file.is_relative()).find(has_list)
    }

    /// Takes a file off the list of checksums of a crate that `cargo vendor` made, or else cargo refuses what is edited.
    fn unlist(&self, file: &Path) -> Result<(), String> {
        let Some(folder) = self.vendored(file) else { return Ok(()) };
        let path = self.root.join(folder).join(CHECKSUMS);
        let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy();
        self.write(&path, &without(&read(&path)?, &name))
    }

    /// Gives the files that include one of these headers a new time, also through other headers: a makefile may not know of them, and
    /// then what it builds would be without the edit.
    fn touch_users<'f>(&self, files: impl Iterator<Item = &'f Path>) -> Result<(), String> {
        let is_header = |file: &Path| {
            let ending = file.extension().and_then(|it| it.to_str());
            ending.is_some_and(|it| HEADERS.contains(&it))
        };
        let mut headers: Vec<PathBuf> =
            files.filter(|it| is_header(it)).map(Path::to_owned).collect();
        let mut touched = BTreeSet::new();
        while let Some(name) = headers.pop().as_deref().and_then(Path::file_name) {
            let name = name.to_string_lossy().replace('.', "\\.");
            let pattern = format!("#[[:space:]]*include.*[\"</]{name}[\">]");
            // None is an error of git's.
            let users = git(&self.root, &["grep", "-l", "-z", "-E", "-e", &pattern]);
            for user in users.unwrap_or_default().split('\0').filter(|it| !it.is_empty()) {
                let path = self.root.join(user);
                if touched.insert(path.clone()) {
                    let file = fs::File::options().append(true).open(&path);
                    file.and_then(|it| it.set_modified(SystemTime::now()))
                        .map_err(|error| format!("cannot touch {}: {error}", path.display()))?;
                    headers.extend(Some(PathBuf::from(user)).filter(|it| is_header(it)));
                }
            }
        }
        Ok(())
    }

    /// Files that mention a word, of those whose names end so.
    pub(crate) fn mention(&self, word: &str, ends: &[&str]) -> Vec<PathBuf> {
        let list =
            git(&self.root, &["grep", "-l", "-z", "-w", "-F", "-e", word]).unwrap_or_default();
        let is_source = |file: &&str| {
            ends.iter().any(|end| Path::new(file).extension().is_some_and(|it| it == *end))
        };
        list.split('\0').filter(is_source).map(PathBuf::from).collect()
    }

    /// Where Rust's types and variables of this name are declared, or with `None` all of them, in these files or in all.
    /// `folder` is a path in the tree: that of a package outside, or nothing.
    pub(crate) fn declarations(
        &self,
        folder: &Path,
        name: Option<&str>,
        files: &[PathBuf],
    ) -> Vec<SourcePlace> {
        let name = name.unwrap_or("[A-Za-z_][A-Za-z0-9_]*");
        // Not the lifetime of `&'static Name`.
        let word = "(^|[^'A-Za-z0-9_])(struct|enum|union|static|static mut)";
        let pattern = format!("{word} +{name}([^A-Za-z0-9_]|$)");
        let mut words = vec!["grep", "-n", "-z", "-E", "-e", &pattern, "--"];
        let files: Vec<_> = files.iter().map(|it| it.to_string_lossy()).collect();
        match files.is_empty() {
            true => words.push("*.rs"),
            false => words.extend(files.iter().map(|it| &**it)),
        }
        // `file\0line\0text`, and so for each line.
        let list = git(&self.path(folder), &words).unwrap_or_default();
        let place = |line: &str| {
            let mut parts = line.split('\0');
            let file = folder.join(parts.next()?);
            Some(SourcePlace { file, line: parts.next()?.parse().ok()? })
        };
        list.lines().filter_map(place).collect()
    }

    /// Of places those in files that cargo's builds have read, as they list them.
    pub(crate) fn compiled(&self, places: &[SourcePlace]) -> Vec<SourcePlace> {
        let mut read = Vec::new();
        list_read(&self.target, &mut read);
        let is_read = |place: &SourcePlace| {
            let of = |it: Outside| it.copy.join(inside(&it, &place.file));
            let file = self.outside_of(&place.file).map_or_else(|| place.file.clone(), of);
            read.iter().any(|it| it.ends_with(&file) || *it == place.file)
        };
        places.iter().filter(|it| is_read(it)).cloned().collect()
    }
}

/// Cargo's list of the checksums of a vendored crate's files.
const CHECKSUMS: &str = ".cargo-checksum.json";

/// A list of checksums without a file: `{"files":{"src/lib.rs":"0a1b…",…`.
fn without(checksums: &str, file: &str) -> String {
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
fn forget(builds: &Path, folder: &str) {
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
fn list_read(folder: &Path, read: &mut Vec<PathBuf>) {
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

/// The path of a file in a package.
fn inside<'f>(outside: &Outside, file: &'f Path) -> &'f Path {
    file.strip_prefix(&outside.folder).unwrap_or(file)
}

/// Copies a package, or the repository that it is in: without what is ignored and what was built.
fn copy_package(from: &Path, to: &Path) -> Result<(), String> {
    let top = git(from, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    if top.ok().is_none_or(|it| it != from) {
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

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
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

fn copy_file(from: &Path, to: &Path) -> Result<(), String> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::copy(from, to).map(drop))
        .map_err(|error| format!("cannot copy {}: {error}", from.display()))
}

/// Commits everything in a folder, so that later changes can be told from it.
fn commit(folder: &Path) -> Result<(), String> {
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
fn diff(folder: &Path) -> Result<String, String> {
    let lock = [":(exclude)**/Cargo.lock", ":(exclude)Cargo.lock"];
    let patch = git(folder, &[&["diff", "--relative", "HEAD", "--", "."], &lock[..]].concat())?;
    Ok(if patch.is_empty() { patch } else { patch + "\n" })
}

/// How many bytes both begin with.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).map(|(it, _)| it.len_utf8()).sum()
}

/// Copies what is not committed, and not ignored.
fn uncommitted(from: &Path, to: &Path) -> Result<(), String> {
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

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|it| it == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
