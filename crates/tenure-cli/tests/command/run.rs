//! `tenure run` as a person types it.

use std::io::Read;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::support::{is_refused, refused, tenure_in, text};

#[test]
fn what_would_show_nothing_is_refused() {
    refused("run", &[], &["COMMAND"]);
    refused("run", &["--", "./no-such"], &["no such program"]);
    refused("run", &["--", env!("CARGO_BIN_EXE_tenure")], &["is not instrumented", "--cc"]);
    refused("run", &["--line", "32", "--", "true"], &["64 or 128"]);
    refused("run", &["--memory", "1K", "--", "true"], &["at least 1M"]);
    refused("run", &["--check", "none.toml", "--", "true"], &["cannot read none.toml"]);
    refused("run", &["--diff", "none.json", "--", "true"], &["cannot read none.json"]);
    refused("run", &["--json", "no/such/out.json", "--", "true"], &["cannot write"]);
}

#[test]
fn a_directory_with_records_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("1-0.probe"), "").unwrap();
    let output = tenure_in(folder.path(), &["run", "--keep", ".", "--", "true"]);
    is_refused(&output, &["records of another run", "--keep"]);
}

#[test]
fn output_and_exit_status_are_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str| tenure_in(folder.path(), &["run", "--", "sh", "-c", script]);
    let output = run("echo out; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "out\n");
    assert!(
        text(&output.stderr).contains("No instrumented program ran"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(run("kill -TERM $$").status.code(), Some(143));
    let output = tenure_in(folder.path(), &["run", "--json", "-", "--", "true"]);
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok());
}

#[test]
fn a_signal_goes_to_the_program() {
    let script = "trap 'echo ended; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["run", "--", "sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    output.read_exact(&mut ready).unwrap();
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "ended\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}
