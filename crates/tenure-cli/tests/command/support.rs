use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn tenure_command(folder: &Path, words: &[&str]) -> Command {
    let mut tenure = Command::new(env!("CARGO_BIN_EXE_tenure"));
    tenure.args(words).current_dir(folder).env_remove("NO_COLOR");
    tenure
}

pub(crate) fn tenure_in(folder: &Path, words: &[&str]) -> Output {
    tenure_command(folder, words).output().unwrap()
}

pub(crate) fn tenure(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    tenure_in(folder.path(), words)
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Status 2, nothing on standard output, and one line that has all of `words`.
#[track_caller]
pub(crate) fn is_refused(output: &Output, words: &[&str]) {
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(output.stdout.is_empty());
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with("error: ") && line.ends_with('\n'), "{line}");
    for word in words {
        assert!(line.contains(word), "`{word}` in: {line}");
    }
}

#[track_caller]
pub(crate) fn refused(command: &str, words: &[&str], said: &[&str]) {
    is_refused(&tenure(&[&[command], words].concat()), said);
}

/// What git prints in a folder.
pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    let output = git.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// Makes a git checkout of a folder, with one commit of what is in it.
pub(crate) fn checkout(folder: &Path) {
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
}
