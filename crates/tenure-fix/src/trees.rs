//! Copies of the user's tree: without a change, with it, and one to record.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use tenure_edit::{SourcePlace, apply};
use tenure_measure::git::git;
use tenure_model::{DependencyPatch, SourceEdit};

/// A tree of sources: the user's own, or a copy with all that is not ignored, also what is not committed.
pub(crate) struct SourceTree {
    root: PathBuf,
    /// The user's folder, seen from the top.
    below: PathBuf,
    /// The top of the user's own tree.
    user: PathBuf,
    /// Where its builds go.
    pub(crate) target: PathBuf,
}

/// The copies, which go when this is dropped.
pub(crate) struct TreeCopies {
    /// Without the change, and with it.
    pub(crate) both: [SourceTree; 2],
    /// Where builds of C and C++ are instrumented: their objects lie beside the sources.
    recorded: SourceTree,
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
        let copy = |name: &str| {
            let of = folder.path().join(name);
            let root = of.join("tree");
            let path = root.to_string_lossy();
            git(here, &["clone", "--quiet", "--shared", "--", &top, &path])?;
            uncommitted(Path::new(&top), &root)?;
            commit(&root)?;
            Ok::<_, String>(SourceTree {
                root,
                below: below.clone().into(),
                user: top.clone().into(),
                target: of.join("target"),
            })
        };
        Ok(Self {
            both: [copy("before")?, copy("after")?],
            recorded: copy("recorded")?,
            _folder: folder,
        })
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
            let [before, after] = [0, 1].map(|it| read(&self.both[it].root.join(file)));
            let (before, after) = (before?, after?);
            let start = common(before.chars(), after.chars());
            let end = common(before[start..].chars().rev(), after[start..].chars().rev());
            // Whole lines, which people can read.
            let start = before[..start].rfind('\n').map_or(0, |at| at + 1);
            let end = before[before.len() - end..].find('\n').map_or(0, |at| end - at);
            Ok(SourceEdit {
                file: file.strip_prefix(CRATES).unwrap_or(file).to_string_lossy().into_owned(),
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

    /// What was kept of crates of a registry: a patch for each, by its name and version.
    pub(crate) fn dependencies(&self) -> Result<Vec<DependencyPatch>, String> {
        let mut patches = Vec::new();
        for folder in crates(&self.both[0].crates()) {
            let patch = diff(&folder)?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !patch.is_empty() {
                patches.push(DependencyPatch { name, patch });
            }
        }
        Ok(patches)
    }

    /// The path, from a tree's top, of a file of a crate in cargo's registry. The crate is copied beside both trees, which use the copy from
    /// then on; their manifests and locks stay. `None` for any other file.
    pub(crate) fn dependency(&self, file: &Path) -> Result<Option<PathBuf>, String> {
        let Some((folder, rest)) = in_registry(file) else { return Ok(None) };
        let name = folder.file_name().unwrap_or_default();
        for tree in &self.both {
            let crates = tree.crates();
            if crates.join(name).is_dir() {
                continue;
            }
            copy_folder(&folder, &crates.join(name))?;
            if !crates.join(".git").is_dir() {
                git(&crates, &["init", "--quiet"])?;
            }
            commit(&crates)?;
            tree.configure()?;
        }
        Ok(Some(Path::new(CRATES).join(name).join(rest)))
    }
}

/// How the names of files end that others include.
const HEADERS: [&str; 8] = ["h", "hh", "hpp", "hxx", "h++", "inc", "inl", "ipp"];

/// Where copies of a registry's crates lie, from the top of a tree. Not in it, where cargo would take them for members of its workspace.
const CRATES: &str = "../crates";

impl SourceTree {
    /// The user's own, which is not edited; `None` if the folder is in no git checkout.
    pub(crate) fn of_user(here: &Path) -> Option<Self> {
        let top = PathBuf::from(git(here, &["rev-parse", "--show-toplevel"]).ok()?);
        let below = git(here, &["rev-parse", "--show-prefix"]).ok()?.into();
        Some(Self { root: top.clone(), below, user: top, target: PathBuf::new() })
    }

    fn crates(&self) -> PathBuf {
        // Without `..`, which other programs might resolve otherwise.
        self.root.with_file_name("crates")
    }

    /// Has cargo use the copies, by its configuration above the tree.
    fn configure(&self) -> Result<(), String> {
        let mut text = "[patch.crates-io]\n".to_owned();
        for folder in crates(&self.crates()) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let package = package(&name);
            let key = name.replace(['.', '+'], "_");
            text += &format!("{key} = {{ package = \"{package}\", path = {folder:?} }}\n");
        }
        let config = self.root.with_file_name(".cargo");
        fs::create_dir_all(&config)
            .map_err(|error| format!("cannot make {}: {error}", config.display()))?;
        write(&config.join("config.toml"), &text)
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
        let root = fs::canonicalize(&self.root).ok()?;
        if file.is_absolute() {
            let crates = fs::canonicalize(self.crates()).unwrap_or_else(|_| self.crates());
            if let Ok(inside) = file.strip_prefix(&crates).or(file.strip_prefix(self.crates())) {
                return Some(Path::new(CRATES).join(inside));
            }
            // Or in the copy that was recorded, which lies beside.
            let beside = [&root, &self.root].into_iter().filter_map(|root| {
                let inside = file.strip_prefix(root.parent()?.parent()?).ok()?;
                let mut parts = inside.components();
                parts.next()?;
                parts.as_path().strip_prefix(root.file_name()?).ok()
            });
            let inside = [&self.user, &root, &self.root].into_iter();
            let mut inside = inside.filter_map(|it| file.strip_prefix(it).ok()).chain(beside);
            return inside.find(|it| self.root.join(it).is_file()).map(Path::to_owned);
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
        read(&self.root.join(file))
    }

    /// Makes edits whose files are paths in the tree.
    pub(crate) fn edit(&self, edits: &[SourceEdit]) -> Result<(), String> {
        let mut files: Vec<&str> = edits.iter().map(|it| it.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        for file in &files {
            let of_file: Vec<_> = edits.iter().filter(|it| it.file == *file).cloned().collect();
            let path = self.root.join(file);
            write(&path, &apply(&read(&path)?, &of_file))?;
        }
        self.touch_users(files.into_iter().map(Path::new))
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
    /// `folder` is a path from the tree's top: that of a copied crate, or nothing.
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
        let list = git(&self.root.join(folder), &words).unwrap_or_default();
        let place = |line: &str| {
            let mut parts = line.split('\0');
            let file = folder.join(parts.next()?);
            Some(SourcePlace { file, line: parts.next()?.parse().ok()? })
        };
        list.lines().filter_map(place).collect()
    }

    /// Of several places those in files that cargo's builds have read, as they list them; all where they list none of those files.
    pub(crate) fn compiled(&self, places: Vec<SourcePlace>) -> Vec<SourcePlace> {
        // One is kept whatever the lists say.
        if places.len() < 2 {
            return places;
        }
        let mut read = Vec::new();
        list_read(&self.target, &mut read);
        let is_read = |place: &SourcePlace| {
            let file = place.file.strip_prefix(CRATES).unwrap_or(&place.file);
            read.iter().any(|it| it.ends_with(file))
        };
        match places.iter().any(is_read) {
            true => places.into_iter().filter(is_read).collect(),
            false => places,
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
        write(&to.root.join(file), &read(&from.root.join(file))?)?;
    }
    to.touch_users(changed.iter().map(PathBuf::as_path))
}

/// Files that differ between two trees, from their tops.
fn changed(one: &SourceTree, other: &SourceTree) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let names = |folder: &Path| git(folder, &["diff", "--name-only", "-z", "HEAD"]);
    for tree in [one, other] {
        let list = names(&tree.root)?;
        files.extend(list.split('\0').filter(|it| !it.is_empty()).map(PathBuf::from));
        if tree.crates().is_dir() {
            let list = names(&tree.crates())?;
            let list = list.split('\0').filter(|it| !it.is_empty());
            files.extend(list.map(|file| Path::new(CRATES).join(file)));
        }
    }
    files.sort();
    files.dedup();
    // Cargo writes its lock by itself.
    files.retain(|it| it.file_name().is_none_or(|name| name != "Cargo.lock"));
    let text = |tree: &SourceTree, file: &Path| fs::read_to_string(tree.root.join(file)).ok();
    files.retain(|file| text(one, file) != text(other, file));
    Ok(files)
}

/// The folder of a crate in cargo's registry, and the path of a file in it.
fn in_registry(file: &Path) -> Option<(PathBuf, PathBuf)> {
    let parts: Vec<_> = file.components().collect();
    let is = |at: usize, name: &str| parts.get(at).is_some_and(|it| it.as_os_str() == name);
    // `registry/src/INDEX/NAME-VERSION/src/lib.rs`
    let at = (0..parts.len()).find(|&at| is(at, "registry") && is(at + 1, "src"))?;
    let (folder, rest) = parts.split_at_checked(at + 4)?;
    let folder: PathBuf = folder.iter().collect();
    (folder.join("Cargo.toml").is_file()).then(|| (folder, rest.iter().collect()))
}

/// `crossbeam-utils` of `crossbeam-utils-0.8.17`.
fn package(name: &str) -> &str {
    let is_version = |(at, _): &(usize, &str)| {
        name[at + 1..].starts_with(|letter: char| letter.is_ascii_digit())
    };
    name.match_indices('-').find(is_version).map_or(name, |(at, _)| &name[..at])
}

/// The folders of copied crates, by name.
fn crates(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    let mut all: Vec<_> = entries.filter(|it| it.join("Cargo.toml").is_file()).collect();
    all.sort();
    all
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy {}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(failed)?);
        match kind.is_dir() {
            true => copy_folder(&entry.path(), &to.join(name))?,
            false if kind.is_file() => {
                fs::copy(entry.path(), to.join(name)).map_err(failed)?;
            }
            false => {}
        }
    }
    Ok(())
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
        let failed = |error| format!("cannot copy {}: {error}", from.display());
        match from.symlink_metadata() {
            Ok(it) if it.is_file() => {
                to.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
                fs::copy(&from, &to).map_err(failed)?;
            }
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
        let tree = SourceTree {
            root: folder.path().into(),
            below: PathBuf::new(),
            user: folder.path().into(),
            target: folder.path().join("target"),
        };
        let place = |file: &str| SourcePlace { file: file.into(), line: 3 };
        let [wide, narrow] =
            ["../crates/a-1.0/src/wide.rs", "../crates/a-1.0/src/narrow.rs"].map(place);
        assert_eq!(tree.compiled(vec![narrow.clone(), wide.clone()]), [wide]);
        let other = place("src/main.rs");
        assert_eq!(tree.compiled(vec![narrow.clone(), other.clone()]), [narrow, other]);
    }

    #[test]
    fn a_crate_is_told_from_its_version() {
        for (name, expected) in [
            ("crossbeam-utils-0.8.17", "crossbeam-utils"),
            ("wasi-0.11.0+wasi-snapshot-preview1", "wasi"),
            ("x", "x"),
        ] {
            assert_eq!(package(name), expected);
        }
    }

    #[test]
    fn a_file_of_a_registry_is_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let of = folder.path().join("registry/src/index-1/a-1.0.0");
        fs::create_dir_all(of.join("src")).unwrap();
        fs::write(of.join("Cargo.toml"), "").unwrap();
        let file = of.join("src/lib.rs");
        assert_eq!(in_registry(&file), Some((of, "src/lib.rs".into())));
        assert_eq!(in_registry(Path::new("src/registry/src/lib.rs")), None);
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
