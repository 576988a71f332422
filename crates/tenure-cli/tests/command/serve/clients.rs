use std::process::{Command, Output, Stdio};

/// The output of a program, if it is installed. Its status must be good.
#[track_caller]
pub(crate) fn run(program: &str, words: &[&str]) -> Option<String> {
    let output = output(program, words)?;
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{program} {words:?}: {}\n{said}\n{complained}",
        output.status
    );
    Some(said)
}

#[track_caller]
pub(crate) fn output(program: &str, words: &[&str]) -> Option<Output> {
    let command = Command::new(program).args(words).stdin(Stdio::null()).output();
    match command {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing(program),
        Err(error) => panic!("{program}: {error}"),
    }
}

#[track_caller]
pub(crate) fn missing<T>(program: &str) -> Option<T> {
    let required = std::env::var("TENURE_CLIENTS").is_ok_and(|value| value == "required");
    missing_where(required, program)
}

/// [`missing`] that panics if `required`.
#[track_caller]
pub(crate) fn missing_where<T>(required: bool, program: &str) -> Option<T> {
    assert!(!required, "{program} is not installed, and TENURE_CLIENTS asks for it");
    eprintln!("skipped: {program} is not installed");
    None
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The whole number behind a word of a report.
#[track_caller]
pub(crate) fn number(report: &str, word: &str) -> u64 {
    let behind = report.split_once(word).unwrap_or_else(|| panic!("no {word:?} in:\n{report}")).1;
    let digits: String = behind.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {word:?} in:\n{report}"))
}
