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
