//! From a file to a [`Model`].
//!
//! [`read`] detects a file's kind and calls its reader:
//!
//! | file | read as |
//! |---|---|
//! | `/sys/kernel/btf/vmlinux`, raw BTF | BTF; modules' on top of the kernel's |
//! | program, library, kernel, module, object file (ELF; Mach-O and PE as far as they hold DWARF) | DWARF, if any, in the file or in its separate debug file; else the section `.BTF` |
//! | static library (`.a`, `.rlib`) | the DWARF of all members |
//!
//! Input is never trusted: it may be an [`Error`], and its size bounds time and memory.

pub mod btf;
mod dwarf;
pub mod file;
pub(crate) mod object;
mod split;

use std::path::{Path, PathBuf};

use ::object::read::archive::ArchiveFile;
use ::object::{File, ObjectKind};

pub use self::btf::Prototype;
pub use self::dwarf::EntryTypes;
use self::file::MappedFile;
use self::object::{Sections, separate};
use tenure_model::Progress;

use crate::Error;
use crate::model::{Format, Malformed, Model};

const KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The running kernel.
    Kernel,
    /// See the [module](self) for which.
    File(PathBuf),
}

impl Input {
    /// The path that is read.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Kernel => Path::new(KERNEL),
            Self::File(path) => path,
        }
    }
}

/// How to read. The default is to detect everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The format to read from files that hold both.
    pub format: Option<Format>,
    /// Debugging information that is neither in the program's file nor where distributions put it.
    pub debug_file: Option<PathBuf>,
    /// The BTF of a split file's base, such as a module's kernel. Default: the running kernel's.
    pub base: Option<PathBuf>,
}

/// Reads the types and variables of a file.
///
/// # Errors
///
/// In one line, with what to do if possible: the file cannot be read, is of a kind that holds no types, has no
/// debugging information, or is malformed.
///
/// ```no_run
/// use std::path::PathBuf;
/// use tenure_debuginfo::read::{Input, Options, read};
///
/// let input = Input::File(PathBuf::from("target/debug/tenure"));
/// let model = read(&input, &Options::default(), &())?;
/// println!("{} types", model.types().len());
/// # Ok::<(), tenure_debuginfo::Error>(())
/// ```
pub fn read(input: &Input, options: &Options, progress: &dyn Progress) -> Result<Model, Error> {
    let how = How { keep_links: false, progress };
    read_how(input, options, how).map(|(model, _)| model)
}

/// The same, and what links the file's code to its types.
pub fn read_linked(
    input: &Input,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(Model, EntryLinks), Error> {
    read_how(input, options, How { keep_links: true, progress })
}

/// What links a file's code to its types.
#[derive(Debug)]
pub enum EntryLinks {
    /// The types by their entries in DWARF.
    Entries(EntryTypes),
    /// The declarations of functions in BTF.
    Prototypes(Vec<Prototype>),
}

#[derive(Clone, Copy)]
struct How<'p> {
    keep_links: bool,
    progress: &'p dyn Progress,
}

type ReadModel = (Model, EntryLinks);

impl How<'_> {
    fn btf(self, bytes: &[u8], base: Option<&[u8]>) -> Result<ReadModel, Malformed> {
        let (model, prototypes) = btf::parse_with(bytes, base, self.keep_links)?;
        Ok((model, EntryLinks::Prototypes(prototypes)))
    }
}

fn read_how(input: &Input, options: &Options, how: How<'_>) -> Result<ReadModel, Error> {
    let path = input.path();
    if *input == Input::Kernel && !path.exists() {
        return Err(Error::new(format!(
            "this kernel does not show its types ({KERNEL} is missing); give a vmlinux file with \
             debugging information, or boot a kernel built with CONFIG_DEBUG_INFO_BTF"
        )));
    }
    let file = MappedFile::open(path)?;
    if btf::is_btf(file.bytes()) {
        if options.debug_file.is_some() {
            return Err(Error::new(format!(
                "--debug-file is for programs and libraries; {} is BTF",
                path.display()
            )));
        }
        return match options.format {
            Some(Format::Dwarf) => Err(Error::new(format!(
                "{} is BTF and has no DWARF; leave --format away, or give a file with DWARF, such as \
                 a vmlinux",
                path.display()
            ))),
            _ => raw_btf(&file, options, how),
        };
    }
    let archive = ArchiveFile::parse(file.bytes());
    if let Ok(archive) = archive {
        return match options.format {
            Some(Format::Btf) => Err(Error::new(format!(
                "{} is a static library, which has no BTF; leave --format away to read its DWARF",
                path.display()
            ))),
            _ => library(&file, &archive, how),
        };
    }
    let object = File::parse(file.bytes()).map_err(|error| {
        if file.bytes().starts_with(b"\x7fELF") {
            return Error::malformed(path, &Malformed::new(error.to_string()));
        }
        Error::new(format!(
            "{} is neither an object file nor BTF; give a program, a library, a vmlinux or a file \
             from /sys/kernel/btf",
            path.display()
        ))
    })?;
    program(&file, &object, options, how)
}

