//! What has to be found in small programs, in C, C++ and Rust, with and without optimisation, and what must not.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
// The programs that the tests build have sanitizers of their own.
#![cfg(not(sanitized))]

mod named;
#[path = "../support/mod.rs"]
mod support;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use support::installed::is_installed;
use support::names;
use tenure_model::Ended;
use tenure_model::recording::Recording;
use tenure_model::{Finding, Kind, Report, Source};
use tenure_run::RunRequest;

/// The case, what is wrong with it, and names that its finding has.
type Expected<'a> = (&'a str, Kind, &'a [&'a str]);

const IN_C: [Expected<'_>; 8] = [
    ("adjacent", Kind::FalseSharing, &["counters"]),
    ("elements", Kind::FalseSharing, &["Worker", "done", "failed"]),
    ("beside", Kind::BesideReadMostly, &["Session", "refs", "limit", "flags"]),
    ("two_locks", Kind::FalseSharing, &["locks", "one", "other"]),
    ("head_and_tail", Kind::FalseSharing, &["queue", "head", "tail", "produce", "consume"]),
    ("one_word", Kind::HotWord, &["hot"]),
    ("mutex", Kind::Lock, &["guarded", "mutex"]),
    ("exchanged", Kind::Lock, &["spin", "state"]),
];

const IN_RUST: [Expected<'_>; 8] = [
    ("adjacent", Kind::FalseSharing, &["COUNTERS"]),
    ("elements", Kind::FalseSharing, &["Worker", "done", "failed"]),
    ("beside", Kind::BesideReadMostly, &["Session", "visits", "limit", "flags"]),
    ("two_locks", Kind::FalseSharing, &["LOCKS"]),
    ("head_and_tail", Kind::FalseSharing, &["Queue", "head", "tail"]),
    ("hot_arc", Kind::HotWord, &["Arc", "strong"]),
    ("mutex", Kind::Lock, &["Mutex"]),
    ("exchanged", Kind::Lock, &["Spin", "state"]),
];

/// A case is over in 50 ms. On a busy machine one thread may have done its part before the other has a turn: then there is
/// nothing to find.
const TRIES: usize = 3;

const SILENT: [&str; 5] = ["apart", "read_only", "private_heap", "hand_over", "reused"];

fn request(cc: bool, words: &[&str]) -> RunRequest {
    let command = words.iter().map(OsString::from).collect();
    let cache = Some(target().join("cache"));
    RunRequest { command, cc, line_bytes: 64, cache, ..RunRequest::default() }
}

fn run(cc: bool, words: &[&str]) -> Recording {
    let recording = tenure_run::run(&request(cc, words), &()).unwrap();
    assert_eq!(recording.ended, Ended::Exited { status: 0 }, "{words:?}");
    recording
}

