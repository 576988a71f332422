//! `tenure sim` as somebody types it.

mod support;

use support::{is_refused, tenure, tenure_in, text};

/// As short a run as there is.
const SHORT: [&str; 6] = ["sim", "refs/get-put", "--cpus", "1,2", "--us", "5"];

#[test]
fn help_names_every_option_and_goes_to_standard_output() {
    let output = tenure(&["sim", "--help"]);
    assert!(output.status.success());
    let help = text(&output.stdout);
    for option in [
        "SCENARIO",
        "--cpus",
        "--machine",
        "--us",
        "--seed",
        "--calibrate",
        "--list",
        "--json",
        "--report",
    ] {
        assert!(help.contains(option), "{option}");
    }
    assert!(text(&tenure(&["--help"]).stdout).contains("sim"));
}

#[test]
fn the_list_names_scenarios_and_machines_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = tenure_in(folder.path(), &["sim", "--list"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    for word in ["refs/get-put", "dst/cells", "xeon-2s-112", "112 CPUs"] {
        assert!(list.contains(word), "{word}");
    }
    assert!(!list.contains("refs/upgrade"), "std's Arc knows no simulated memory");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    let refused = |words: &[&str], said: &[&str]| {
        let words: Vec<_> = ["sim"].iter().chain(words).copied().collect();
        is_refused(&tenure(&words), said);
    };
    refused(&["--cpu", "1"], &["--cpu", "--cpus"]);
    refused(&["no-such"], &["no-such", "the groups are ", "refs"]);
    refused(&["refs/upgrade"], &["refs/upgrade", "tenure bench refs/upgrade"]);
    refused(&["refs", "--cpus", "0"], &["'0'", "at least 1"]);
    refused(&["refs", "--cpus", "100000"], &["xeon-2s-112", "100000", "1 to 112"]);
    refused(&["refs", "--cpus", "113"], &["xeon-2s-112", "113", "--machine"]);
    refused(&["refs", "--cpus", "500..600"], &["xeon-2s-112", "500"]);
    refused(&["refs", "--cpus", "1..many"], &["many", "1..192"]);
    refused(&["refs", "--cpus", "8..1"], &["8..1", "from fewer"]);
    refused(&["refs", "--cpus", ""], &["--cpus"]);
    refused(&["refs", "--cpus"], &["--cpus"]);
    refused(&["refs", "--us", "0"], &["--us"]);
    refused(&["refs", "--us", "1000000"], &["--us"]);
    refused(&["refs", "--seed", "x"], &["--seed"]);
    refused(&["refs", "--machine", "no-such"], &["no-such", "there are", "xeon-2s-112", ".toml"]);
    refused(&["refs", "--machine", ""], &["there is no machine", "xeon-2s-112"]);
    refused(&["refs", "--machine", "this"], &["this.toml", "--calibrate"]);
    refused(&["refs", "--machine", "no.toml"], &["cannot read no.toml", "--list"]);
    refused(&["refs", "--calibrate"], &["--calibrate"]);
    refused(&["--calibrate", "this"], &["ends in .toml", "'this.toml'"]);
    refused(&["--cpus", "1.."], &["`1..`", "1..192"]);
}

#[test]
fn a_file_that_is_no_machine_is_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let machine = ["sim", "refs", "--machine", "mine.toml"];
    for (file, word) in [
        ("name = ".as_bytes(), "line 1"),
        (b"name = 'x'\nabout = 1\n", "line 2"),
        (b"\xff\xfe", "UTF-8"),
        (b"name = '\\\\'\n\n[nothing]\n", "nothing"),
        (b"name = 1\n", "line 1"),
    ] {
        std::fs::write(folder.path().join("mine.toml"), file).unwrap();
        is_refused(&tenure_in(folder.path(), &machine), &["mine.toml", word]);
    }
    std::fs::create_dir(folder.path().join("dir.toml")).unwrap();
    is_refused(&tenure_in(folder.path(), &["sim", "--machine", "dir.toml"]), &["dir.toml"]);
}

#[test]
fn a_path_that_cannot_be_written_is_refused_before_anything_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let long = ["sim", "--us", "100000"];
    for end in [
        ["--json", "file/out.json"],
        ["--json", "no/such/folder/out.json"],
        ["--json", "."],
        ["--report", "file"],
    ] {
        let words: Vec<_> = long.into_iter().chain(end).collect();
        is_refused(&tenure_in(folder.path(), &words), &["cannot write", "another path"]);
    }
    let calibrate = ["sim", "--calibrate", "file/this.toml"];
    is_refused(&tenure_in(folder.path(), &calibrate), &["cannot write", "another path"]);
}

#[test]
fn json_on_standard_output_is_a_report_the_same_each_time_and_nothing_else_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seed: &str| {
        let words: Vec<_> = SHORT.into_iter().chain(["--json", "-", "--seed", seed]).collect();
        let output = tenure_in(folder.path(), &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let report: serde_json::Value = serde_json::from_slice(&run("3")).unwrap();
    assert_eq!(report["schema"], "tenure-sim/1");
    assert_eq!(report["settings"]["seed"], 3);
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
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
    assert!(tables.contains("On 2 CPUs "), "{tables}");
    let path = tables.lines().last().unwrap().strip_prefix("Report: ").unwrap();
    let page = std::fs::read_to_string(folder.path().join(path)).unwrap();
    assert!(page.contains("<!doctype html>"));
    let json = std::fs::read(folder.path().join("out.json")).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
    assert_eq!(text(&output.stderr), "simulating refs/get-put\n");
}

#[test]
fn a_machine_of_ones_own_is_simulated_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let json = |machine: &str| {
        let words: Vec<_> =
            SHORT.into_iter().chain(["--json", "-", "--machine", machine]).collect();
        let output = tenure_in(folder.path(), &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let preset = json("xeon-2s-112");
    let toml = preset["machine"]["toml"].as_str().unwrap();
    std::fs::write(folder.path().join("this.toml"), toml).unwrap();
    assert_eq!(json("this"), preset);
    assert_eq!(json("./this.toml"), preset);
}

#[test]
fn a_range_beyond_the_machine_is_cut_and_said_to_be() {
    let words = ["sim", "refs/get", "--cpus", "100..192", "--us", "5", "--report", "r"];
    let output = tenure(&words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("100..192 ends at 112"));
}
