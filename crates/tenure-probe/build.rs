//! Compiles the runtime: the sources of this crate, as shared libraries of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let out = PathBuf::from(variable("OUT_DIR"));
    let has_runtime = variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && matches!(variable("CARGO_CFG_TARGET_ARCH").as_str(), "x86_64" | "aarch64");
    let compile = |line: &str| compile(&out, line);
    let file = |name| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))");
    let contents = match has_runtime.then(|| Some([compile("64")?, compile("128")?])).flatten() {
        Some([of_64, of_128]) => format!("Some([{}, {}])", file(of_64), file(of_128)),
        None => "None".to_owned(),
    };
    fs::write(out.join("libraries.rs"), contents).expect("the output directory can be written");
}

/// Has the compiler make the library for lines of that many bytes, and returns its name; `None` if it is for another
/// machine, whose linker is not here.
fn compile(out: &Path, line_bytes: &str) -> Option<String> {
    let name = format!("libtsan-{line_bytes}.so");
    let library = out.join(&name);
    let target = env::var("TARGET").expect("cargo says the target");
    let mut command = Command::new(env::var_os("RUSTC").expect("cargo says the compiler"));
    command.args([
        "src/lib.rs",
        "--crate-name=tsan",
        "--crate-type=cdylib",
        "--edition=2024",
        "--cfg=tenure_runtime",
    ]);
    command.args(["--cap-lints=allow", "--target", &target, "-o"]).arg(&library);
    command.arg(format!("--cfg=tenure_line=\"{line_bytes}\""));
    // Frame pointers: the runtime finds its callers through its own. Unwind tables: an exception may pass through.
    for option in [
        "opt-level=3",
        "panic=abort",
        "codegen-units=1",
        "force-frame-pointers=yes",
        "force-unwind-tables=yes",
        "debuginfo=0",
        "strip=symbols",
        "link-arg=-Wl,-soname,libtsan.so.2",
        // A plugin that is unloaded leaves it loaded: threads and forks call it when they end.
        "link-arg=-Wl,-z,nodelete",
        "link-arg=-lc",
    ] {
        command.args(["-C", option]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    let output = command.output().expect("the compiler starts");
    if output.status.success() {
        return Some(name);
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_ne!(
        target,
        env::var("HOST").unwrap_or_default(),
        "the runtime does not compile: {message}"
    );
    println!(
        "cargo:warning=`tenure run` will have no runtime: it cannot be linked for {target} here"
    );
    None
}
