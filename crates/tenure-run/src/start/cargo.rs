//! A program that cargo builds: flags that have rustc instrument it, in a target directory of its own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tenure_types::Error;

use super::install::Installed;

/// The words of a call of cargo.
#[derive(Debug, PartialEq)]
struct Call<'a> {
    cargo: &'a OsStr,
    /// `+nightly`.
    toolchain: Option<&'a OsStr>,
    /// What cargo itself reads: up to `--`.
    options: &'a [OsString],
    /// All behind the toolchain.
    rest: &'a [OsString],
}

impl<'a> Call<'a> {
    fn parse(words: &'a [OsString]) -> Option<Self> {
        let (cargo, rest) = words.split_first()?;
        if Path::new(cargo).file_name()? != "cargo" {
            return None;
        }
        let is_toolchain = |word: &OsStr| word.as_encoded_bytes().starts_with(b"+");
        let (toolchain, rest) = match rest.split_first() {
            Some((word, rest)) if is_toolchain(word) => (Some(word.as_os_str()), rest),
            _ => (None, rest),
        };
        let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
        Some(Self { cargo, toolchain, options: &rest[..end], rest })
    }

    /// The value of `--name VALUE` or `--name=VALUE`.
    fn option(&self, name: &str) -> Option<OsString> {
        let mut words = self.options.iter();
        while let Some(word) = words.next() {
            if word == name {
                return words.next().cloned();
            }
            let value = word.to_str().and_then(|word| word.strip_prefix(name)?.strip_prefix('='));
            if let Some(value) = value {
                return Some(value.into());
            }
        }
        None
    }

    /// Cargo, to be asked something.
    fn ask(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.cargo);
        command.args(self.toolchain).args(words).stdin(Stdio::null());
        command
    }
}

/// The call with all that instruments, and what it does in a line; `None` for a command that is not cargo.
pub(crate) fn prepare(
    words: &[OsString],
    build_std: bool,
    installed: &Installed,
) -> Option<Result<(Command, String), Error>> {
    Call::parse(words).map(|call| instrumented(&call, build_std, installed))
}

