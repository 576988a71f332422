//! Asks the compiler that cargo calls.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tenure_debuginfo::Error;

pub(super) struct Rustc {
    program: OsString,
    /// `+nightly`.
    toolchain: Option<OsString>,
    pub(super) host: String,
    /// All that `rustc -vV` says.
    pub(super) version: String,
}

impl Rustc {
    pub(super) fn new(toolchain: Option<&OsStr>) -> Result<Self, Error> {
        let named = std::env::var_os("RUSTC");
        let mut rustc = Self {
            // Only rustup's proxy knows toolchains, and RUSTC names another program.
            toolchain: toolchain.filter(|_| named.is_none()).map(OsStr::to_owned),
            program: named.unwrap_or_else(|| "rustc".into()),
            host: String::new(),
            version: String::new(),
        };
        let output = rustc.ask(&["-vV"], "")?;
        rustc.version = String::from_utf8_lossy(&output.stdout).into_owned();
        let host = rustc.version.lines().find_map(|line| line.strip_prefix("host: "));
        let said = || first_line(&output.stderr);
        rustc.host = host.map(str::to_owned).ok_or_else(|| {
            Error::new(format!("rustc does not name its host: {}; see `rustc -vV`", said()))
        })?;
        Ok(rustc)
    }

    /// Runs it with these words, and a source as its input.
    pub(super) fn ask(&self, words: &[&str], source: &str) -> Result<Output, Error> {
        let mut command = Command::new(&self.program);
        command.args(&self.toolchain).args(words).env("RUSTC_BOOTSTRAP", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = || {
            let mut child = command.spawn()?;
            // A compiler that does not want it closes the pipe, and says why.
            let _ = child.stdin.take().map(|mut input| input.write_all(source.as_bytes()));
            child.wait_with_output()
        };
        run().map_err(|error| {
            let rustc = self.program.display();
            Error::new(format!("cannot run {rustc}: {error}; install Rust from https://rustup.rs"))
        })
    }

    /// Refuses to compile std where its source is not installed: cargo's own message is of many lines.
    pub(super) fn check_source(&self) -> Result<(), Error> {
        let output = self.ask(&["--print", "sysroot"], "")?;
        let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        if sysroot.join("lib/rustlib/src/rust/library/std").is_dir() {
            return Ok(());
        }
        let toolchain = self.toolchain.as_deref().and_then(OsStr::to_str);
        let toolchain = toolchain.map(|it| format!(" --toolchain {}", &it[1..]));
        Err(Error::new(format!(
            "--build-std needs std's source, which is not in {}; install it: `rustup component add rust-src{}`",
            sysroot.display(),
            toolchain.unwrap_or_default()
        )))
    }
}

/// A directory for what the compiler is asked to make.
pub(super) fn temporary() -> Result<tempfile::TempDir, Error> {
    tempfile::tempdir().map_err(|error| {
        Error::new(format!(
            "cannot make a temporary directory: {error}; set TMPDIR to another directory"
        ))
    })
}

pub(super) fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or("it says nothing").to_owned()
}