fn program(
    file: &MappedFile,
    object: &File<'_>,
    options: &Options,
    how: How<'_>,
) -> Result<ReadModel, Error> {
    let path = file.path();
    if options.format == Some(Format::Btf) {
        return object_btf(file, object, options, how)?.ok_or_else(|| {
            Error::new(format!(
                "{} has no section .BTF; leave --format away to read its DWARF, or give a kernel",
                path.display()
            ))
        });
    }
    let separate = match &options.debug_file {
        Some(separate) => Some(MappedFile::open(separate)?),
        None if self::object::has_dwarf(object, false) => None,
        None => separate::find(path, object),
    };
    if separate.is_some() || self::object::has_dwarf(object, false) {
        if options.base.is_some() {
            return Err(Error::new(format!(
                "--base is for the BTF of a kernel module; {} has DWARF",
                path.display()
            )));
        }
        return match separate {
            Some(separate) => separate_dwarf(&separate, how),
            None => dwarf_of(file, object, how),
        };
    }
    if options.format.is_none()
        && let Some(found) = object_btf(file, object, options, how)?
    {
        return Ok(found);
    }
    Err(no_dwarf(path, "has no debugging information"))
}

fn no_dwarf(path: &Path, what: &str) -> Error {
    Error::new(format!(
        "{} {what}; compile it with -g, or install the package with its debugging information \
         (-dbg, -dbgsym, -debuginfo)",
        path.display()
    ))
}

fn separate_dwarf(file: &MappedFile, how: How<'_>) -> Result<ReadModel, Error> {
    let object = File::parse(file.bytes()).map_err(|_| {
        Error::new(format!("{} is not an object file; name one with DWARF", file.path().display()))
    })?;
    if !self::object::has_dwarf(&object, false) {
        return Err(no_dwarf(file.path(), "has no debugging information"));
    }
    dwarf_of(file, &object, how)
}

fn dwarf_of(file: &MappedFile, object: &File<'_>, how: How<'_>) -> Result<ReadModel, Error> {
    let malformed = |what: Malformed| Error::malformed(file.path(), &what);
    let sections = Sections::load(object, file.bytes().len(), false).map_err(malformed)?;
    let supplement = separate::supplement(file.path(), object)?;
    let supplement = supplement.as_ref().map(|file| sections_of(file, false)).transpose()?;
    let object = dwarf::Object {
        name: "",
        sections: &sections,
        supplement: supplement.as_ref(),
        file: Some(file),
        splits: None,
    };
    complete(file, &[object], how)
}

fn complete(
    file: &MappedFile,
    objects: &[dwarf::Object<'_>],
    how: How<'_>,
) -> Result<ReadModel, Error> {
    let malformed = |what: Malformed| Error::malformed(file.path(), &what);
    let missing = dwarf::missing(objects).map_err(malformed)?;
    let split = split::find(file.path(), &missing)?;
    let sections: Vec<Sections<'_>> =
        split.iter().map(|one| sections_of(&one.file, true)).collect::<Result<_, _>>()?;
    let names: Vec<String> =
        split.iter().map(|one| one.file.path().display().to_string()).collect();
    let split =
        split.iter().zip(&sections).zip(&names).map(|((split, sections), name)| dwarf::Object {
            name,
            sections,
            supplement: None,
            file: Some(&split.file),
            splits: Some(dwarf::Splits { units: &split.units, is_package: split.is_package }),
        });
    let all: Vec<dwarf::Object<'_>> = objects.iter().copied().chain(split).collect();
    let (model, entries) = dwarf::parse(&all, how.keep_links, how.progress).map_err(malformed)?;
    if model.types().is_empty() {
        return Err(Error::new(format!(
            "{} has line numbers but no types; compile it with -g (Rust: debug = true)",
            file.path().display()
        )));
    }
    Ok((model, EntryLinks::Entries(entries)))
}

/// The sections of a file that has a part of a program's DWARF.
fn sections_of(file: &MappedFile, is_split: bool) -> Result<Sections<'_>, Error> {
    File::parse(file.bytes())
        .map_err(|error| Malformed::new(error.to_string()))
        .and_then(|object| Sections::load(&object, file.bytes().len(), is_split))
        .map_err(|what| Error::malformed(file.path(), &what))
}

