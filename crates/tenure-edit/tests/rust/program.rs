//! A program of one file: edited, built and run.

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};
use tenure_edit::rust::{Asked, edits, follow_up};
use tenure_edit::{EditOptions, Padding, Refusal, SourceChange, SourcePlace, apply};

/// Builds that a change may take.
const MAX_ROUNDS: usize = 8;

pub(crate) fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(crate) fn members_apart(members: &[&str]) -> SourceChange {
    SourceChange::MembersApart { lines: vec![strings(members)] }
}

/// The line, from 1, that has the words.
pub(crate) fn line_of(text: &str, words: &str) -> u64 {
    1 + text.lines().position(|line| line.contains(words)).expect("the words are in the text")
        as u64
}

/// A program, and a change of it at the line that has some words.
pub(crate) struct Program<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: &'a str,
    pub(crate) change: SourceChange,
    pub(crate) padding: Padding,
}

impl<'a> Program<'a> {
    pub(crate) fn own(text: &'a str, at: &'a str, change: SourceChange) -> Self {
        Self { text, at, change, padding: Padding::Own }
    }

    pub(crate) fn crossbeam(text: &'a str, at: &'a str, change: SourceChange) -> Self {
        Self { text, at, change, padding: Padding::Crossbeam }
    }

    fn options(&self) -> EditOptions {
        EditOptions { line_bytes: 64, padding: self.padding }
    }

    /// The text after the first edits.
    pub(crate) fn first(&self) -> Result<String, Refusal> {
        let line = line_of(self.text, self.at);
        let place = SourcePlace { file: "main.rs".into(), line };
        Ok(apply(self.text, &edits(self.text, &self.change, &place, &self.options())?))
    }

    /// The text that builds.
    pub(crate) fn edited(&self) -> Result<String, Refusal> {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("main.rs");
        fs::write(&file, self.text).expect("a file");
        let before = build(directory.path(), &["--emit=metadata"]);
        assert!(before.status.success(), "the program did not build before: {}", shown(&before));

        let place = SourcePlace { file: "main.rs".into(), line: line_of(self.text, self.at) };
        let options = self.options();
        let asked =
            Asked { before: self.text, change: &self.change, place: &place, options: &options };
        let mut text = self.first()?;
        let read = |name: &Path| match name.to_str() {
            Some("main.rs") => fs::read_to_string(&file),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        for _ in 0..MAX_ROUNDS {
            fs::write(&file, &text).expect("a file");
            let built = build(directory.path(), &["--emit=metadata", "--error-format=json"]);
            if built.status.success() {
                return Ok(text);
            }
            let messages = String::from_utf8(built.stderr).expect("messages");
            text = apply(&text, &follow_up(&asked, &messages, &read)?);
        }
        panic!("after {MAX_ROUNDS} builds:\n{text}");
    }

    /// What the edited program prints, which has to be what it printed before.
    pub(crate) fn runs(&self) -> String {
        let edited = self.edited().expect("an edited program");
        let (before, after) = (printed(self.text), printed(&edited));
        assert_eq!(before, after, "the edited program prints something else:\n{edited}");
        edited
    }

    /// Why the change is refused, with its line.
    pub(crate) fn refused(&self) -> String {
        let refusal = match self.edited() {
            Ok(edited) => panic!("it was edited:\n{edited}"),
            Err(refusal) => refusal,
        };
        format!("{}: {}", refusal.place.line, refusal.why)
    }
}

fn build(directory: &Path, options: &[&str]) -> Output {
    Command::new("rustc")
        .args(["--edition=2021", "-Dwarnings", "-Adead_code", "main.rs"])
        .args(options)
        .current_dir(directory)
        .output()
        .expect("rustc")
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a program prints.
pub(crate) fn printed(text: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("main.rs"), text).expect("a file");
    let built = build(directory.path(), &[]);
    assert!(built.status.success(), "{}\n{text}", shown(&built));
    let run = Command::new(directory.path().join("main")).output().expect("a run");
    assert!(run.status.success(), "{}\n{text}", shown(&run));
    String::from_utf8(run.stdout).expect("a text")
}
