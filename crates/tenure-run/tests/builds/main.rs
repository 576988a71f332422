//! Builds of C and C++ as people have them: each comes out instrumented, or it is said why not.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
// The programs that the tests build have sanitizers of their own.
#![cfg(not(sanitized))]

#[path = "../support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::functions;
use support::installed::is_installed;
use tenure_model::Ended;
use tenure_model::Report;
use tenure_model::recording::Recording;
use tenure_run::{RunObserver, RunRequest};

/// What the command would say.
#[derive(Default)]
struct Said(RefCell<Vec<String>>);

impl RunObserver for Said {
    fn missed(&self, why: &str) {
        self.0.borrow_mut().push(why.to_owned());
    }
}

fn request(cc: bool, words: &[&str]) -> RunRequest {
    RunRequest {
        command: words.iter().map(OsString::from).collect(),
        cc,
        line_bytes: 64,
        cache: Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache")),
        ..RunRequest::default()
    }
}

/// Runs a build, and returns what is said of it.
#[track_caller]
fn build(words: &[&str]) -> Vec<String> {
    let said = Said::default();
    let recording = tenure_run::run(&request(true, words), &said).unwrap();
    assert_eq!(recording.ended, Ended::Exited { status: 0 }, "{words:?}");
    said.0.into_inner()
}

#[track_caller]
fn run(words: &[&str]) -> Recording {
    let recording = tenure_run::run(&request(false, words), &()).unwrap();
    assert_eq!(recording.ended, Ended::Exited { status: 0 }, "{words:?}");
    recording
}

fn report(recording: Recording) -> Report {
    tenure_run::report(recording, "program", &Default::default(), 64, 0).report
}

/// Runs a program until its first finding has functions with all these beginnings: its threads have to be there at once, which
/// takes luck on a busy machine.
#[track_caller]
fn finds(words: &[&str], names: &[&str]) {
    let mut found = Vec::new();
    for _ in 0..5 {
        found = report(run(words)).findings.first().map(functions).unwrap_or_default();
        let has = |name: &&str| found.iter().any(|function| function.starts_with(*name));
        if names.iter().all(has) {
            return;
        }
    }
    panic!("{words:?}: not {names:?}, but {found:?}");
}

/// A directory for a test, and paths in it as text.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.path().join(name), text).unwrap();
        self.path(name)
    }
}

fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/builds").join(name).display().to_string()
}

#[test]
fn what_instruments_adds_no_warning_that_is_an_error() {
    let folder = Folder::new();
    let text =
        "#include <atomic>\nint main() { std::atomic_thread_fence(std::memory_order_acquire); }\n";
    let (source, out) = (folder.write("fence.cpp", text), folder.path("out"));
    for compiler in ["g++", "clang++"].into_iter().filter(|name| is_installed(name)) {
        build(&[compiler, "-O2", "-Wall", "-Wextra", "-Werror", &source, "-o", &out]);
    }
}

#[test]
fn the_last_thing_that_a_function_does_is_its_own() {
    let folder = Folder::new();
    let out = folder.path("out");
    for compiler in ["gcc", "clang"].into_iter().filter(|name| is_installed(name)) {
        build(&[compiler, "-O2", "-pthread", &source("tail.c"), "-o", &out]);
        finds(&[&out], &["count_hit", "count_miss"]);
    }
}

#[test]
fn a_compiler_that_is_named_by_its_path_instruments() {
    let folder = Folder::new();
    let out = folder.path("out");
    let said = build(&["/usr/bin/gcc", "-O2", "-pthread", &source("tail.c"), "-o", &out]);
    assert_eq!(said, [""; 0]);
    assert!(!run(&[&out]).processes.is_empty());
}

#[test]
fn a_build_that_names_its_compilers_by_their_paths_is_told_so() {
    let folder = Folder::new();
    let script =
        format!("true; /usr/bin/gcc -pthread {} -o {}", source("tail.c"), folder.path("out"));
    let said = build(&["sh", "-c", &script]);
    assert!(matches!(&said[..], [why] if why.contains("by their paths")), "{said:?}");
}

#[test]
fn cmake_instruments_whichever_way_it_is_told_its_compiler() {
    if !is_installed("cmake") {
        return;
    }
    let folder = Folder::new();
    std::fs::copy(source("tail.c"), folder.path("tail.c")).unwrap();
    let listed = "cmake_minimum_required(VERSION 3.10)\nproject(tail C)\nfind_package(Threads)\n\
                  add_executable(tail tail.c)\ntarget_link_libraries(tail Threads::Threads)\n";
    folder.write("CMakeLists.txt", listed);
    let chosen = "-DCMAKE_C_COMPILER=/usr/bin/gcc";
    // In a file, where this command does not see it.
    let named =
        folder.write("chosen.cmake", "set(CMAKE_C_COMPILER /usr/bin/gcc CACHE FILEPATH \"\")\n");
    for (name, options) in [("plain", &[][..]), ("option", &[chosen]), ("file", &["-C", &named])] {
        let (here, out) = (folder.path("."), folder.path(name));
        build(&[&["cmake", "-S", &here, "-B", &out], options].concat());
        assert_eq!(build(&["cmake", "--build", &out]), [""; 0], "{name}");
        assert!(!run(&[&format!("{out}/tail")]).processes.is_empty(), "{name}");
    }
    // Configured before: its compiler is fixed.
    let out = folder.path("before");
    let configure = Command::new("cmake").args(["-S", &folder.path("."), "-B", &out]).output();
    assert!(configure.unwrap().status.success());
    assert_eq!(build(&["cmake", "--build", &out]).len(), 1);
}

#[test]
fn a_static_program_is_linked_dynamically() {
    let folder = Folder::new();
    let out = folder.path("out");
    for compiler in ["gcc", "clang"].into_iter().filter(|name| is_installed(name)) {
        for option in ["-static", "-static-pie"] {
            build(&[compiler, option, "-O2", "-pthread", &source("tail.c"), "-o", &out]);
            assert!(!run(&[&out]).processes.is_empty(), "{compiler} {option}");
        }
    }
}

#[test]
fn a_plugin_is_recorded_in_a_host_that_is_not_instrumented() {
    let folder = Folder::new();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tenure-probe/tests/programs");
    let source = |name: &str| programs.join(name).display().to_string();
    let (host, plugin) = (folder.path("host"), folder.path("plugin.so"));
    let compile = ["-O2", "-pthread", &source("host.c"), "-ldl", "-o", &host];
    assert!(Command::new("gcc").args(compile).status().unwrap().success());
    build(&["g++", "-O2", "-fPIC", "-shared", &source("plugin.cpp"), "-o", &plugin]);
    finds(&[&host, &plugin], &["bump"]);
}

/// A program for another C library could not be started.
#[test]
fn what_a_program_starts_does_not_get_the_runtime_unasked() {
    run(&[
        "sh",
        "-c",
        "test -z \"$LD_PRELOAD$TENURE_PROBE_PRELOADED\" && test -n \"$TENURE_PROBE_DIR\"",
    ]);
}
