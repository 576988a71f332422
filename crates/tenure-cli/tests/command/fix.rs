use super::support::{checkout, is_refused, refused, tenure_in, text};

#[test]
fn bad_input_is_refused_in_one_line_that_says_what_to_do() {
    let refused = |words: &[&str], said: &[&str]| refused("fix", words, said);
    refused(&["one", "--", "true"], &["'one'", "a change has a number"]);
    refused(&["--patch", "-", "--", "true"], &["--patch takes a file"]);
    refused(&["--json", "x", "--patch", "x", "--", "true"], &["cannot write the same file"]);
    refused(&["1", "--from", "no.json", "--", "true"], &["cannot read no.json"]);
    refused(&["--metric", "last", "--", "true"], &["--better"]);
    refused(&["--dependency", "other", "--", "true"], &["--dependency", "tenure"]);
    refused(&["--patch", "/no/such/file", "--", "true"], &["/no/such/file"]);
    refused(&[], &["BENCH"]);
}

#[test]
fn a_folder_without_a_commit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = tenure_in(folder.path(), &["fix", "--", "true"]);
    is_refused(&output, &["fix edits a copy of a git checkout", "is in none"]);
    assert!(text(&output.stdout).is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_command_of_which_nothing_is_recorded_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    checkout(folder.path());
    let words = ["fix", "--build", "true", "--metric", "([0-9]+)/s", "--better", "higher"];
    let output = tenure_in(folder.path(), &[&words[..], &["--", "echo 9/s"]].concat());
    let said = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("nothing was recorded: no instrumented program ran"), "{said}");
}

#[test]
fn a_patch_replaces_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.c");
    std::fs::write(&source, "int a;\n").unwrap();
    let output = tenure_in(folder.path(), &["fix", "--patch", "a.c", "--", "true"]);
    is_refused(&output, &["a.c is there, and no patch"]);
    assert_eq!(std::fs::read_to_string(&source).unwrap(), "int a;\n");
}
