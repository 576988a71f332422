//! What a reader found: types with their layouts, and variables with their addresses.
//!
//! [`Model`] is the one form that everything after the readers works on, whether it was DWARF or BTF
//! before, C, C++ or Rust. It is made by a [`Builder`], whose [`finish`](Builder::finish) checks what
//! later steps rely on:
//!
//! 1. Every [`TypeId`] in a model names a type of that model.
//! 2. No type contains itself by value, through any chain of members, elements and aliases; no chain
//!    is longer than [`MOST_NESTING`].
//! 3. The members of a composite are in the order of their offsets (as declared where those are
//!    equal).
//! 4. Every alignment is a power of two.
//!
//! It also names structs and unions that have no name of their own: by a `typedef`, or by what points to or holds them.

mod alignment;
mod builder;
mod naming;
mod types;

pub use builder::{Builder, MOST_NESTING, Malformed};
pub use types::{
    Bits, Declared, Format, Kind, Member, Model, Name, Qualifier, Scalar, Shape, Static, Type,
    TypeId,
};
