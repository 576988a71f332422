//! Edits of the source: from a change and the place of a declaration to the bytes that are replaced.
//!
//! A parser confirms what debugging information says of the place. Everything that is not part of the change stays as it is,
//! byte for byte. What cannot be edited safely is refused, with its place and the reason.
//!
//! | module | subject |
//! |---|---|
//! | [`c`] | edits of C and C++ |
//! | [`SourceChange`], [`SourcePlace`], [`Refusal`] | what is asked, where, and why it is refused |

pub mod c;
mod change;

pub use change::{EditOptions, Padding, Refusal, SourceChange, SourcePlace};
