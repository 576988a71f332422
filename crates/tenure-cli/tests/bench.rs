//! `tenure bench` as somebody types it.

mod support;

use support::{is_refused, tenure, tenure_in, text};

/// As short a run as there is.
const SHORT: [&str; 7] = ["bench", "refs", "--quick", "--threads", "1", "--seconds", "0.01"];

#[test]
fn help_names_every_option_and_goes_to_standard_output() {
    let output = tenure(&["bench", "--help"]);
    assert!(output.status.success());
    let help = text(&output.stdout);
    for option in
        ["GROUP", "--threads", "--seconds", "--quick", "--seed", "--list", "--json", "--report"]
    {
        assert!(help.contains(option), "{option}");
    }
    let all = tenure(&["--help"]);
    assert!(text(&all.stdout).contains("bench"));
    let alone = tenure(&[]);
    assert!(alone.status.success());
    for line in ["Commands:", "  bench ", "Usage: tenure <COMMAND>"] {
        assert!(text(&alone.stdout).contains(line) && text(&all.stdout).contains(line), "{line}");
    }
    assert!(text(&tenure(&["--version"]).stdout).starts_with("tenure "));
}

#[test]
fn the_list_names_groups_and_scenarios_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = tenure_in(folder.path(), &["bench", "--list"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("refs/get-put"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    is_refused(&tenure(&["bunch"]), &["bunch", "bench"]);
    is_refused(&tenure(&["bench", "--thread", "1"]), &["--thread", "--threads"]);
    is_refused(&tenure(&["bench", "no-such"]), &["no-such", "the groups are ", "refs"]);
    is_refused(&tenure(&["bench", "--threads", "0"]), &["'0'", "--threads", "at least 1"]);
    is_refused(&tenure(&["bench", "--threads", "1,many"]), &["'many'", "1,2,8"]);
    is_refused(&tenure(&["bench", "--threads", "1000000000"]), &["1000000000", "at most"]);
    is_refused(&tenure(&["bench", "--threads", ""]), &["--threads"]);
    is_refused(&tenure(&["bench", "--threads"]), &["--threads"]);
    is_refused(&tenure(&["bench", "--seconds", "0"]), &["--seconds", "above 0"]);
    is_refused(&tenure(&["bench", "--seconds=-1"]), &["--seconds", "above 0"]);
    is_refused(&tenure(&["bench", "--seconds", "inf"]), &["--seconds", "above 0"]);
    is_refused(&tenure(&["bench", "--seed", "x"]), &["--seed"]);
    is_refused(&tenure(&["bench", "--quick", "--quick"]), &["--quick"]);
    #[cfg(target_os = "linux")]
    {
        is_refused(&tenure(&["bench", "no-such"]), &["registry, e2e"]);
        is_refused(&tenure(&["bench", "refs", "--with", "wrk"]), &["--with", "e2e"]);
        let memtier = ["bench", "e2e/http-close", "--with", "memtier"];
        is_refused(&tenure(&memtier), &["--with", "wrk"]);
    }
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let long = ["bench", "--seconds", "1000"];
    for end in [
        ["--json", "file/out.json"],
        ["--json", "no/such/folder/out.json"],
        ["--json", "."],
        ["--report", "file"],
    ] {
        let words: Vec<_> = long.into_iter().chain(end).collect();
        is_refused(&tenure_in(folder.path(), &words), &["cannot write", "another path"]);
    }
}

#[test]
fn json_on_standard_output_is_a_report_and_nothing_else_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<_> = SHORT.into_iter().chain(["--json", "-"]).collect();
    let output = tenure_in(folder.path(), &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], "tenure-bench/1");
    assert_eq!(report["settings"]["quick"], true);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn tables_are_plain_in_a_pipe_and_end_with_the_path_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<_> = SHORT.into_iter().chain(["--json", "out.json"]).collect();
    let output = tenure_in(folder.path(), &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let tables = text(&output.stdout);
    assert!(!tables.contains('\u{1b}') && !text(&output.stderr).contains('\u{1b}'));
    let path = tables.lines().last().unwrap().strip_prefix("Report: ").unwrap();
    let page = std::fs::read_to_string(folder.path().join(path)).unwrap();
    assert!(page.contains("<!doctype html>"));
    let json = std::fs::read(folder.path().join("out.json")).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
    assert!(text(&output.stderr).lines().all(|line| line.starts_with("measuring refs/")));
}

#[test]
fn a_quick_run_judges_no_claim() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<_> = SHORT.into_iter().chain(["--json", "-"]).collect();
    let output = tenure_in(folder.path(), &words);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdicts"], serde_json::json!([]));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_with_the_tables_and_files_of_what_was_measured() {
    use std::io::{BufRead, BufReader, Read};
    let folder = tempfile::tempdir().unwrap();
    let words = ["bench", "refs", "--threads", "1", "--seconds", "0.1", "--json", "out.json"];
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(words)
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(run.stdout.take().unwrap());
    let mut text = String::new();
    // The first scenario is there long before the last one is measured.
    while !text.contains("rcuref") {
        assert_ne!(output.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{text}");
    assert!(text.contains("The run was interrupted"), "{text}");
    let json = std::fs::read(folder.path().join("out.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(report["interrupted"], true);
    let page = text.lines().last().unwrap().strip_prefix("Report: ").unwrap();
    assert!(folder.path().join(page).is_file());
}

#[test]
fn the_report_goes_where_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<_> = SHORT.into_iter().chain(["--json", "-", "--report", "a/b"]).collect();
    let output = tenure_in(folder.path(), &words);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("Report: a"));
    assert!(folder.path().join("a/b/bench-refs.html").is_file());
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["bench", "--list"])
        .stdout(writer)
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}