fn instrumented(
    call: &Call<'_>,
    build_std: bool,
    installed: &Installed,
) -> Result<(Command, String), Error> {
    let compiler = Compiler::of(call, installed)?;
    let mut command = Command::new(call.cargo);
    command.args(call.toolchain);
    if build_std {
        check_source(call)?;
        // With both ways to panic: the profile chooses.
        command.arg("-Zbuild-std=std,panic_abort");
    }
    for (flags, encoded, plain) in [
        ("rustflags", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS"),
        ("rustdocflags", "CARGO_ENCODED_RUSTDOCFLAGS", "RUSTDOCFLAGS"),
    ] {
        match appended(std::env::var_os(encoded), std::env::var_os(plain), &compiler.flags) {
            Some(all) => {
                command.env(encoded, all);
            }
            // Cargo joins arrays, so this is behind what its configuration files have.
            None => {
                let table = match compiler.configured_by_target && flags == "rustflags" {
                    true => format!("target.{}", compiler.host),
                    false => "build".to_owned(),
                };
                command.arg("--config").arg(format!("{table}.{flags}={}", array(&compiler.flags)?));
            }
        }
    }
    command.args(call.rest).env("RUSTC_BOOTSTRAP", "1");
    // With a target, even if it is the host, build scripts and procedural macros do not get the flags.
    if call.option("--target").is_none() {
        command.env("CARGO_BUILD_TARGET", &compiler.host);
    }
    let folder = match call.option("--target-dir") {
        Some(folder) => PathBuf::from(folder),
        None => target(call).unwrap_or_else(|| "target".into()).join("tenure-run"),
    };
    command.env("CARGO_TARGET_DIR", &folder);
    let about = format!(
        "cargo builds with memory accesses instrumented, in {}; std itself is {}",
        folder.display(),
        if build_std { "too" } else { "not" }
    );
    Ok((command, about))
}

/// The flags that a user has in the environment with ours behind them; `None` if there are none.
fn appended(
    encoded: Option<OsString>,
    plain: Option<OsString>,
    ours: &[String],
) -> Option<OsString> {
    const SEPARATOR: &str = "\u{1f}";
    let mut all = match (encoded, plain) {
        (Some(encoded), _) => encoded,
        (None, Some(plain)) => {
            let plain = plain.to_string_lossy();
            plain.split_whitespace().collect::<Vec<_>>().join(SEPARATOR).into()
        }
        (None, None) => return None,
    };
    for flag in ours {
        if !all.is_empty() {
            all.push(SEPARATOR);
        }
        all.push(flag);
    }
    Some(all)
}

/// An array of TOML. A string of JSON is one of TOML.
fn array(flags: &[String]) -> Result<String, Error> {
    serde_json::to_string(flags).map_err(|error| Error::new(error.to_string()))
}

/// Cargo's target directory; `None` if it does not say, as outside of a package.
fn target(call: &Call<'_>) -> Option<PathBuf> {
    let mut command = call.ask(&["metadata", "--no-deps", "--format-version", "1"]);
    if let Some(manifest) = call.option("--manifest-path") {
        command.arg("--manifest-path").arg(manifest);
    }
    let output = command.stderr(Stdio::null()).output().ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(metadata["target_directory"].as_str()?.into())
}

/// What is to be known of rustc.
struct Compiler {
    host: String,
    flags: Vec<String>,
    /// Whether cargo's configuration has flags for a target: then it ignores those for all.
    configured_by_target: bool,
}

impl Compiler {
    fn of(call: &Call<'_>, installed: &Installed) -> Result<Self, Error> {
        let version = ask_rustc(call, &["-vV"])?;
        let text = String::from_utf8_lossy(&version.stdout);
        let Some(host) = text.lines().find_map(|line| line.strip_prefix("host: ")) else {
            let said = first_line(&version.stderr);
            return Err(Error::new(format!(
                "rustc does not name its host: {said}; see `rustc -vV`"
            )));
        };
        let flags = |mismatch: bool| flags(installed, mismatch);
        // Compilers that know of mismatching ABIs want to have std's allowed; older ones do not know the flag.
        let mut last = String::new();
        for flags in [flags(true), flags(false)] {
            let folder = tempfile::tempdir()
                .map_err(|error| Error::new(format!("cannot make a directory: {error}")))?;
            let out = folder.path().join("probe.rmeta").display().to_string();
            let mut words: Vec<_> = flags.iter().map(String::as_str).collect();
            words.extend(["--crate-type=lib", "--emit=metadata", "-o", &out, "-"]);
            let output = ask_rustc(call, &words)?;
            if output.status.success() {
                return Ok(Self {
                    host: host.to_owned(),
                    flags,
                    configured_by_target: configured_by_target(call, host),
                });
            }
            last = first_line(&output.stderr);
        }
        Err(Error::new(format!(
            "this rustc cannot instrument memory accesses ({last}); use 1.85 or later"
        )))
    }
}

fn ask_rustc(call: &Call<'_>, words: &[&str]) -> Result<Output, Error> {
    let named = std::env::var_os("RUSTC");
    let rustc = named.clone().unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(&rustc);
    // Only rustup's proxy knows toolchains, and RUSTC names another program.
    if named.is_none() {
        command.args(call.toolchain);
    }
    command.args(words).env("RUSTC_BOOTSTRAP", "1").stdin(Stdio::null()).output().map_err(|error| {
        let rustc = rustc.display();
        Error::new(format!("cannot run {rustc}: {error}; install Rust from https://rustup.rs"))
    })
}

/// Refuses to compile std where its source is not installed: cargo's own message is of many lines.
fn check_source(call: &Call<'_>) -> Result<(), Error> {
    let output = ask_rustc(call, &["--print", "sysroot"])?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if sysroot.join("lib/rustlib/src/rust/library/std").is_dir() {
        return Ok(());
    }
    let toolchain =
        call.toolchain.and_then(OsStr::to_str).map(|it| format!(" --toolchain {}", &it[1..]));
    Err(Error::new(format!(
        "--build-std needs std's source, which is not in {}; install it: `rustup component add rust-src{}`",
        sysroot.display(),
        toolchain.unwrap_or_default()
    )))
}

fn flags(installed: &Installed, allow_mismatch: bool) -> Vec<String> {
    let mut flags = vec!["-Zsanitizer=thread".to_owned()];
    if allow_mismatch {
        flags.push("-Cunsafe-allow-abi-mismatch=sanitizer".to_owned());
    }
    flags.extend([
        "-Zexternal-clangrt".to_owned(),
        // Before the C library, so that its `malloc` and `pthread_create` are found first.
        format!("-Zpre-link-arg={}", installed.library.display()),
        format!("-Clink-arg=-Wl,-rpath,{}", installed.folder.display()),
        "-Cforce-frame-pointers=yes".to_owned(),
        "-Cllvm-args=-tsan-instrument-func-entry-exit=0".to_owned(),
        // Without it an atomic's method is a function of its own in debug builds, and all callers are one.
        "-Zinline-mir=yes".to_owned(),
        // Behind the flags of every profile, so it counts for all, dependencies included.
        "-Cdebuginfo=2".to_owned(),
        "-Cstrip=none".to_owned(),
    ]);
    flags
}

fn configured_by_target(call: &Call<'_>, host: &str) -> bool {
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", host.to_uppercase().replace('-', "_"));
    if std::env::var_os(variable).is_some() {
        return true;
    }
    let mut command = call.ask(&["-Zunstable-options", "config", "get", "--format", "json"]);
    let output = command.env("RUSTC_BOOTSTRAP", "1").stderr(Stdio::null()).output();
    let read = |output: Output| serde_json::from_slice(&output.stdout).ok();
    let Some::<serde_json::Value>(all) = output.ok().and_then(read) else { return false };
    let tables = all["target"].as_object();
    tables.is_some_and(|tables| tables.values().any(|table| table.get("rustflags").is_some()))
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next().unwrap_or("it says nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn only_cargo_is_a_call_of_cargo() {
        for other in ["", "./server cargo", "cargo-nextest run", "rustc"] {
            assert_eq!(Call::parse(&words(other)), None, "{other}");
        }
        let all = words("/usr/bin/cargo +nightly bench --bench refs -- --quick");
        let call = Call::parse(&all).unwrap();
        assert_eq!(call.toolchain.unwrap(), "+nightly");
        assert_eq!(call.options, words("bench --bench refs"));
        assert_eq!(call.rest, words("bench --bench refs -- --quick"));
    }

    #[test]
    fn options_of_cargo_end_where_those_of_the_program_begin() {
        for (text, value) in [
            ("cargo run --target-dir here", Some("here")),
            ("cargo run --target-dir=here", Some("here")),
            ("cargo run --target-dir-name=here", None),
            ("cargo run -- --target-dir here", None),
            ("cargo run --target-dir", None),
        ] {
            let all = words(text);
            let found = Call::parse(&all).unwrap().option("--target-dir");
            assert_eq!(found, value.map(OsString::from), "{text}");
        }
    }

    #[test]
    fn flags_of_the_user_stay_before_ours() {
        let ours = ["-Zours".to_owned(), "-Cours=a b".to_owned()];
        let of = |encoded: Option<&str>, plain: Option<&str>| {
            appended(encoded.map(Into::into), plain.map(Into::into), &ours)
        };
        assert_eq!(of(None, None), None);
        assert_eq!(of(None, Some(" -a  -b ")).unwrap(), "-a\u{1f}-b\u{1f}-Zours\u{1f}-Cours=a b");
        // As cargo: the encoded form alone counts.
        assert_eq!(of(Some("-a b"), Some("-c")).unwrap(), "-a b\u{1f}-Zours\u{1f}-Cours=a b");
        assert_eq!(of(None, Some("")).unwrap(), "-Zours\u{1f}-Cours=a b");
    }
}
