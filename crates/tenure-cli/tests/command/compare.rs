use super::support::{checkout, is_refused, refused, tenure, tenure_in, text};

const RATE: [&str; 5] = ["compare", "--metric", "rate: ([0-9]+)", "--better", "higher"];

fn compare(words: &[&str]) -> std::process::Output {
    tenure(&[&RATE[..], words].concat())
}

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    let refused = |words: &[&str], said: &[&str]| refused("compare", words, said);
    refused(&["--", "one"], &["two commands", "--before REV"]);
    refused(&["--", "a", "b", "c"], &["two commands"]);
    refused(&["--metric", "(", "--", "a", "b"], &["--metric", "\"(\""]);
    refused(&["--metric", "last", "--", "a", "b"], &["--better"]);
    refused(&["--within", "x", "--", "a", "b"], &["2%"]);
    refused(&["--threads", "1,2", "--", "true", "true"], &["{threads}", "GOMAXPROCS"]);
    refused(&["--threads", "1", "--", "echo {threads}", "true"], &["each command"]);
    refused(&["--server", "a", "--", "b", "c"], &["--ready"]);
    refused(&["--server", "a", "--ready", "[", "--", "b", "c"], &["--ready", "\"[\""]);
    refused(&["--json", "/no/such/file", "--", "true", "true"], &["/no/such/file"]);
    let same = ["--json", "x", "--html", "x", "--", "true", "true"];
    refused(&same, &["--json and --html cannot write the same file"]);
    refused(&["--", "echo {threads}", "true"], &["add --threads 1,2"]);
    refused(&["--", "a", "b", "--rounds", "3"], &["go before it"]);
    refused(&["--rounds", "0", "--", "true", "true"], &["above 0"]);
    let port = ["--server", "a", "--ready", "99999", "--", "b", "c"];
    refused(&port, &["--ready 99999", "65535"]);
    refused(&["--metric", "took ([0-9]+)", "--", "a", "b"], &["--better lower"]);
    refused(&["--bad", "--", "a", "b"], &["tenure compare --help"]);
    refused(&["--env", "x", "--", "true", "true"], &["NAME=VALUE"]);
    refused(&["--after", "HEAD", "--", "true"], &["--before"]);
}

#[test]
fn a_command_that_fails_or_prints_no_figure_is_one_line_after_the_progress() {
    let last = |output: std::process::Output| {
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).lines().next_back().unwrap_or_default().to_owned()
    };
    assert_eq!(
        last(tenure(&["compare", "--", "true", "echo no luck >&2; exit 7"])),
        "error: `echo no luck >&2; exit 7` ended with status 7: no luck"
    );
    assert_eq!(
        last(compare(&["--", "echo rate: 1", "true"])),
        "error: `true` printed no number above 0 for `rate: ([0-9]+)`: it printed nothing at all"
    );
}

#[test]
fn the_faster_one_is_named_and_each_format_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["--json", "a.json", "--html", "a.html", "--markdown", "a.md"];
    let commands = ["--", "echo rate: 2", "echo rate: 3"];
    let output = tenure_in(folder.path(), &[&RATE[..], &files, &commands].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1.50× faster [1.50, 1.50]"), "{}", text(&output.stdout));
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("a.json")).unwrap();
    assert_eq!(json["schema"], "tenure-compare/1");
    assert_eq!(json["rows"][0]["verdict"]["kind"], "faster");
    assert!(read("a.html").contains("1.50× faster") && read("a.md").contains("1.50× faster"));
}

#[test]
fn a_gate_fails_only_for_what_is_slower_by_more() {
    let status = |more: &[&str], before: &str, after: &str| {
        compare(&[more, &["--", before, after]].concat()).status.code()
    };
    let gate = ["--fail-if-slower", "10%"];
    assert_eq!(status(&gate, "echo rate: 100", "echo rate: 80"), Some(1));
    assert_eq!(status(&gate, "echo rate: 100", "echo rate: 95"), Some(0));
    assert_eq!(status(&[], "echo rate: 100", "echo rate: 80"), Some(0));
    // Three rounds are no evidence.
    let few = [&gate[..], &["--rounds", "3"]].concat();
    assert_eq!(status(&few, "echo rate: 100", "echo rate: 80"), Some(0));
}

#[test]
fn a_revision_is_compared_with_the_working_tree() {
    let folder = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        assert!(git.current_dir(folder.path()).output().unwrap().status.success(), "{words:?}");
    };
    let write = |text: &str| std::fs::write(folder.path().join("rate"), text).unwrap();
    git(&["init"]);
    write("rate: 10\n");
    git(&["add", "."]);
    git(&["commit", "-m", "old"]);
    write("rate: 40\n");
    let words = [&RATE[..], &["--before", "HEAD", "--", "cat", "rate"]].concat();
    let output = tenure_in(folder.path(), &words);
    let shown = text(&output.stdout);
    assert!(shown.contains("before  cat rate (HEAD)"), "{shown}");
    assert!(shown.contains("after   cat rate (working tree)"), "{shown}");
    assert!(shown.contains("4.00× faster"), "{shown}");
    let words = [&RATE[..], &["--before", "gone", "--", "cat", "rate"]].concat();
    is_refused(&tenure_in(folder.path(), &words), &["no revision `gone`"]);
}

#[test]
fn a_revision_that_does_not_build_is_named() {
    let folder = tempfile::tempdir().unwrap();
    checkout(folder.path());
    let compared = |words: &[&str]| {
        let words = [&["compare", "--before", "HEAD"], words].concat();
        let output = tenure_in(folder.path(), &words);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).to_owned()
    };
    let said = compared(&["--build", "exit 3", "--", "true"]);
    assert!(said.contains("HEAD does not build: `exit 3` ended with status 3"), "{said}");
    let said = compared(&["--", "./no-such-program"]);
    assert!(said.contains("name its own by --build"), "{said}");
}
