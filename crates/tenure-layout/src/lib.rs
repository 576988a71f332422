//! Finds fields that share a cache line with a contended word, and says how to mend it.
//!
//! A word that many CPUs write drags its line from cache to cache, and with it every field that happens
//! to lie beside it. Layout printers show where fields lie and leave the rest to the reader; this crate
//! knows which words are contended, looks through embedding (the victim is often in an *outer* type),
//! and orders what it finds, because nearly every struct with an atomic word has something beside it.
//!
//! The command `tenure layout` is this crate; [`tenure_types`] reads the types, and [`tenure_find`] shows what was found. As a library:
//!
//! ```
//! use tenure_find::Sharing;
//! use tenure_layout::run::{Request, run};
//! use tenure_types::read::{Input, Options};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tenure-types/tests/fixtures/btf/before.btf");
//! let request = Request {
//!     input: Input::File(path.into()), // or Input::Kernel
//!     options: Options::default(),
//!     types: vec!["rtable".to_owned()],
//!     declared_in: Vec::new(),
//!     top: 20,
//!     suggest: true,
//!     pins: Vec::new(),
//!     rules: Vec::new(),
//!     check: None,
//!     line_bytes: tenure_layout::LINE_BYTES,
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
//! | [`sharing`] | what is a finding, and its score, signal by signal |
//! | [`suggest`](mod@suggest) | a better order |
//! | [`check`](mod@check) | assertions for CI |
//! | [`rules`] | the rules file: what is known of types and members, and what is to be checked |
//! | [`knowledge`] | what is known without one |
//! | [`lines`] | members on lines |
//!
//! # Limits
//!
//! - Lines are counted from the start of a type. Where an allocator puts an object elsewhere, other
//!   members meet; each finding says at what share of the possible addresses it holds.
//! - What is known comes from types, names and rules, not from a run of the program. A score orders;
//!   it measures nothing.
//! - Arrays on the heap (`Vec`, `new T[n]`) are not seen. That their elements share lines is found only
//!   where another array of the same type is a member or a variable.

pub mod check;
pub mod knowledge;
pub mod lines;
pub mod rules;
pub mod run;
pub mod sharing;
pub mod suggest;

pub use tenure_types::Error;

/// The size of a cache line that is assumed by default.
pub const LINE_BYTES: u64 = tenure::line::LINE_BYTES as u64;
