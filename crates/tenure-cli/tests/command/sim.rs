use super::support::{is_refused, refused, tenure, tenure_in, text};

pub(crate) const SHORT: [&str; 6] = ["sim", "refs/get-put", "--cpus", "1,2", "--us", "5"];

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    let refused = |words: &[&str], said: &[&str]| refused("sim", words, said);
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
fn json_on_standard_output_is_a_report_the_same_each_time_and_nothing_else_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seed: &str| {
        let words: Vec<_> = SHORT.into_iter().chain(["--json", "-", "--seed", seed]).collect();
        let output = tenure_in(folder.path(), &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let first = run("3");
    let report: serde_json::Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(report["schema"], "tenure-sim/1");
    assert_eq!(report["settings"]["seed"], 3);
    assert_eq!(first, run("3"));
    assert_ne!(first, run("4"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
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

#[test]
fn a_pattern_is_simulated_with_its_repairs_and_a_faulty_one_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = include_str!("../../../tenure-bench/patterns/linear_regression.toml");
    std::fs::write(folder.path().join("p.toml"), file).unwrap();
    std::fs::write(folder.path().join("bad.toml"), file.replace("size = 4", "size = 0")).unwrap();
    let words = ["sim", "p.toml", "--cpus", "2,4", "--us", "5"];
    let json = tenure_in(folder.path(), &[&words[..], &["--json", "-"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let scenario = &report["groups"][0]["scenarios"][0];
    assert_eq!(scenario["id"], "pattern/linear_regression");
    assert_eq!(report["repairs"][0]["bytes"], 12);
    assert_eq!(scenario["points"][1]["rows"][0]["roles"][0]["threads"], 4);
    let output = tenure_in(folder.path(), &words);
    assert!(text(&output.stdout).contains("apart takes 0."), "{}", text(&output.stdout));
    assert!(folder.path().join("tenure-report/sim-linear-regression.html").exists());
    is_refused(
        &tenure_in(folder.path(), &["sim", "bad.toml"]),
        &["bad.toml", "line 14", "0 bytes"],
    );
    is_refused(&tenure_in(folder.path(), &["sim", "no.toml"]), &["cannot read no.toml"]);
    is_refused(&tenure_in(folder.path(), &["sim", "p.toml", "refs"]), &["alone"]);
}
