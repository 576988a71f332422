//! What `tenure layout --suggest` proposes, built and recorded by `tenure run`: it is silent.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tenure_model::Ended;
use tenure_run::RunRequest;

use super::support::{tenure, text};

const PROGRAM: &str = include_str!("../../../tenure-layout/tests/ranking/programs/port.c");

const TOGETHER: &str = "pthread_spinlock_t in_lock; int in_count; pthread_spinlock_t out_lock; int out_count; char name[48];";
/// What `--suggest` once proposed for a layout in which nothing is contended.
const TORN: &str = "LINE pthread_spinlock_t in_lock; LINE pthread_spinlock_t out_lock; LINE int in_count; int out_count;";

/// On a busy machine one thread may be done before the other begins: then nothing is found.
const TRIES: usize = 5;

fn write(folder: &Path, port: &str) -> PathBuf {
    let source = folder.join("port.c");
    std::fs::write(&source, PROGRAM.replace("PORT", port)).unwrap();
    source
}

/// The words of its findings.
fn recorded(folder: &Path, port: &str) -> Vec<String> {
    let (source, program) = (write(folder, port), folder.join("recorded"));
    let record = |cc: bool, words: &[&str]| {
        let command = words.iter().map(Into::into).collect();
        let cache = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        let request = RunRequest { command, cc, line_bytes: 64, cache, ..RunRequest::default() };
        let recording = tenure_run::run(&request, &()).unwrap();
        assert_eq!(recording.ended, Ended::Exited { status: 0 }, "{words:?}");
        recording
    };
    let (source, program) = (source.to_str().unwrap(), program.to_str().unwrap());
    record(true, &["gcc", "-g", "-O2", "-pthread", source, "-o", program]);
    let report =
        tenure_run::report(record(false, &[program]), "port", &Default::default(), 64, 0).report;
    let words = report.findings.iter().flat_map(|one| one.words());
    words.map(|word| word.path.clone()).collect()
}

/// The members in the proposed order, at the proposed places.
fn proposed(folder: &Path, port: &str) -> String {
    let (source, program) = (write(folder, port), folder.join("plain"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O2", "-pthread", "-o"]).arg(&program).arg(&source);
    assert!(gcc.status().unwrap().success());
    let words = ["layout", program.to_str().unwrap(), "port", "--suggest", "--json", "-"];
    let output = tenure(&words);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let order = report["suggestions"][0]["order"].as_array().expect("a proposal");
    let member = |name: &Value| match name.as_str().unwrap() {
        // In front of what begins a line, and at the end.
        name if name.starts_with('(') => "LINE ".to_owned(),
        name if name.ends_with("_lock") => format!("pthread_spinlock_t {name}; "),
        "name" => "char name[48]; ".to_owned(),
        name => format!("int {name}; "),
    };
    let members: String = order.iter().map(member).collect();
    format!("LINE {}", members.trim_end_matches("LINE "))
}

#[test]
fn a_run_of_what_layout_proposes_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    for port in [TOGETHER, TORN] {
        let is_found = (0..TRIES).any(|_| !recorded(folder.path(), port).is_empty());
        assert!(is_found, "not contended unmodified: {port}");
        let better = proposed(folder.path(), port);
        let found = recorded(folder.path(), &better);
        assert_eq!(found, [""; 0], "{better}");
    }
}