fn library(file: &MappedFile, archive: &ArchiveFile<'_>, how: How<'_>) -> Result<ReadModel, Error> {
    let malformed = |what: Malformed| Error::malformed(file.path(), &what);
    let wrong = |error: ::object::Error| malformed(Malformed::new(error.to_string()));
    if archive.is_thin() {
        return Err(Error::new(format!(
            "{} is a thin archive, which only names its members; give those",
            file.path().display()
        )));
    }
    let mut members = Vec::new();
    let mut read = 0_usize;
    for member in archive.members() {
        let member = member.map_err(wrong)?;
        let bytes = member.data(file.bytes()).map_err(wrong)?;
        // Members that share bytes would let a small file become a large one.
        read = read.saturating_add(bytes.len());
        if read > file.bytes().len() {
            return Err(malformed(Malformed::new("its members overlap")));
        }
        // Members of other kinds, such as Rust's metadata, are no object files.
        let Ok(object) = File::parse(bytes) else { continue };
        if !self::object::has_dwarf(&object, false) {
            continue;
        }
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let sections = Sections::load(&object, bytes.len(), false)
            .map_err(|what| malformed(Malformed::new(format!("{name}: {what}"))))?;
        members.push((name, sections));
    }
    if members.is_empty() {
        return Err(no_dwarf(file.path(), "has no member with debugging information"));
    }
    let objects: Vec<dwarf::Object<'_>> = members
        .iter()
        .map(|(name, sections)| dwarf::Object {
            name,
            sections,
            supplement: None,
            file: Some(file),
            splits: None,
        })
        .collect();
    complete(file, &objects, how)
}

fn raw_btf(file: &MappedFile, options: &Options, how: How<'_>) -> Result<ReadModel, Error> {
    let path = file.path();
    let kernel = Path::new(KERNEL);
    let of_module = path.parent() == kernel.parent() && path.file_name() != kernel.file_name();
    let base = match (&options.base, of_module) {
        (Some(base), _) => Some(base.as_path()),
        (None, true) => Some(kernel),
        (None, false) => None,
    };
    btf_on(path, file.bytes(), base, how)
}

fn object_btf(
    file: &MappedFile,
    object: &File<'_>,
    options: &Options,
    how: How<'_>,
) -> Result<Option<ReadModel>, Error> {
    use ::object::Object as _;
    let malformed = |what: Malformed| Error::malformed(file.path(), &what);
    let Some(types) = self::object::btf(object, ".BTF").map_err(malformed)? else {
        return Ok(None);
    };
    // Newer kernels' modules keep a part of the kernel's types here.
    let kept = self::object::btf(object, ".BTF.base").map_err(malformed)?;
    if let (None, Some(kept)) = (&options.base, &kept) {
        return how.btf(&types, Some(kept)).map(Some).map_err(malformed);
    }
    let base = match &options.base {
        Some(base) => Some(base.as_path()),
        None if object.kind() == ObjectKind::Relocatable => Some(Path::new(KERNEL)),
        None => None,
    };
    btf_on(file.path(), &types, base, how).map(Some)
}

fn btf_on(
    path: &Path,
    bytes: &[u8],
    base: Option<&Path>,
    how: How<'_>,
) -> Result<ReadModel, Error> {
    let malformed = |what: Malformed| match base {
        None => Error::malformed(path, &what),
        Some(base) => Error::new(format!(
            "{} is malformed, or not made for the kernel of {}: {what}",
            path.display(),
            base.display()
        )),
    };
    let Some(base) = base else { return how.btf(bytes, None).map_err(malformed) };
    let file = MappedFile::open(base)?;
    if btf::is_btf(file.bytes()) {
        return how.btf(bytes, Some(file.bytes())).map_err(malformed);
    }
    let wrong = |what: Malformed| Error::malformed(base, &what);
    let object =
        File::parse(file.bytes()).map_err(|error| wrong(Malformed::new(error.to_string())))?;
    match self::object::btf(&object, ".BTF").map_err(wrong)? {
        Some(types) => how.btf(bytes, Some(&types)).map_err(malformed),
        None => Err(Error::new(format!(
            "{} has no section .BTF to build on; give the kernel that the module was made for",
            base.display()
        ))),
    }
}
