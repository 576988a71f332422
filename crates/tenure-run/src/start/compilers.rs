//! A build of C or C++: stand-ins for the compilers, put first on `PATH`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_types::Error;

use super::install::Installed;

/// The build with the stand-ins, and what it does in a line.
pub(crate) fn prepare(
    words: &[OsString],
    installed: &Installed,
) -> Result<(Command, String), Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // A compiler that the user names by its path: its directory comes first, so that the stand-in calls it.
    let named = ["CC", "CXX"].map(|variable| (variable, std::env::var_os(variable)));
    let named =
        named.map(|(variable, value)| (variable, value.and_then(|value| compiler_of(&value))));
    for (_, compiler) in &named {
        folders.splice(0..0, compiler.as_ref().and_then(|path| path.parent().map(Path::to_owned)));
    }
    let names = found(&folders);
    if names.is_empty() {
        return Err(Error::new("no compiler of C or C++ is on PATH; install gcc or clang"));
    }
    let stand_ins = installed.compilers(&names)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    for (variable, compiler) in &named {
        if let Some(name) = compiler.as_ref().and_then(|path| path.file_name()) {
            command.env(variable, stand_ins.join(name));
        }
    }
    folders.insert(0, stand_ins.clone());
    let path = std::env::join_paths(folders)
        .map_err(|error| Error::new(format!("PATH cannot be extended: {error}")))?;
    command.env("PATH", path);
    let about = format!(
        "compilers on PATH are replaced by those in {}, which instrument memory accesses; objects that were built \
         before are not instrumented",
        stand_ins.display()
    );
    Ok((command, about))
}

/// The compiler that a variable such as `CC` names by its path; options may follow, and are dropped.
fn compiler_of(value: &std::ffi::OsStr) -> Option<PathBuf> {
    let path = PathBuf::from(value.to_str()?.split_whitespace().next()?);
    let name = path.file_name()?.to_str()?;
    (path.is_absolute() && is_compiler(name)).then_some(path)
}

/// The compilers of C and C++ in these directories.
fn found(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_compiler(name)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// `gcc`, `clang++-19`, `x86_64-linux-gnu-g++-12`.
fn is_compiler(name: &str) -> bool {
    let without_version = name.rsplit_once('-').filter(|(_, version)| {
        version.starts_with(|c: char| c.is_ascii_digit())
            && version.chars().all(|c| c.is_ascii_digit() || c == '.')
    });
    let name = without_version.map_or(name, |(name, _)| name);
    let bare = match name.rsplit_once('-') {
        // Of this machine: other targets have no runtime.
        Some((triple, bare))
            if triple.starts_with(std::env::consts::ARCH) && triple.contains("linux") =>
        {
            bare
        }
        _ => name,
    };
    matches!(bare, "cc" | "c++" | "gcc" | "g++" | "clang" | "clang++")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_name_version_and_target() {
        let own = format!("{}-linux-gnu-g++-12", std::env::consts::ARCH);
        for name in ["cc", "g++", "clang-19", "clang++-14", "gcc-4.9", &own] {
            assert!(is_compiler(name), "{name}");
        }
        for name in [
            "gcc-ar",
            "gcc-ranlib-12",
            "clangd",
            "c89",
            "riscv64-linux-gnu-gcc",
            "clang-format-14",
            "",
        ] {
            assert!(!is_compiler(name), "{name}");
        }
    }

    #[test]
    fn a_variable_names_a_compiler_by_its_path() {
        let of = |value: &str| compiler_of(value.as_ref());
        assert_eq!(of("/opt/gcc/bin/gcc-13 -m64"), Some("/opt/gcc/bin/gcc-13".into()));
        assert_eq!(of("gcc"), None, "found on PATH");
        assert_eq!(of("/usr/bin/ccache gcc"), None, "a cache calls what is on PATH");
        assert_eq!(of(""), None);
    }
}