/// A directory for what the tests build.
fn target() -> PathBuf {
    env!("CARGO_TARGET_TMPDIR").into()
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn report(program: &str, case: &str) -> Report {
    let recording = run(false, &[program, case]);
    let report = tenure_run::report(recording, case, &Default::default(), 64, 0).report;
    let Source::Run(of) = &report.source else { panic!("{report:?}") };
    assert!(of.accesses > 0 && of.dropped == 0, "{of:?}");
    report
}

#[track_caller]
fn check(program: &Path, expected: &[Expected<'_>]) {
    let program = program.to_str().unwrap();
    let mut wrong = Vec::new();
    for (case, kind, words) in expected {
        let is_it = |finding: &Finding| {
            let names = names(finding);
            finding.kind == *kind && words.iter().all(|word| names.contains(word))
        };
        let mut findings = Vec::new();
        let is_found = (0..TRIES).any(|_| {
            findings = report(program, case).findings;
            findings.first().is_some_and(is_it)
        });
        if !is_found {
            wrong.push(format!("{case}: {findings:#?}"));
        }
    }
    for case in SILENT {
        let report = report(program, case);
        if !report.findings.is_empty() {
            wrong.push(format!("{case}, a control: {:#?}", report.findings));
        }
    }
    assert!(wrong.is_empty(), "{program}: {}", wrong.join("\n"));
}

/// Builds the cases with a compiler as the command does.
fn compiled(compiler: &str, language: &str, level: &str) -> PathBuf {
    let program = target().join(format!("cases-{compiler}{level}"));
    let source = sources().join("cases.c");
    let (source, out) = (source.to_str().unwrap(), program.to_str().unwrap());
    run(true, &[compiler, "-x", language, level, "-pthread", source, "-o", out]);
    program
}

#[test]
fn the_cases_in_c_without_optimisation() {
    check(&compiled("gcc", "c", "-O0"), &IN_C);
}

#[test]
fn the_cases_in_c_optimised() {
    check(&compiled("gcc", "c", "-O2"), &IN_C);
}

#[test]
fn the_cases_in_cpp() {
    check(&compiled("g++", "c++", "-O0"), &IN_C);
    check(&compiled("g++", "c++", "-O2"), &IN_C);
}

#[test]
fn the_cases_of_clang_if_it_is_installed() {
    if !is_installed("clang") {
        return;
    }
    for level in ["-O0", "-O2"] {
        check(&compiled("clang", "c", level), &IN_C);
        check(&compiled("clang++", "c++", level), &IN_C);
    }
}

fn of_cargo(profile: &[&str], folder: &str) -> PathBuf {
    let target = target().join("cargo");
    let manifest = sources().join("rust/Cargo.toml");
    let words = [
        &["cargo", "build", "--quiet", "--manifest-path", manifest.to_str().unwrap()],
        &["--target-dir", target.to_str().unwrap()][..],
        profile,
    ];
    run(false, &words.concat());
    let host = std::fs::read_dir(&target).unwrap().flatten().map(|entry| entry.path());
    host.map(|host| host.join(folder).join("cases")).find(|program| program.exists()).unwrap()
}

#[test]
fn the_cases_in_rust_without_optimisation() {
    check(&of_cargo(&[], "debug"), &IN_RUST);
}

#[test]
fn the_cases_in_rust_optimised() {
    check(&of_cargo(&["--release"], "release"), &IN_RUST);
}

/// `ci/build_std.sh` runs it, with a toolchain that has std's source.
#[test]
#[ignore = "needs a toolchain with rust-src, which TENURE_TOOLCHAIN names"]
fn std_is_instrumented_if_cargo_compiles_it() {
    let toolchain = format!("+{}", std::env::var("TENURE_TOOLCHAIN").unwrap());
    let manifest = sources().join("rust/Cargo.toml");
    for build_std in [false, true] {
        let target = target().join(format!("std-{build_std}"));
        let words = ["cargo", &toolchain, "run", "--quiet", "--release", "--bin", "environment"];
        let (manifest, folder) = (manifest.to_str().unwrap(), target.to_str().unwrap());
        let options = ["--manifest-path", manifest, "--target-dir", folder];
        let cache = Some(target.join("cache"));
        let words = [&words[..], &options].concat();
        let request = RunRequest { build_std, cache, ..request(false, &words) };
        let recording = tenure_run::run(&request, &()).unwrap();
        assert_eq!(recording.ended, Ended::Exited { status: 0 });
        let report =
            tenure_run::report(recording, "environment", &Default::default(), 64, 0).report;
        let Source::Run(run) = &report.source else { panic!("{report:?}") };
        let is_missing = run.missing.iter().any(|sentence| sentence.contains("seen: std"));
        assert_eq!(is_missing, !build_std, "{:?}", run.missing);
        let is_lock = |finding: &Finding| names(finding).contains("ENV_LOCK");
        assert_eq!(report.findings.iter().any(is_lock), build_std, "{:#?}", report.findings);
    }
}

#[test]
fn a_program_that_crashes_has_its_report() {
    let program = compiled("gcc", "c", "-O1");
    let request = request(false, &[program.to_str().unwrap(), "crash"]);
    let recording = tenure_run::run(&request, &()).unwrap();
    assert_eq!(recording.ended, Ended::Killed { signal: 6 });
    let report = tenure_run::report(recording, "crash", &Default::default(), 64, 0).report;
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
}
