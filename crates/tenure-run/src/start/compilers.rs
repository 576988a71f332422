//! A build of C or C++: stand-ins for the compilers, put first on `PATH`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tenure_debuginfo::Error;

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
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let variables = ["CC", "CXX"].map(|name| (name, std::env::var_os(name).unwrap_or_default()));
    // Compilers that the user names by their paths: the stand-ins call them.
    let named = words.iter().chain(variables.iter().map(|(_, value)| value)).filter_map(named_by);
    let named: Vec<PathBuf> = named.map(|name| name.compiler).collect();
    let names = found(&folders, &named);
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
    let listed = |paths: &mut dyn Iterator<Item = &PathBuf>| {
        std::env::join_paths(paths)
            .map_err(|error| Error::new(format!("PATH cannot be extended: {error}")))
    };
    command.env("PATH", listed(&mut std::iter::once(&stand_ins).chain(&folders))?);
    command.env("TENURE_COMPILERS", listed(&mut named.iter())?);
    let about = format!(
        "compilers on PATH are replaced by those in {}, which instrument memory accesses; objects that were built \
         before are not instrumented",
        stand_ins.display()
    );
    Ok((command, about))
}

/// Why a build that ended with `status` has instrumented nothing, if it called no stand-in.
pub(crate) fn missed(records: &Path, status: u8) -> Option<String> {
    if records.join(CALLED).exists() {
        return None;
    }
    Some(match status {
        0 => "nothing was instrumented: the build was up to date, or it calls compilers by their paths, as CMake does once it has \
              configured; clean the build, or configure a new directory: `tenure run --cc -- cmake -B DIRECTORY`"
            .to_owned(),
        _ => format!("nothing was instrumented: the build failed with status {status} before it called a compiler"),
    })
}

/// A compiler in a word: what is before it, its path, and what is after it.
#[derive(Debug, PartialEq)]
struct NamedCompiler {
    before: String,
    compiler: PathBuf,
    after: String,
}

/// The compiler that a word names by its path: alone, with options after it, or as the value of a variable.
fn named_by(word: &OsString) -> Option<NamedCompiler> {
    let word = word.to_str()?;
    let at = word.find('/')?;
    let before = &word[..at];
    let value = &word[at..];
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    let compiler = PathBuf::from(&value[..end]);
    let is_whole =
        before.is_empty() || before.ends_with('=') && !before.contains(char::is_whitespace);
    (is_whole && is_compiler(compiler.file_name()?.to_str()?)).then(|| NamedCompiler {
        before: before.to_owned(),
        compiler,
        after: value[end..].to_owned(),
    })
}

/// The word with the stand-in of the compiler that it names.
fn replaced(word: &OsString, stand_ins: &Path) -> OsString {
    let Some(named) = named_by(word) else { return word.clone() };
    let Some(name) = named.compiler.file_name() else { return word.clone() };
    let mut all = OsString::from(named.before);
    all.push(stand_ins.join(name));
    all.push(named.after);
    all
}

