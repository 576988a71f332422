//! Allocators that other people wrote, linked and preloaded: programs run well under them, and their blocks are known.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{Program, USUAL, finish, is_required};

/// What `-l` names it by, and the Debian package that has it.
const ALLOCATORS: [(&str, &str); 3] = [
    ("jemalloc", "libjemalloc-dev"),
    ("tcmalloc_minimal", "libgoogle-perftools-dev"),
    ("mimalloc", "libmimalloc-dev"),
];

const SOURCES: [(&str, &[&str]); 2] =
    [("allocators.c", &["-O2"]), ("allocators.cpp", &["-O2", "-std=c++17"])];

/// Bytes of the object that the threads of both programs share.
const SHARED: u64 = 608;

/// The library's file, where it is installed.
fn installed(name: &str, package: &str) -> Option<PathBuf> {
    let file = format!("-print-file-name=lib{name}.so");
    let output = Command::new("cc").arg(file).output().unwrap();
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    if path.is_absolute() {
        return Some(path);
    }
    assert!(!is_required(), "{package} is not installed, and TENURE_PACKAGES asks for it");
    eprintln!("skipped: {package} is not installed");
    None
}

/// Runs it with libraries before all others, and says whether the object that its threads share is known.
#[track_caller]
fn knows_shared(program: &Program, preloaded: &[&Path]) -> bool {
    let mut command = program.command();
    if !preloaded.is_empty() {
        let paths = preloaded.iter().map(|path| path.to_str().unwrap());
        command.env("LD_PRELOAD", paths.collect::<Vec<_>>().join(":"));
    }
    let output = finish(&mut command);
    assert!(output.status.success(), "{preloaded:?}: {output:?}");
    let segment = program.segments().remove(0);
    program.clear();
    let mut classes = segment.entries.iter().map(|entry| entry.class as usize);
    classes.any(|class| segment.classes[class].size == SHARED)
}

#[test]
fn a_program_is_linked_with_another_allocator() {
    for (name, package) in ALLOCATORS {
        let Some(path) = installed(name, package) else { continue };
        for (source, options) in SOURCES {
            let library = format!("-l{name}");
            let program = Program::compile_with(USUAL, source, options, &[&library]);
            assert!(knows_shared(&program, &[]), "{source}, {path:?}");
        }
    }
}

/// Its functions come before the runtime's, and so are the only ones: the program's blocks are not known.
#[test]
fn a_program_is_linked_with_another_allocator_statically() {
    // Debian's package of mimalloc has no archive.
    for (name, package) in ALLOCATORS.into_iter().filter(|&(name, _)| name != "mimalloc") {
        let Some(path) = installed(name, package) else { continue };
        let archive = path.with_extension("a");
        if !archive.exists() {
            assert!(
                !is_required(),
                "{package} has no {archive:?}, and TENURE_PACKAGES asks for it"
            );
            eprintln!("skipped: {package} has no {archive:?}");
            continue;
        }
        let (source, options) = SOURCES[1];
        // As a program has it that calls functions of its own; otherwise the runtime's `malloc` is there already.
        let libraries =
            ["-Wl,--whole-archive", archive.to_str().unwrap(), "-Wl,--no-whole-archive"];
        let program = Program::compile_with(USUAL, source, options, &libraries);
        assert!(!knows_shared(&program, &[]), "{source}, {path:?}");
    }
}

#[test]
fn another_allocator_is_preloaded() {
    for (source, options) in SOURCES {
        let program = Program::compile(source, options);
        let runtime = program.directory.path().join("libtsan.so.2");
        assert!(knows_shared(&program, &[]), "{source}");
        for (name, package) in ALLOCATORS {
            let Some(path) = installed(name, package) else { continue };
            assert!(knows_shared(&program, &[&runtime, &path]), "{source}, {path:?}");
            // Before the runtime it has the program to itself.
            assert!(!knows_shared(&program, &[&path]), "{source}, {path:?}");
        }
    }
}
