//! Reading BTF, the kernel's BPF Type Format: `/sys/kernel/btf/vmlinux`, and the section `.BTF` of kernel modules and
//! BPF objects.
//!
//! From the kernel's documentation (`Documentation/bpf/btf.rst`).
//!
//! # The format
//!
//! ```text
//! ┌────────┬─────────────────────────────┬──────────────────────┬─────────┐
//! │ header │ types: 12 bytes each, and   │ strings, each ended  │ layout  │
//! │        │ what their kind adds        │ by a zero byte       │ (newer) │
//! └────────┴─────────────────────────────┴──────────────────────┴─────────┘
//! ```
//!
//! Types are numbered from 1; 0 is `void`. A name is an offset into the strings. The 12 bytes are the name, a word with
//! the kind, a flag and a count, and a size or another type's id. *Split* BTF, such as a module's, continues the type
//! ids and string offsets of its base (the kernel's). The magic number shows the byte order.
//!
//! | kind | | adds | in the model |
//! |---|---|---|---|
//! | 1 | `INT` | encoding | [`Scalar`](crate::model::Scalar) |
//! | 2 | `PTR` | | [`Pointer`](crate::model::TypeKind::Pointer) of the size of the file's `long`, or 8 bytes |
//! | 3 | `ARRAY` | element, index, count | [`Array`](crate::model::TypeKind::Array) |
//! | 4, 5 | `STRUCT`, `UNION` | members | [`Composite`](crate::model::TypeKind::Composite) |
//! | 6, 19 | `ENUM`, `ENUM64` | values | [`Enumeration`](crate::model::Scalar::Enumeration); the values are not read |
//! | 7 | `FWD` | | [`Opaque`](crate::model::TypeKind::Opaque) |
//! | 8 | `TYPEDEF` | | [`Alias`](crate::model::TypeKind::Alias) |
//! | 9, 10, 11 | `VOLATILE`, `CONST`, `RESTRICT` | | [`Qualified`](crate::model::TypeKind::Qualified) |
//! | 12, 13 | `FUNC`, `FUNC_PROTO` | parameters | one [`Function`](crate::model::TypeKind::Function) for all |
//! | 14 | `VAR` | linkage | no type; the variable of a section |
//! | 15 | `DATASEC` | variables | no type; a [`Static`](crate::model::Static) for each variable |
//! | 16 | `FLOAT` | | [`Scalar`](crate::model::Scalar) |
//! | 17 | `DECL_TAG` | member | no type; a member's [tag](crate::model::Member::tags) |
//! | 18 | `TYPE_TAG` | | [`Qualified`](crate::model::TypeKind::Qualified) |
//!
//! A bit field has one of two forms. With the struct's flag set, a member's word holds its offset and width in bits.
//! Otherwise it holds the offset, and the width is that of the `INT` under the member's type, which may add an offset.
//! The model counts bits as the file does: on big-endian machines from the most significant.
//!
//! # What is left out
//!
//! - Variables in sections whose name contains `percpu`: each CPU has its own copy elsewhere.
//! - `extern` variables, and sections without a size: linking decides their addresses.
//! - Since Linux 6.11 a module may bring a *distilled* base in the section `.BTF.base`. It works as the base; the
//!   structs in it have sizes and no members.
//!
//! # What is refused
//!
//! References out of bounds, in one line that names the type: sections, names and ids, strings without an end, members
//! beyond their struct, a value of a variable or a tag, whatever [`Builder::finish`](crate::model::Builder::finish)
//! refuses, and kinds above 19 unless the layout section of Linux 7.1 says how to skip them. Values of enumerations are not
//! read, so not checked. Parameters are read for the code alone; a function whose parameters cannot be read is left out.
//!
//! Memory stays within a small multiple of the input: counts are checked against the bytes that are there, and names
//! that overlap add up to at most a few times the strings.

mod convert;
mod header;
mod index;
mod names;
mod prototypes;
mod record;

use crate::model::{Malformed, Model};

pub use header::is_btf;
pub use prototypes::Prototype;

/// Reads BTF; `base` is what a split one builds on, and its types come first in the model.
///
/// Types that occur twice, in one file or both, stay two types.
///
/// # Errors
///
/// Malformed bytes: see the [module](self). The line names types by their BTF ids, as `bpftool btf dump`.
///
/// ```no_run
/// let bytes = std::fs::read("/sys/kernel/btf/vmlinux").unwrap();
/// let model = tenure_debuginfo::read::btf::parse(&bytes, None)?;
/// println!("{} types", model.types().len());
/// # Ok::<(), tenure_debuginfo::model::Malformed>(())
/// ```
pub fn parse(bytes: &[u8], base: Option<&[u8]>) -> Result<Model, Malformed> {
    parse_with(bytes, base, false).map(|(model, _)| model)
}

/// The same, and the prototypes of functions if they are wanted.
pub(crate) fn parse_with(
    bytes: &[u8],
    base: Option<&[u8]>,
    with_prototypes: bool,
) -> Result<(Model, Vec<Prototype>), Malformed> {
    let base = base
        .map(|bytes| header::Sections::of(bytes)?.whole())
        .transpose()
        .map_err(|error| Malformed::new(format!("its base: {error}")))?;
    let own = header::Sections::of(bytes)?;
    let own = if base.is_some() { own } else { own.whole()? };
    convert::model(&index::Index::of(base, own)?, with_prototypes)
}
