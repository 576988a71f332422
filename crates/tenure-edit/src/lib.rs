//! Edits of the source: from a change and the place of a declaration to the bytes that are replaced.
//!
//! A parser confirms what debugging information says of the place. Everything that is not part of the change stays as it is,
//! byte for byte. What cannot be edited safely is refused, with its place and the reason.
//!
//! | module | subject |
//! |---|---|
//! | [`apply`] | edits, applied to a text |
//! | [`c`] | edits of C and C++ |
//! | [`rust`] | edits of Rust, and what the compiler asks for after them |
//! | [`SourceChange`], [`SourcePlace`], [`Refusal`] | what is asked, where, and why it is refused |

mod apply;
pub mod c;
mod change;
pub mod rust;

pub use apply::apply;
pub use change::{EditOptions, Padding, Refusal, SourceChange, SourcePlace};
