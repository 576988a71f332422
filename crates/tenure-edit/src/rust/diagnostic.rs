//! The compiler's messages, as JSON.

use serde::Deserialize;
use std::ops::Range;

/// A message of the compiler. Fields are named as rustc names them.
#[derive(Debug, Deserialize)]
pub(super) struct Diagnostic {
    pub(super) message: String,
    code: Option<ErrorCode>,
    level: String,
    pub(super) spans: Vec<DiagnosticSpan>,
    #[serde(default)]
    children: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct ErrorCode {
    code: String,
}

/// A piece of source that a message is about.
#[derive(Debug, Deserialize)]
pub(super) struct DiagnosticSpan {
    pub(super) file_name: String,
    byte_start: usize,
    byte_end: usize,
    pub(super) line_start: u64,
    is_primary: bool,
    label: Option<String>,
    expansion: Option<Box<Expansion>>,
    suggested_replacement: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Expansion {
    span: DiagnosticSpan,
}

/// A line of `cargo build --message-format=json`.
#[derive(Debug, Deserialize)]
struct CargoLine {
    message: Diagnostic,
}

/// The messages in the output of `cargo build --message-format=json`, or of `rustc --error-format=json`.
pub(super) fn parse(output: &str) -> Vec<Diagnostic> {
    let of_line = |line: &str| {
        let of_cargo = serde_json::from_str::<CargoLine>(line).map(|line| line.message);
        of_cargo.or_else(|_| serde_json::from_str(line)).ok()
    };
    output.lines().filter_map(of_line).collect()
}

impl Diagnostic {
    /// The code, such as `E0308`, or a lint's name.
    pub(super) fn code(&self) -> &str {
        self.code.as_ref().map_or("", |code| &code.code)
    }

    /// An error with a place: not the summary of the others.
    pub(super) fn is_error(&self) -> bool {
        self.level.starts_with("error") && (!self.code().is_empty() || !self.spans.is_empty())
    }

    /// The files that it names.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().flat_map(DiagnosticSpan::files)
    }

    pub(super) fn primary(&self) -> Option<&DiagnosticSpan> {
        self.spans.iter().find(|span| span.is_primary)
    }

    /// What the primary span is labelled with.
    pub(super) fn label(&self) -> &str {
        self.primary().and_then(|span| span.label.as_deref()).unwrap_or_default()
    }

    /// The other spans that have labels.
    pub(super) fn labelled(&self) -> impl Iterator<Item = (&DiagnosticSpan, &str)> {
        let others = self.spans.iter().filter(|span| !span.is_primary);
        others.filter_map(|span| Some((span, span.label.as_deref()?)))
    }

    /// What the compiler suggests to remove.
    pub(super) fn suggestions(&self) -> impl Iterator<Item = &DiagnosticSpan> {
        let spans = self.children.iter().flat_map(|child| &child.spans);
        spans.filter(|span| span.suggested_replacement.as_deref() == Some(""))
    }

    /// What was expected and what was found, of "expected `A`, found `B`".
    pub(super) fn expected(&self) -> Option<(&str, &str)> {
        let (expected, found) = self.label().strip_prefix("expected ")?.split_once(", found ")?;
        Some((quoted(expected), quoted(found)))
    }
}

/// What stands between the first two backticks, or all of it.
pub(super) fn quoted(words: &str) -> &str {
    words.split('`').nth(1).unwrap_or(words)
}

impl DiagnosticSpan {
    pub(super) fn range(&self) -> Range<usize> {
        self.byte_start..self.byte_end
    }

    /// The file, and those of the macros' calls that made what is there.
    fn files(&self) -> impl Iterator<Item = &str> {
        let calls = std::iter::successors(Some(self), |span| Some(&span.expansion.as_ref()?.span));
        calls.map(|span| span.file_name.as_str())
    }

    /// The span in a file that `is_known`: of what a macro made, where it was called.
    pub(super) fn in_file(&self, is_known: &dyn Fn(&str) -> bool) -> &Self {
        match &self.expansion {
            Some(expansion) if !is_known(&self.file_name) => expansion.span.in_file(is_known),
            _ => self,
        }
    }
}
