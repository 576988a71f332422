//! Allocations of Rust programs that have an allocator of their own: a `#[global_allocator]` does not call `malloc`.
//!
//! All of them go through four functions of Rust's, such as `__rust_alloc`. The linker replaces these by functions that pass
//! the call on to the runtime. What the four are called differs between compilers. They must not be
//! inlined, for which [`super::cargo`] turns link-time optimisation off. In the crate that defines the allocator, lld replaces
//! the calls too, and GNU ld does not.

use std::path::Path;

use object::{Object, ObjectSymbol};
use tenure_debuginfo::Error;

use super::install::Installed;
use super::rustc::{Rustc, first_line, temporary};

/// Calls the four.
const CALLS: &str = include_str!("allocations/calls.rs");
/// Takes the places of the four, which are called `@alloc@` and so on here.
const PLACES: &str = include_str!("allocations/places.rs");

const FUNCTIONS: [&str; 4] = ["alloc", "alloc_zeroed", "realloc", "dealloc"];

/// Flags for a linker that has the runtime note Rust's allocations. The library is compiled once for each compiler.
pub(super) fn noted(rustc: &Rustc, installed: &Installed) -> Result<Vec<String>, Error> {
    let failed = |what: &str| {
        Error::new(format!(
            "this rustc's allocations cannot be recorded: {what}; use another toolchain"
        ))
    };
    let folder = temporary()?;
    let compile = |kind: &str, source: &str, out: &Path| {
        let out = out.display().to_string();
        let words =
            [kind, "-Copt-level=3", "-Cpanic=abort", "-Cembed-bitcode=no", "--cap-lints=allow"];
        let names = ["--edition=2021", "--crate-name=tenure_allocations", "-o", &out, "-"];
        let output = rustc.ask(&[&words[..], &["--crate-type=lib"], &names].concat(), source)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(&first_line(&output.stderr))),
        }
    };
    let calls = folder.path().join("calls.o");
    compile("--emit=obj", CALLS, &calls)?;
    let names = FUNCTIONS.map(|function| symbol(&calls, function));
    let mut places = PLACES.to_owned();
    let mut flags = Vec::new();
    for (function, name) in FUNCTIONS.iter().zip(names) {
        let name = name.ok_or_else(|| failed(&format!("it calls no __rust_{function}")))?;
        places = places.replace(&format!("@{function}@"), &name);
        flags.push(format!("-Cllvm-args=-force-attribute={name}:noinline"));
        flags.push(format!("-Clink-arg=-Wl,--wrap={name}"));
    }
    let library = installed
        .library_of(&(&rustc.version, &places), |path| compile("--emit=link", &places, path))?;
    flags.push(format!("-Clink-arg={}", library.display()));
    Ok(flags)
}

/// What an object file calls a function of Rust's allocator.
fn symbol(object: &Path, function: &str) -> Option<String> {
    let bytes = std::fs::read(object).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let mut names =
        file.symbols().filter(ObjectSymbol::is_undefined).filter_map(|it| it.name().ok());
    // `__rust_alloc`, or with its crate before it.
    names.find(|name| name.ends_with(&format!("__rust_{function}"))).map(str::to_owned)
}
