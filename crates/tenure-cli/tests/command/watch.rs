use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{refused, tenure_in, text};

#[test]
fn what_cannot_be_watched_is_refused() {
    refused("watch", &[], &["nothing to watch", "--pid"]);
    refused("watch", &["--pid", "2147483647"], &["no process 2147483647", "ps"]);
    refused("watch", &["--pid", "none"], &["--pid", "ps -e"]);
    refused("watch", &["--fr", "3s", "--pid", "1"], &["unexpected argument", "--fr"]);
    refused("watch", &["--pid", "1", "--", "true"], &["--pid"]);
    refused("watch", &["--check", "none.toml", "--pid", "1"], &["cannot read none.toml"]);
    refused("watch", &["--for", "0s", "--pid", "1"], &["such as `30s`"]);
    refused("watch", &["--rate", "0", "--pid", "1"], &["1 to 10000"]);
    refused("watch", &["--probes", "1000", "--pid", "1"], &["0.1 to 100"]);
    refused("watch", &["--line", "32", "--pid", "1"], &["64 or 128"]);
    refused("watch", &["--stop", "--", "true"], &["--for"]);
    refused("watch", &["--json", "no/such/out.json", "--pid", "1"], &["cannot write"]);
    refused("watch", &["--json", "it", "--html", "it", "--pid", "1"], &["the same file"]);
}

#[test]
fn a_program_that_is_started_has_its_output_and_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let check = tenure_in(folder.path(), &["doctor"]);
    if !check.status.success() {
        return eprintln!("skipped: {}", text(&check.stderr));
    }
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; exit 5";
    let output = tenure_in(
        folder.path(),
        &["watch", "--json", "it.json", "--html", "it.html", "--", "sh", "-c", script],
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(5), "done\n"));
    let report = text(&output.stderr);
    assert!(report.contains("exited with 5") && report.contains(" cache line"), "{report}");
    let json = std::fs::read_to_string(folder.path().join("it.json")).unwrap();
    assert!(json.contains("\"watched\"") && folder.path().join("it.html").exists(), "{json}");
}

/// Whether programs can be watched here.
fn can_watch() -> bool {
    let check = tenure_in(Path::new("."), &["doctor"]);
    if !check.status.success() {
        eprintln!("skipped: {}", text(&check.stderr));
    }
    check.status.success()
}

/// What `tenure watch` says of a shell's script, and its status.
fn watched(options: &[&str], script: &str) -> (String, Option<i32>) {
    let words = [&["watch"], options, &["--", "sh", "-c", script]].concat();
    let output = tenure_in(Path::new("."), &words);
    (text(&output.stderr).to_owned(), output.status.code())
}

/// Starts `tenure watch` on a shell's script, in a folder.
fn watching(folder: &Path, options: &[&str], script: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.arg("watch").args(options).args(["--", "sh", "-c", script]).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What is read until these words are there.
fn read_until(from: &mut impl Read, words: &str) -> String {
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(words.as_bytes()) {
        from.read_exact(&mut byte).unwrap_or_else(|_| panic!("{}", text(&said)));
        said.push(byte[0]);
    }
    text(&said).to_owned()
}

#[test]
fn a_program_that_outlives_the_time_is_waited_for_or_ended() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'exit 4' TERM; while [ ! -e go ]; do :; done; exit 5";
    let mut child = watching(folder.path(), &["--for", "100ms"], script);
    let said = read_until(child.stderr.as_mut().unwrap(), " is still running");
    assert!(said.contains("): watched for ") && said.contains("\ntenure: process "), "{said}");
    std::fs::write(folder.path().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}{}", text(&output.stderr));

    let forever = "while :; do :; done";
    let (said, status) = watched(&["--for", "100ms", "--stop"], forever);
    assert!(said.contains("): watched for "), "{said}");
    assert_eq!(status, Some(0), "{said}");
    // One that has a status of its own keeps it. Where it was asked before it could say so, it gets more time.
    for time in ["300ms", "3s", "30s", "300s"] {
        let script = format!("trap 'exit 4' TERM; : > trapped; {forever}");
        let child = watching(folder.path(), &["--for", time, "--stop"], &script);
        let output = child.wait_with_output().unwrap();
        if folder.path().join("trapped").exists() {
            return assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
        }
    }
    panic!("the script does not run");
}

#[test]
fn a_request_to_end_goes_on_to_the_program_that_was_started() {
    if !can_watch() {
        return;
    }
    let script = "trap 'echo asked; exit 4' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = watching(Path::new("."), &[], script);
    read_until(child.stdout.as_mut().unwrap(), "ready\n");
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((text(&output.stdout), output.status.code()), ("asked\n", Some(4)));
}

#[test]
fn a_program_that_became_another_has_that_ones_name() {
    if !can_watch() {
        return;
    }
    let script = "exec dd if=/dev/zero of=/dev/null bs=1 count=3000000 status=none";
    let (said, _) = watched(&[], script);
    assert!(said.starts_with("dd (process "), "{said}");
}

#[test]
fn a_program_that_is_over_at_once_is_not_said_to_be_uninstrumented() {
    if !can_watch() {
        return;
    }
    let output = tenure_in(Path::new("."), &["watch", "--", "true"]);
    assert!(!text(&output.stderr).contains("instrumented"), "{}", text(&output.stderr));
}
