//! Finds fields that share a cache line with a contended word, and proposes repairs.
//!
//! A word that many CPUs write drags its line from cache to cache, and with it all fields beside it. This crate knows
//! which words are contended, sees through embedding (the victim is often in an *outer* type), and ranks its findings,
//! because nearly every struct with an atomic word has something beside it.
//!
//! The command `tenure layout` shows what it finds; [`tenure_debuginfo`] reads the types. As a library:
//!
//! ```
//! use tenure_model::Sharing;
//! use tenure_layout::run::{LayoutRequest, run};
//! use tenure_debuginfo::read::Input;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure-debuginfo/tests/fixtures/btf/before.btf");
//! let request = LayoutRequest {
//!     input: Input::File(path.into()), // or Input::Kernel
//!     types: vec!["rtable".to_owned()],
//!     suggest: true,
//!     ..LayoutRequest::default()
//! };
//! let (_model, report) = run(&request, &())?;
//!
//! let worst = &report.findings[0];
//! assert_eq!(worst.contended.path, "dst.__refcnt");
//! assert_eq!(worst.victims[0].path, "rt_genid");
//! assert!(matches!(&worst.sharing, Sharing::Embedding { inner, .. } if inner == "dst_entry"));
//! // The proposed order costs nothing.
//! assert_eq!(report.suggestions[0].after.size, report.suggestions[0].before.size);
//! # Ok::<(), tenure_layout::Error>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`run`](mod@run) | from a request to a report: start here |
//! | [`sharing`] | findings and their scores, signal by signal |
//! | `suggest` | a better layout, and what keeps elements and variables apart |
//! | `check` | assertions for CI |
//! | `evidence` | what the program's code does to members, and what follows |
//! | [`rules`] | the rules file: knowledge of types and members, and checks |
//! | `knowledge` | the built-in knowledge |
//! | `lines` | members on lines |
//!
//! # Limits
//!
//! - Lines are counted from the start of a type. Elsewhere other members meet; each finding says at what share of the
//!   possible addresses it holds.
//! - Without a recording of perf, types, names, code and rules are all that is known. A score ranks, it measures nothing.
//! - Arrays on the heap (`Vec`, `new T[n]`) are found if the code picks their elements by a variable, or if a member or
//!   variable is an array of the same type.

mod asked;
mod check;
mod evidence;
#[cfg(test)]
mod fixtures;
mod knowledge;
mod lines;
mod listed;
mod measured;
mod origin;
pub mod rules;
pub mod run;
pub mod sharing;
mod suggest;
#[cfg(test)]
mod tests;

pub use tenure_debuginfo::Error;

/// Bytes of a cache line, unless the user says otherwise: those of x86-64, and of all AArch64 but Apple's.
pub const LINE_BYTES: u64 = 64;
