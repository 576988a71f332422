//! Types from a program's debugging information: members, sizes, variables, and where they are declared.
//!
//! Reads DWARF 2 to 5 and BTF, from executables, libraries, object files, archives, split files and the running kernel,
//! into one [`model`]. A Linux kernel with 14 million entries takes about a second.
//!
//! ```
//! use tenure_debuginfo::read::{Input, Options, read};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/btf/before.btf");
//! let model = read(&Input::File(path.into()), &Options::default(), &())?; // or Input::Kernel
//! let (_, route) = model.iter().find(|(_, ty)| &*ty.name == "rtable").expect("the file has it");
//! assert_eq!((route.size, route.align), (176, 8));
//! # Ok::<(), tenure_debuginfo::Error>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`read`] | readers of DWARF and BTF |
//! | [`model`] | types and variables, in one form |
//! | [`names`] | names as people say them |
//! | [`program`] | from an address of a running program to function and line, variable, type and member |
//! | [`perf`] | what `perf` has measured of a program |

pub mod error;
pub mod model;
pub mod names;
pub mod perf;
pub mod program;
pub mod read;

pub use error::Error;
