//! A reader's result: types with their layouts, and variables with their addresses.
//!
//! [`Model`] is the common form of DWARF and BTF, C, C++ and Rust. A [`Builder`] makes it, whose
//! [`finish`](Builder::finish) guarantees:
//!
//! 1. Every [`TypeId`] in a model names a type of that model.
//! 2. No type contains itself by value, through any chain of members, elements and aliases; no chain is longer than
//!    [`MAX_NESTING`].
//! 3. The members of a composite are in the order of their offsets (as declared where those are equal).
//! 4. Every alignment is a power of two.
//!
//! It also names structs and unions without a name: by a `typedef`, or by what points to or holds them.

mod alignment;
mod builder;
mod naming;
mod types;

pub use builder::{Builder, MAX_NESTING, Malformed};
pub use types::{
    BitField, Declared, Format, Member, Model, Name, Qualifier, Scalar, Shape, Static, Type,
    TypeId, TypeKind,
};
