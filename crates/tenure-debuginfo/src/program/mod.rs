//! From an address of a running program to its source: function and line of code, variable, type and member of data.
//!
//! A [`Program`] is one module of a process: the executable or a library. Its addresses are those that the file has:
//! subtract the module's load bias from an address of the process. Addresses of code are *return addresses*, as call
//! stacks have them: the call is looked up one byte before.
//!
//! Everything is read when it is first asked for, in time and memory that the file's size bounds. What a file does not
//! say is `None`, not an error: without debugging information there are the names of its symbols, and in a stripped
//! file nothing.
//!
//! Not read: split DWARF (`-gsplit-dwarf`) and what `dwz` moved to another file, for functions and lines; code without
//! a range of addresses in its unit's entry.

pub mod entries;
mod hints;
pub mod image;
mod layouts;
mod lines;
mod loaded;
pub mod located;
pub mod member;
pub mod place;
mod returned;
pub mod scopes;
mod spans;
pub mod symbols;
mod typed;
pub mod types;
pub mod units;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use self::image::Image;
use self::layouts::ObjectLayout;
pub use self::layouts::is_plain;
pub use self::loaded::Loaded;
pub use self::typed::MAX_CODE;
use self::types::ProgramTypes;
use self::units::{Reader, Units};
use crate::Error;
use crate::model::{Declared, TypeId, TypeKind};
use crate::names;

/// One module of a process, and what its file says of it.
///
/// ```no_run
/// use tenure_debuginfo::program::Program;
///
/// let program = Program::open("target/debug/server".as_ref())?;
/// for frame in program.frames(0x1234) {
///     println!("{} at {}:{}", frame.function, frame.file.as_deref().unwrap_or("?"), frame.line);
/// }
/// # Ok::<(), tenure_debuginfo::Error>(())
/// ```
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    image: Image,
    units: OnceLock<Units>,
    types: OnceLock<Option<ProgramTypes>>,
}

/// A function that an address of code lies in, or that is inlined there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its name as a person says it: `Session::get`, `accept`, `Session::act::{closure}`.
    pub function: String,
    /// The source file, with the directory in which the compiler ran.
    pub file: Option<String>,
    /// The line in it, from 1; 0 if none was recorded.
    pub line: u32,
}

/// An object in memory: a variable with a fixed address, or an allocation whose type was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// A variable's name: `WORKERS`; that of a function's own variable without the function.
    pub variable: Option<String>,
    /// A variable's address.
    pub address: u64,
    /// Bytes of all of it.
    pub size: u64,
    /// The type of it or, if there are several in a row, of each: `Arc<Session>`, `WorkerState`. Empty if not known.
    pub type_name: String,
    /// Where the variable, or else the type, is declared.
    pub declared: Option<Declared>,
    /// How the type was found.
    pub evidence: TypeEvidence,
    layout: Option<ObjectLayout>,
}

/// How an object's type is known, from the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TypeEvidence {
    /// The variable's declaration.
    Declaration,
    /// The call that allocated it: a type parameter, or a variable that points to what it made.
    Allocation,
    /// A variable where it is accessed points to it.
    Access,
    /// No other type of its size has members wherever it is accessed.
    Size,
    /// There is a symbol, and no type.
    Symbol,
}

/// An allocation whose type is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllocatedBlock<'a> {
    /// Its bytes.
    pub size: u64,
    /// The return addresses of the call that made it, the innermost first.
    pub stack: &'a [u64],
    /// Bytes from one element to the next, if accesses show that it is an array. No element type contradicts it.
    pub stride: Option<u64>,
}

/// An access to an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationAccess {
    /// A return address in the accessing code.
    pub code: u64,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes accessed.
    pub size: u8,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectMember {
    /// In the object: `refs`, `data.limits`, `[3].hits`; empty for all of it. Without a type the distance: `+24`.
    pub path: String,
    /// The member's type; empty if not known.
    pub type_name: String,
    /// The index that the path begins with.
    pub element: Option<u64>,
    /// The struct or class that declares it: of an array the element, of a class's inherited member the base.
    pub declaring: Option<DeclaringType>,
}

