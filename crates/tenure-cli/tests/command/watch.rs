use std::path::Path;

use super::support::{refused, tenure_in, text};

#[test]
fn what_cannot_be_watched_is_refused() {
    refused("watch", &[], &["nothing to watch", "--pid"]);
    refused("watch", &["--pid", "2147483647"], &["no process 2147483647", "ps"]);
    refused("watch", &["--pid", "none"], &["--pid"]);
    refused("watch", &["--pid", "1", "--", "true"], &["--pid"]);
    refused("watch", &["--check", "--pid", "1"], &["--check"]);
    refused("watch", &["--for", "0s", "--pid", "1"], &["such as `30s`"]);
    refused("watch", &["--rate", "0", "--pid", "1"], &["1 to 10000"]);
    refused("watch", &["--arms", "1000", "--pid", "1"], &["0.1 to 100"]);
    refused("watch", &["--line", "32", "--pid", "1"], &["64 or 128"]);
    refused("watch", &["--stop", "--", "true"], &["--for"]);
    refused("watch", &["--json", "no/such/out.json", "--pid", "1"], &["cannot write"]);
    refused("watch", &["--json", "it", "--html", "it", "--pid", "1"], &["the same file"]);
}

#[test]
fn a_program_that_is_started_has_its_output_and_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let check = tenure_in(folder.path(), &["watch", "--check"]);
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
    assert!(report.contains("exited with 5") && report.contains("No cache line"), "{report}");
    let json = std::fs::read_to_string(folder.path().join("it.json")).unwrap();
    assert!(json.contains("\"watched\"") && folder.path().join("it.html").exists(), "{json}");
}

/// Whether programs can be watched here.
fn can_watch() -> bool {
    let check = tenure_in(Path::new("."), &["watch", "--check"]);
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

#[test]
fn a_program_that_outlives_the_time_is_waited_for_or_ended() {
    if !can_watch() {
        return;
    }
    let script = "trap 'exit 4' TERM; i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done; exit 5";
    let (said, status) = watched(&["--for", "100ms"], script);
    let (report, rest) = said.split_once("\ntenure: process ").unwrap_or_else(|| panic!("{said}"));
    assert!(report.contains("was still running") && rest.contains("is still running"), "{said}");
    assert_eq!(status, Some(5), "{said}");

    let forever = "while :; do :; done";
    let (said, status) = watched(&["--for", "100ms", "--stop"], forever);
    assert!(said.contains("was still running"), "{said}");
    assert_eq!(status, Some(0), "{said}");
    // One that has a status of its own keeps it.
    let (said, status) =
        watched(&["--for", "300ms", "--stop"], &format!("trap 'exit 4' TERM; {forever}"));
    assert_eq!(status, Some(4), "{said}");
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
