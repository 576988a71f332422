//! From a finding to a patch: each change is made in a copy of the source, built, tested and measured. The user's tree is not touched.
//!
//! ```text
//!  report ─> change ─> edits ─> build (and what the compiler asks for) ─> test ─> compare ─> record again ─> kept or withdrawn
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`session`] | tries one change after another |
//! | [`apply`] | applies a patch to the user's tree |
//! | [`edits`] | the edits that a change begins with, also for a report |
//! | `asked` | the edit that a finding's repair is |
//! | `trees` | copies of the user's tree: without and with the change |
//! | `tree` | one of them, or the user's own |
//! | `builds` | what cargo noted of builds, so that it builds what was edited |
//! | `files` | copies folders, and tells what changed |
//! | `outside` | packages outside of that tree, of which copies are edited too |
//! | `build` | builds and tests a copy |
#![cfg(unix)]

pub mod apply;
mod asked;
mod build;
mod builds;
pub mod edits;
mod files;
mod outside;
pub mod session;
mod tree;
mod trees;
