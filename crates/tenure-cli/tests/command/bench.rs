use super::support::{is_refused, refused, tenure, tenure_in, text};

pub(crate) const SHORT: [&str; 7] =
    ["bench", "refs", "--quick", "--threads", "1", "--seconds", "0.01"];

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    is_refused(&tenure(&["bunch"]), &["bunch", "bench"]);
    let refused = |words: &[&str], said: &[&str]| refused("bench", words, said);
    refused(&["--thread", "1"], &["--thread", "--threads"]);
    refused(&["no-such"], &["no-such", "the groups are ", "refs"]);
    refused(&["--threads", "0"], &["'0'", "--threads", "at least 1"]);
    refused(&["--threads", "1,many"], &["'many'", "1,2,8"]);
    refused(&["--threads", "1000000000"], &["1000000000", "at most"]);
    refused(&["--threads", ""], &["--threads"]);
    refused(&["--threads"], &["--threads"]);
    refused(&["--seconds", "0"], &["--seconds", "above 0"]);
    refused(&["--seconds=-1"], &["--seconds", "above 0"]);
    refused(&["--seconds", "inf"], &["--seconds", "above 0"]);
    refused(&["--seed", "x"], &["--seed"]);
    refused(&["--quick", "--quick"], &["--quick"]);
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
    assert_eq!(report["verdicts"], serde_json::json!([]), "a quick run judges no claim");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
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
    // Printed long before the last scenario is measured.
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
