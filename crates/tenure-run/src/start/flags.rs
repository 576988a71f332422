//! The flags that have rustc instrument a program, and link it with the runtime.

use tenure_debuginfo::Error;

use super::allocations;
use super::install::Installed;
use super::rustc::{Rustc, first_line, temporary};

/// The flags for this compiler.
pub(super) fn of(rustc: &Rustc, installed: &Installed) -> Result<Vec<String>, Error> {
    let folder = temporary()?;
    let out = folder.path().join("probe.rmeta").display().to_string();
    // Compilers that know of mismatching ABIs want to have std's allowed; older ones do not know the flag.
    let mut last = String::new();
    for mut flags in [all(installed, true), all(installed, false)] {
        let mut words: Vec<_> = flags.iter().map(String::as_str).collect();
        words.extend(["--crate-type=lib", "--emit=metadata", "-o", &out, "-"]);
        let output = rustc.ask(&words, "")?;
        if output.status.success() {
            flags.extend(allocations::noted(rustc, installed)?);
            return Ok(flags);
        }
        last = first_line(&output.stderr);
    }
    Err(Error::new(format!(
        "this rustc cannot instrument memory accesses ({last}); use Rust 1.85 or later"
    )))
}

fn all(installed: &Installed, allow_mismatch: bool) -> Vec<String> {
    let mut flags = vec!["-Zsanitizer=thread".to_owned()];
    if allow_mismatch {
        flags.push("-Cunsafe-allow-abi-mismatch=sanitizer".to_owned());
    }
    flags.extend([
        "-Zexternal-clangrt".to_owned(),
        // Before the C library, so that its `malloc` and `pthread_create` are found first. Nothing that comes before it calls
        // it, so a linker that was told to leave out what is not needed, as some distributions' compilers do, would.
        "-Zpre-link-arg=-Wl,--push-state,--no-as-needed".to_owned(),
        format!("-Zpre-link-arg={}", installed.library.display()),
        "-Zpre-link-arg=-Wl,--pop-state".to_owned(),
        format!("-Clink-arg=-Wl,-rpath,{}", installed.folder.display()),
        // The runtime is a shared library.
        "-Ctarget-feature=-crt-static".to_owned(),
        "-Cforce-frame-pointers=yes".to_owned(),
        "-Cllvm-args=-tsan-instrument-func-entry-exit=0".to_owned(),
        // Without it an atomic's method is a function of its own in debug builds, and all callers are one.
        "-Zinline-mir=yes".to_owned(),
        // After the flags of every profile, so it counts for all, dependencies included.
        "-Cdebuginfo=2".to_owned(),
        "-Cstrip=none".to_owned(),
    ]);
    flags
}
