//! A build of C or C++: stand-ins for the compilers, put first on `PATH`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_types::Error;

use super::install::Installed;

/// The file in the directory of records that says that a stand-in was called.
const CALLED: &str = "compiled";

/// Variables in which CMake finds what it is to call compilers through, if the build does not say it itself.
const LAUNCHERS: [&str; 4] = [
    "CMAKE_C_COMPILER_LAUNCHER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "CMAKE_C_LINKER_LAUNCHER",
    "CMAKE_CXX_LINKER_LAUNCHER",
];

/// The build with the stand-ins, and what it does in a line.
pub(crate) fn prepare(
    words: &[OsString],
    installed: &Installed,
) -> Result<(Command, String), Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let variables = ["CC", "CXX"].map(|name| (name, std::env::var_os(name).unwrap_or_default()));
    // Compilers that the user names by their paths: their directories come first, so that the stand-ins call them.
    let named = words.iter().chain(variables.iter().map(|(_, value)| value)).filter_map(named_by);
    folders.splice(0..0, named.filter_map(|name| name.compiler.parent().map(Path::to_owned)));
    let names = found(&folders);
    if names.is_empty() {
        return Err(Error::new("no compiler of C or C++ is on PATH; install gcc or clang"));
    }
    let stand_ins = installed.compilers(&names)?;
    let mut all = words.iter().map(|word| replaced(word, &stand_ins));
    let mut command = Command::new(all.next().unwrap_or_default());
    command.args(all);
    for (variable, value) in &variables {
        if named_by(value).is_some() {
            command.env(variable, replaced(value, &stand_ins));
        }
    }
    for launcher in LAUNCHERS.iter().filter(|name| std::env::var_os(name).is_none()) {
        command.env(launcher, stand_ins.join(super::install::LAUNCHER));
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

/// Why a build has instrumented nothing, if it called no stand-in.
pub(crate) fn missed(records: &Path) -> Option<&'static str> {
    (!records.join(CALLED).exists()).then_some(
        "nothing was instrumented: the build was up to date, or it calls compilers by their paths, as CMake does once it has \
         configured; clean the build, or configure a new directory: `tenure run --cc -- cmake -B DIRECTORY`",
    )
}

/// A compiler in a word: what is before it, its path, and what is behind it.
#[derive(Debug, PartialEq)]
struct Named {
    before: String,
    compiler: PathBuf,
    behind: String,
}

/// The compiler that a word names by its path: alone, with options behind it, or as the value of a variable.
fn named_by(word: &OsString) -> Option<Named> {
    let word = word.to_str()?;
    let at = word.find('/')?;
    let before = &word[..at];
    let value = &word[at..];
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    let compiler = PathBuf::from(&value[..end]);
    let is_whole =
        before.is_empty() || before.ends_with('=') && !before.contains(char::is_whitespace);
    (is_whole && is_compiler(compiler.file_name()?.to_str()?)).then(|| Named {
        before: before.to_owned(),
        compiler,
        behind: value[end..].to_owned(),
    })
}

/// The word with the stand-in of the compiler that it names.
fn replaced(word: &OsString, stand_ins: &Path) -> OsString {
    let Some(named) = named_by(word) else { return word.clone() };
    let Some(name) = named.compiler.file_name() else { return word.clone() };
    let mut all = OsString::from(named.before);
    all.push(stand_ins.join(name));
    all.push(named.behind);
    all
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
    fn a_compiler_that_is_named_by_its_path_is_replaced() {
        for (word, with) in [
            ("/opt/gcc/bin/gcc-13 -m64", "/cc/gcc-13 -m64"),
            ("CC=/usr/bin/gcc", "CC=/cc/gcc"),
            ("-DCMAKE_CXX_COMPILER=/usr/bin/clang++-14", "-DCMAKE_CXX_COMPILER=/cc/clang++-14"),
            // These are found on PATH.
            ("gcc", "gcc"),
            ("CC=gcc", "CC=gcc"),
            ("/usr/bin/ccache gcc", "/usr/bin/ccache gcc"),
            ("./gcc", "./gcc"),
            ("--sysroot=/opt/gcc/lib", "--sysroot=/opt/gcc/lib"),
            ("", ""),
        ] {
            assert_eq!(replaced(&word.into(), Path::new("/cc")), OsString::from(with), "{word}");
        }
    }

    #[test]
    fn a_build_that_calls_no_stand_in_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        assert!(missed(folder.path()).unwrap().contains("by their paths"));
        std::fs::write(folder.path().join(CALLED), "").unwrap();
        assert_eq!(missed(folder.path()), None);
    }
}