/// A type that declares a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaringType {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub declared: Option<Declared>,
}

impl Program {
    /// Opens a module's file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a program or library.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let image = Image::open(path)?;
        let (units, types) = Default::default();
        Ok(Self { path: path.to_owned(), image, units, types })
    }

    /// The address of a function whose symbol contains this text, as compilers spell it.
    #[must_use]
    pub fn function_named(&self, part: &str) -> Option<u64> {
        self.image.symbols.function_named(part.as_bytes())
    }

    /// The functions at a return address, the innermost inlined one first; empty if none is known.
    #[must_use]
    pub fn frames(&self, return_address: u64) -> Vec<Frame> {
        let Some(address) = return_address.checked_sub(1) else { return Vec::new() };
        let reader = self.reader();
        self.frames_by_entries(&reader, address).unwrap_or_else(|| {
            let Some(symbol) = self.image.symbols.function(address) else { return Vec::new() };
            let function = names::function(&self.image.symbols.name(symbol));
            // With line tables alone, rustc writes no entries of functions that nothing is inlined into.
            let (file, line) = Self::line_of_code(&reader, address).unwrap_or_default();
            vec![Frame { function, file, line }]
        })
    }

    fn line_of_code(reader: &Reader<'_>, address: u64) -> Option<(Option<String>, u32)> {
        reader.units_at(address).take(scopes::MAX_UNITS).find_map(|which| {
            let unit = reader.unit(which)?;
            let (file, line) = reader.line(which, &unit, address)?;
            Some((lines::file(&reader.dwarf, &unit, file), line))
        })
    }

    fn frames_by_entries(&self, reader: &Reader<'_>, address: u64) -> Option<Vec<Frame>> {
        let (which, levels) = scopes::levels(reader, address)?;
        let unit = reader.unit(which)?;
        let mut place = reader.line(which, &unit, address);
        let mut frames = Vec::new();
        for level in levels.iter().rev() {
            let linkage = reader.ask(level.at, |unit, entry| {
                let name = entry
                    .get(gimli::DW_AT_linkage_name)
                    .or_else(|| entry.get(gimli::DW_AT_MIPS_linkage_name))?;
                reader.text(unit, name)
            });
            let function = match linkage.or_else(|| reader.name(level.at)) {
                Some(name) => names::function(&name),
                None => String::new(),
            };
            let file = place.and_then(|(file, _)| lines::file(&reader.dwarf, &unit, file));
            frames.push(Frame { function, file, line: place.map_or(0, |(_, line)| line) });
            place = level.called;
        }
        Some(frames)
    }

    /// The variable with a fixed address that lies at an address of data.
    #[must_use]
    pub fn variable(&self, address: u64) -> Option<Object> {
        let symbol = self.image.symbols.variable(address);
        if let Some(types) = self.types()
            && let Some(found) = types.variable(address)
        {
            let model = &types.model;
            let mut ty = model.resolved(found.ty);
            let (size, mut stride) = (model[ty].size, None);
            if let TypeKind::Array { element, .. } = model[ty].kind {
                (ty, stride) = (element, Some(model[element].size));
            }
            return Some(Object {
                variable: Some(names::variable(&found.name)),
                address: found.address,
                size,
                type_name: names::type_name(&model.spelled(found.ty)),
                declared: found.declared.clone(),
                evidence: TypeEvidence::Declaration,
                layout: Some(
                    stride.map_or(ObjectLayout::whole(ty), |stride| ObjectLayout::row(ty, stride)),
                ),
            });
        }
        let symbol = symbol?;
        Some(Object {
            variable: Some(names::variable(&names::demangled(&self.image.symbols.name(symbol)))),
            address: symbol.address,
            size: symbol.size,
            type_name: String::new(),
            declared: None,
            evidence: TypeEvidence::Symbol,
            layout: None,
        })
    }

    /// The type of an allocation, by what accesses it, the call that made it, and what code is known to point to:
    /// the offset in the allocation of an access, the type of what it points to, and the offset in that.
    #[must_use]
    pub fn allocation(
        &self,
        accesses: &[AllocationAccess],
        pointed: &[(u64, TypeId, u64)],
        block: &AllocatedBlock<'_>,
    ) -> Option<Object> {
        let types = self.types()?;
        let (layout, evidence) = typed::find(&self.reader(), types, accesses, pointed, block)?;
        Some(self.object_of(types, layout, block.size, evidence))
    }

    /// An object of a type, which an instruction accesses.
    #[must_use]
    pub fn accessed(&self, types: &ProgramTypes, ty: TypeId) -> Object {
        self.object_of(types, ObjectLayout::whole(ty), types.model[ty].size, TypeEvidence::Access)
    }

    /// So many of an object's type in a row.
    #[must_use]
    pub fn row(&self, object: &Object, count: u64) -> Object {
        let stride = object.size;
        let layout = object.layout.map(|layout| ObjectLayout::row(layout.ty, stride));
        Object { size: stride.saturating_mul(count), layout, ..object.clone() }
    }

    fn object_of(
        &self,
        types: &ProgramTypes,
        layout: ObjectLayout,
        size: u64,
        evidence: TypeEvidence,
    ) -> Object {
        let model = &types.model;
        Object {
            variable: None,
            address: 0,
            size,
            type_name: names::type_name(&model.spelled(layout.ty)),
            declared: model[layout.ty].declared.clone(),
            evidence,
            layout: Some(layout),
        }
    }

    /// Where the first element of an object lies, and the bytes from one to the next: `None` if it is no array, nor a type
    /// with nothing but one.
    #[must_use]
    pub fn elements(&self, object: &Object) -> Option<(u64, u64)> {
        let layout = object.layout?;
        let model = &self.types()?.model;
        match layout.stride {
            Some(stride) => Some((layout.start, stride)),
            None => {
                let (start, element) = member::array(model, layout.ty)?;
                Some((layout.start + start, model[element].size))
            }
        }
        .filter(|(_, stride)| *stride > 0)
    }

    /// The member that `size` bytes at an offset of an object lie in.
    #[must_use]
    pub fn member(&self, object: &Object, offset: u64, size: u64) -> ObjectMember {
        self.typed_member(object, offset, size).unwrap_or_else(|| ObjectMember {
            path: format!("+{offset}"),
            type_name: String::new(),
            element: None,
            declaring: None,
        })
    }

    fn typed_member(&self, object: &Object, offset: u64, size: u64) -> Option<ObjectMember> {
        let types = self.types()?;
        let layout = object.layout?;
        let inner = offset.checked_sub(layout.start)?;
        if layout.end.is_some_and(|end| offset >= end) {
            return None;
        }
        let (element, inner) = match layout.stride {
            Some(stride) => (Some(inner.checked_div(stride)?), inner % stride),
            None => (None, inner),
        };
        let found = member::member(&types.model, layout.ty, inner, size)?;
        let path = match element {
            None => found.path,
            Some(element) if found.path.is_empty() || found.path.starts_with('[') => {
                format!("[{element}]{}", found.path)
            }
            Some(element) => format!("[{element}].{}", found.path),
        };
        // A struct around an array, such as one that is aligned.
        let element = element.or_else(|| path.strip_prefix('[')?.split_once(']')?.0.parse().ok());
        let type_name = names::type_name(&types.model.spelled(found.ty));
        let declaring = member::declaring(&types.model, layout.ty, inner);
        let ty = &types.model[declaring];
        let declaring = matches!(ty.kind, TypeKind::Composite { .. }).then(|| DeclaringType {
            name: names::type_name(&types.model.spelled(declaring)),
            declared: ty.declared.clone(),
        });
        Some(ObjectMember { path, type_name, element, declaring })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the entries of its debugging information.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(&self.image, self.units.get_or_init(|| Units::of(&self.image)))
    }

    /// Its types; `None` where the file has none.
    #[must_use]
    pub fn types(&self) -> Option<&ProgramTypes> {
        self.types.get_or_init(|| ProgramTypes::read(&self.path)).as_ref()
    }
}