/// The names of compilers of C and C++: those in these directories, and these ones.
fn found(folders: &[PathBuf], named: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let named = named.iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned));
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).chain(named);
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
        assert!(missed(folder.path(), 0).unwrap().contains("by their paths"));
        assert!(missed(folder.path(), 2).unwrap().contains("failed with status 2"));
        std::fs::write(folder.path().join(CALLED), "").unwrap();
        assert_eq!(missed(folder.path(), 0), None);
    }

    #[test]
    fn a_compiler_that_is_named_by_its_path_leaves_path_as_it_is() {
        let cache = tempfile::tempdir().unwrap();
        let installed = Installed::new(b"runtime", Some(cache.path())).unwrap();
        let words = ["make", "CC=/opt/some/gcc-99"].map(OsString::from);
        let (command, _) = prepare(&words, &installed).unwrap();
        let get = |name: &str| {
            let value = command.get_envs().find(|(key, _)| *key == name).unwrap().1;
            value.unwrap().to_str().unwrap().to_owned()
        };
        let path = get("PATH");
        let (stand_ins, rest) = path.split_once(':').unwrap();
        assert_eq!(rest, std::env::var("PATH").unwrap());
        assert_eq!(get("TENURE_COMPILERS"), "/opt/some/gcc-99");
        let called: Vec<_> = command.get_args().collect();
        assert_eq!(called, [format!("CC={stand_ins}/gcc-99").as_str()]);
        assert!(Path::new(stand_ins).join("gcc-99").exists());
    }

    /// Stand-ins, and compilers that say what they were called with.
    struct Called {
        folder: tempfile::TempDir,
        stand_ins: PathBuf,
    }

    impl Called {
        const NAMES: [&str; 4] = ["cc", "gcc", "clang", "gcc-9"];

        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let installed = Installed::new(b"runtime", Some(folder.path())).unwrap();
            let stand_ins = installed.compilers(&Self::NAMES.map(str::to_owned)).unwrap();
            // As a compiler cache: all names lead to one file. Its directory says nothing of the compiler.
            let bin = folder.path().join("clang-tools");
            std::fs::create_dir(&bin).unwrap();
            std::fs::create_dir(folder.path().join("records")).unwrap();
            let cache = bin.join("ccache");
            let text = "#!/bin/sh\n[ \"$*\" = -dumpversion ] && { echo 12; exit; }\necho \"${0##*/} $*\"\n";
            std::fs::write(&cache, text).unwrap();
            std::fs::set_permissions(&cache, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
            for name in Self::NAMES.iter().chain(&["arm-none-eabi-gcc"]) {
                std::os::unix::fs::symlink(&cache, bin.join(name)).unwrap();
            }
            Self { folder, stand_ins }
        }

        /// What is called, and whether that counts as a build. `/` at the start of a word is the directory of compilers.
        fn by(&self, line: &str) -> (String, bool) {
            let bin = self.folder.path().join("clang-tools").display().to_string();
            let mut words = line.split(' ').map(|word| word.replace('/', &format!("{bin}/")));
            let mut command = Command::new(self.stand_ins.join(words.next().unwrap()));
            let records = self.folder.path().join("records");
            let path = format!("{}:{bin}:/usr/bin:/bin", self.stand_ins.display());
            command.args(words).env("PATH", path).env("TENURE_PROBE_DIR", &records);
            let output = command.env_remove("TENURE_COMPILERS").output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let is_build = std::fs::remove_file(records.join(CALLED)).is_ok();
            (String::from_utf8(output.stdout).unwrap().trim().to_owned(), is_build)
        }
    }

    #[test]
    fn a_compiler_is_known_by_its_own_name() {
        let called = Called::new();
        for (line, is_clang) in
            [("clang a.c", true), ("gcc a.c", false), ("launch /clang a.c", true)]
        {
            let (words, is_build) = called.by(line);
            assert_eq!(words.contains("-mllvm"), is_clang, "{line}: {words}");
            assert_eq!(words.contains("--param tsan"), !is_clang, "{line}: {words}");
            assert!(is_build && words.contains("-rpath"), "{line}: {words}");
        }
    }

    #[test]
    fn what_is_no_build_is_passed_on() {
        let called = Called::new();
        for line in ["cc --version", "gcc -dumpmachine", "clang -v", "gcc -print-search-dirs a.c"] {
            assert_eq!(called.by(line), (line.to_owned(), false));
        }
        // Of another machine, for which there is no runtime.
        for line in ["/arm-none-eabi-gcc -c a.c", "/ccache a.c"] {
            let (words, is_build) = called.by(&format!("launch {line}"));
            assert_eq!((words.as_str(), is_build), (&line[1..], false));
        }
        let (words, is_build) = called.by("launch /gcc-9 -c a.c");
        assert!(is_build && words.starts_with("gcc-9 -c a.c -fsanitize=thread"), "{words}");
    }

    #[test]
    fn the_runtime_is_no_input_of_what_does_not_link() {
        let called = Called::new();
        for option in ["-c", "-S", "-r", "-E", "-M", "-MM", "-fsyntax-only"] {
            for compiler in ["gcc", "clang"] {
                let (words, is_build) = called.by(&format!("{compiler} {option} a.c"));
                let links = words.contains("libtsan") || words.contains("-rpath");
                assert!(is_build && !links && words.contains("-fsanitize=thread"), "{words}");
            }
        }
    }
}
