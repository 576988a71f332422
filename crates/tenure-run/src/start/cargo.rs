//! A program that cargo builds: flags that have rustc instrument it, in a target directory of its own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use cargo_platform::{Cfg, CfgExpr};
use tenure_debuginfo::Error;

use super::flags;
use super::install::Installed;
use super::rustc::Rustc;

/// The words of a call of cargo.
#[derive(Debug, PartialEq)]
struct CargoCall<'a> {
    cargo: &'a OsStr,
    /// `+nightly`.
    toolchain: Option<&'a OsStr>,
    /// What cargo itself reads: up to `--`.
    options: &'a [OsString],
    /// All words after the toolchain.
    rest: &'a [OsString],
}

impl<'a> CargoCall<'a> {
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

    /// The options that say where cargo finds its configuration.
    fn configuration(&self) -> Vec<&OsStr> {
        let mut found = Vec::new();
        let mut words = self.options.iter();
        while let Some(word) = words.next() {
            if word == "--config" || word == "-C" {
                found.push(word.as_os_str());
                found.extend(words.next().map(OsString::as_os_str));
            } else if word.as_encoded_bytes().starts_with(b"--config=") {
                found.push(word);
            }
        }
        found
    }

    /// Cargo, to be asked something.
    fn ask(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.cargo);
        // `-C` and `config` are unstable.
        command.args(self.toolchain).arg("-Zunstable-options").args(self.configuration());
        command.args(words).env("RUSTC_BOOTSTRAP", "1").stdin(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// The call with all that instruments, and what it does in a line; `None` for a command that is not cargo.
pub(crate) fn prepare(
    words: &[OsString],
    build_std: bool,
    installed: &Installed,
) -> Option<Result<(Command, String), Error>> {
    CargoCall::parse(words).map(|call| instrumented(&call, build_std, installed))
}

fn instrumented(
    call: &CargoCall<'_>,
    build_std: bool,
    installed: &Installed,
) -> Result<(Command, String), Error> {
    let rustc = Rustc::new(call.toolchain)?;
    check_target(call, &rustc.host)?;
    let flags = flags::of(&rustc, installed)?;
    let mut command = Command::new(call.cargo);
    command.args(call.toolchain).args(call.rest).env("RUSTC_BOOTSTRAP", "1");
    // All by the environment: commands that are programs of their own, such as `cargo nextest`, call cargo again.
    if build_std {
        rustc.check_source()?;
        // With both ways to panic: the profile chooses.
        command.env("CARGO_UNSTABLE_BUILD_STD", "std panic_abort");
    }
    let configured = configured(call).unwrap_or_default();
    let facts = rustc.ask(&["--print", "cfg"], "")?.stdout;
    for flags_of in ["RUSTFLAGS", "RUSTDOCFLAGS"] {
        let get = |name: &str| std::env::var_os(name);
        let by_target = variable_of_target(flags_of, &rustc.host);
        let is_by_target = get(&by_target).is_some()
            || has_flags(&configured["target"], flags_of, &rustc.host, &facts);
        let (name, value) = variable(flags_of, is_by_target.then_some(by_target), &flags, get)?;
        command.env(name, value);
    }
    // With a target, even if it is the host, build scripts and procedural macros do not get the flags.
    if call.option("--target").is_none() {
        command.env("CARGO_BUILD_TARGET", &rustc.host);
    }
    // It would inline the allocator's functions, whose calls are recorded.
    for profile in ["release".into(), "bench".into()].into_iter().chain(call.option("--profile")) {
        let profile = profile.to_string_lossy().to_uppercase().replace('-', "_");
        command.env(format!("CARGO_PROFILE_{profile}_LTO"), "false");
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

/// Refuses targets that the runtime is not for, in one line: rustc's own words are of other things.
fn check_target(call: &CargoCall<'_>, host: &str) -> Result<(), Error> {
    if host.contains("musl") {
        return Err(Error::new(format!(
            "programs for musl cannot be recorded, and this rustc is for {host}: use a toolchain for glibc"
        )));
    }
    match call.option("--target") {
        Some(target) if target != *host => Err(Error::new(format!(
            "programs for {} cannot be recorded: leave out --target, or name {host}",
            target.display()
        ))),
        _ => Ok(()),
    }
}

/// The environment variable that gives cargo our flags after those of the user, and its value. `by_target` is the variable of
/// the target, if the user has flags for that: then cargo ignores those for all.
fn variable(
    flags_of: &str,
    by_target: Option<String>,
    ours: &[String],
    get: impl Fn(&str) -> Option<OsString>,
) -> Result<(String, OsString), Error> {
    let (encoded, plain) = (format!("CARGO_ENCODED_{flags_of}"), flags_of.to_owned());
    if let Some(all) = appended(get(&encoded), get(&plain), ours) {
        return Ok((encoded, all));
    }
    // Cargo puts these after what its configuration files have, and splits them at spaces.
    if let Some(flag) = ours.iter().find(|flag| flag.contains(char::is_whitespace)) {
        return Err(Error::new(format!(
            "cargo cannot take the flag {flag:?}, because it has a space: set XDG_CACHE_HOME to a directory whose path has \
             none"
        )));
    }
    let name = by_target.unwrap_or_else(|| format!("CARGO_BUILD_{flags_of}"));
    let mut value = get(&name).unwrap_or_default();
    for flag in ours {
        value.push(" ");
        value.push(flag);
    }
    Ok((name, value))
}

/// The flags that a user has in the environment with ours after them; `None` if there are none.
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

/// Cargo's target directory; `None` if it does not say, as outside of a package.
fn target(call: &CargoCall<'_>) -> Option<PathBuf> {
    let mut command = call.ask(&["metadata", "--no-deps", "--format-version", "1"]);
    if let Some(manifest) = call.option("--manifest-path") {
        command.arg("--manifest-path").arg(manifest);
    }
    let output = command.output().ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(metadata["target_directory"].as_str()?.into())
}

fn variable_of_target(flags_of: &str, target: &str) -> String {
    format!("CARGO_TARGET_{}_{flags_of}", target.to_uppercase().replace('-', "_"))
}

/// Cargo's configuration, from files and the call's options; `None` if it does not say.
fn configured(call: &CargoCall<'_>) -> Option<serde_json::Value> {
    let output = call.ask(&["config", "get", "--format", "json"]).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Whether one of these tables has flags for the target, of which rustc says these facts.
fn has_flags(tables: &serde_json::Value, flags_of: &str, target: &str, facts: &[u8]) -> bool {
    let facts = String::from_utf8_lossy(facts);
    let facts: Vec<Cfg> = facts.lines().filter_map(|line| Cfg::from_str(line).ok()).collect();
    let is_for_target = |key: &str| {
        // As cargo, which takes no flags of rustdoc from a table of `cfg`.
        key == target || flags_of == "RUSTFLAGS" && CfgExpr::matches_key(key, &facts)
    };
    let has = |table: &serde_json::Value| {
        let flags = &table[flags_of.to_lowercase().as_str()];
        flags.as_array().is_some_and(|flags| !flags.is_empty())
            || flags.as_str().is_some_and(|flags| !flags.trim().is_empty())
    };
    let mut tables = tables.as_object().into_iter().flatten();
    tables.any(|(key, table)| is_for_target(key) && has(table))
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
            assert_eq!(CargoCall::parse(&words(other)), None, "{other}");
        }
        let all = words("/usr/bin/cargo +nightly bench --bench refs -- --quick");
        let call = CargoCall::parse(&all).unwrap();
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
            let found = CargoCall::parse(&all).unwrap().option("--target-dir");
            assert_eq!(found, value.map(OsString::from), "{text}");
        }
    }

    #[test]
    fn what_cargo_is_asked_is_of_the_same_configuration() {
        let all = words("cargo -C there --config a=1 run --config=b=2 -- --config c=3");
        assert_eq!(
            CargoCall::parse(&all).unwrap().configuration(),
            ["-C", "there", "--config", "a=1", "--config=b=2"]
        );
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there");
        std::fs::create_dir_all(there.join(".cargo")).unwrap();
        std::fs::write(there.join(".cargo/config.toml"), "[target.a]\nrustflags = [\"-x\"]\n")
            .unwrap();
        let mut all = words("cargo -C there --config target.b.rustdocflags=['-y'] run");
        all[2] = there.into();
        let all = configured(&CargoCall::parse(&all).unwrap()).unwrap();
        assert_eq!(all["target"]["a"]["rustflags"][0], "-x");
        assert_eq!(all["target"]["b"]["rustdocflags"][0], "-y");
    }

    #[test]
    fn only_tables_of_the_target_have_its_flags() {
        let facts = b"target_arch=\"x86_64\"\nunix\n";
        for (tables, of_rustc, of_rustdoc) in [
            (
                r#"{"wasm32-unknown-unknown": {"rustflags": ["-a"], "rustdocflags": ["-a"]}}"#,
                false,
                false,
            ),
            (r#"{"host": {"linker": "mold", "rustflags": []}}"#, false, false),
            (r#"{"host": {"rustflags": ["-a"]}}"#, true, false),
            (r#"{"host": {"rustdocflags": "-a"}}"#, false, true),
            (r#"{"cfg(unix)": {"rustflags": "-a", "rustdocflags": "-a"}}"#, true, false),
            (r#"{"cfg(all(unix, target_arch = \"x86_64\"))": {"rustflags": ["-a"]}}"#, true, false),
            (r#"{"cfg(windows)": {"rustflags": ["-a"]}}"#, false, false),
            ("null", false, false),
        ] {
            let tables = serde_json::from_str(tables).unwrap();
            let has = |flags_of| has_flags(&tables, flags_of, "host", facts);
            assert_eq!((has("RUSTFLAGS"), has("RUSTDOCFLAGS")), (of_rustc, of_rustdoc), "{tables}");
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

    #[test]
    fn flags_reach_the_cargo_that_another_command_calls() {
        let ours = ["-Zours".to_owned(), "-Cours=a".to_owned()];
        let of = |flags_of: &str, by_target: Option<&str>, set: &[(&str, &str)]| {
            let get = |name: &str| {
                set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into())
            };
            let (name, value) =
                variable(flags_of, by_target.map(str::to_owned), &ours, get).unwrap();
            (name, value.into_string().unwrap())
        };
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let name = "CARGO_TARGET_A_B_RUSTFLAGS";
        let target = Some(name);
        assert_eq!(of("RUSTFLAGS", None, &[]), named("CARGO_BUILD_RUSTFLAGS", " -Zours -Cours=a"));
        assert_eq!(
            of("RUSTFLAGS", None, &[("CARGO_BUILD_RUSTFLAGS", "-a -b")]),
            named("CARGO_BUILD_RUSTFLAGS", "-a -b -Zours -Cours=a")
        );
        assert_eq!(of("RUSTFLAGS", target, &[(name, "-a")]), named(name, "-a -Zours -Cours=a"));
        assert_eq!(
            of("RUSTFLAGS", target, &[("RUSTFLAGS", "-a")]),
            named("CARGO_ENCODED_RUSTFLAGS", "-a\u{1f}-Zours\u{1f}-Cours=a")
        );
        let spaced = variable("RUSTFLAGS", None, &["-L/a b".to_owned()], |_| None);
        assert!(spaced.unwrap_err().to_string().contains("has a space"));
    }

    #[test]
    fn a_target_without_a_runtime_is_refused_in_a_line() {
        let check = |text: &str, host| check_target(&CargoCall::parse(&words(text)).unwrap(), host);
        let gnu = "x86_64-unknown-linux-gnu";
        for text in ["cargo run", "cargo run --target x86_64-unknown-linux-gnu"] {
            check(text, gnu).unwrap();
        }
        let error = check("cargo run --target=x86_64-unknown-linux-musl", gnu).unwrap_err();
        assert_eq!(
            error.to_string(),
            "programs for x86_64-unknown-linux-musl cannot be recorded: leave out --target, or name \
             x86_64-unknown-linux-gnu"
        );
        assert!(check("cargo run", "x86_64-unknown-linux-musl").is_err());
    }
}
