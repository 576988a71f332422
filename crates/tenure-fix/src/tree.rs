//! A tree of sources, and the packages outside of it that were copied.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use tenure_edit::{SourcePlace, apply};
use tenure_measure::git::{self, git};
use tenure_measure::mirror;
use tenure_model::SourceEdit;

use crate::builds::{CHECKSUMS, forget, list_read, without};
use crate::files::{read, write};
use crate::outside::{Outside, ROOT, configuration};

/// A tree of sources: the user's own, or a copy with all that is not ignored, also what is not committed.
///
/// A path in it leads from its top, or is the absolute one of a file outside whose package was copied.
pub(crate) struct SourceTree {
    /// Of a copy: where it lies, with copies of packages and cargo's configuration.
    pub(crate) folder: PathBuf,
    /// The top.
    pub(crate) root: PathBuf,
    /// The user's folder, seen from the top.
    pub(crate) below: PathBuf,
    /// The top of the user's own tree.
    pub(crate) user: PathBuf,
    /// Where its builds go.
    pub(crate) target: PathBuf,
    /// What was copied from outside, of which each copy of the tree has its own.
    pub(crate) outside: Rc<RefCell<Vec<Outside>>>,
}

/// How the names of files end that others include.
const HEADERS: [&str; 8] = ["h", "hh", "hpp", "hxx", "h++", "inc", "inl", "ipp"];

impl SourceTree {
    /// The user's own, which is not edited; `None` if the folder is in no git checkout.
    pub(crate) fn of_user(here: &Path) -> Option<Self> {
        let top = git::top(here).ok()?;
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
    pub(crate) fn name(&self, file: &Path) -> String {
        let of = |it: Outside| Path::new(&it.name).join(inside(&it, file));
        self.outside_of(file).map_or_else(|| file.to_owned(), of).to_string_lossy().into_owned()
    }

    /// The texts of its `Cargo.lock` files, also where git ignores them.
    pub(crate) fn locks(&self) -> Vec<String> {
        let words = ["ls-files", "-z", "--cached", "--others", "--", "*Cargo.lock"];
        let list = git(&self.root, &words).unwrap_or_default();
        let files = list.split('\0').filter(|it| !it.is_empty());
        files.filter_map(|it| fs::read_to_string(self.root.join(it)).ok()).collect()
    }

    /// Writes a file of a copy, and none that a link in it leads to.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), String> {
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
    pub(crate) fn configure(&self) -> Result<(), String> {
        let config = self.folder.join(".cargo");
        fs::create_dir_all(&config)
            .map_err(|error| format!("cannot make {}: {error}", config.display()))?;
        let text = configuration(&self.outside.borrow(), &self.folder);
        self.write(&config.join("config.toml"), &text)
    }

    /// The path of the user's file that one in any of the copies stands for; others stay.
    pub(crate) fn original(&self, file: &Path) -> PathBuf {
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
    pub(crate) fn have_built<'f>(
        &self,
        files: impl Iterator<Item = &'f Path> + Clone,
    ) -> Result<(), String> {
        // Cargo does not look at files of vendored crates again.
        let vendored: BTreeSet<_> = files.clone().filter_map(|it| self.vendored(it)).collect();
        for name in vendored.iter().filter_map(|it| it.file_name()) {
            forget(&self.target, &name.to_string_lossy());
        }
        self.touch_users(files)
    }

    /// The folder, in the tree, of the vendored crate that a file is in.
    pub(crate) fn vendored<'f>(&self, file: &'f Path) -> Option<&'f Path> {
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

    /// Those places whose files cargo's builds have read, by the lists that cargo keeps.
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

/// The path of a file in a package.
pub(crate) fn inside<'f>(outside: &Outside, file: &'f Path) -> &'f Path {
    file.strip_prefix(&outside.folder).unwrap_or(file)
}
