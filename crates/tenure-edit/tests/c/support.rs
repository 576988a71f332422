//! What tests of edits share.

use std::path::{Path, PathBuf};

use tenure_edit::c::{SourceText, edits};
use tenure_edit::{EditOptions, Padding, Refusal, SourceChange, SourcePlace};
use tenure_model::{Language, SourceEdit};

/// Lines of 64 bytes.
pub(crate) const OPTIONS: EditOptions = EditOptions { line_bytes: 64, padding: Padding::Crossbeam };

/// The language of a file.
pub(crate) fn language(file: &str) -> Language {
    if file.ends_with(".c") || file.ends_with(".h") { Language::C } else { Language::Cpp }
}

/// Names as a change has them.
pub(crate) fn names(names: &str) -> Vec<String> {
    names.split_whitespace().map(str::to_string).collect()
}

/// `members` on lines of their own: `a b|c` has `a` and `b` together.
pub(crate) fn members(members: &str) -> SourceChange {
    SourceChange::MembersApart { lines: members.split('|').map(names).collect() }
}

/// Variables on lines of their own.
pub(crate) fn variables(variables: &str) -> SourceChange {
    SourceChange::VariablesApart { names: names(variables) }
}

/// The files after a change at the line of the first file that has `place`.
pub(crate) fn changed_files(
    files: &[(&str, &str)],
    place: &str,
    change: &SourceChange,
) -> Result<Vec<String>, Refusal> {
    let text = files[0].1;
    let at = text.find(place).unwrap_or_else(|| panic!("{place:?} is not in {text}"));
    let line = text[..at].matches('\n').count() as u64 + 1;
    let place = SourcePlace { file: PathBuf::from(files[0].0), line };
    let sources: Vec<_> = files
        .iter()
        .map(|(file, text)| SourceText { file: Path::new(file), text, language: language(file) })
        .collect();
    let edits = edits(&sources, change, &place, &OPTIONS)?;
    Ok(files.iter().map(|(file, text)| applied(text, file, &edits)).collect())
}

/// A file's text with its edits.
pub(crate) fn applied(text: &str, file: &str, edits: &[SourceEdit]) -> String {
    let mut text = text.to_string();
    for edit in edits.iter().rev().filter(|edit| edit.file == file) {
        text.replace_range(edit.range[0] as usize..edit.range[1] as usize, &edit.text);
    }
    text
}

/// A file after a change at its first line that has `place`.
pub(crate) fn changed(file: &str, text: &str, place: &str, change: &SourceChange) -> String {
    changed_files(&[(file, text)], place, change)
        .unwrap_or_else(|refusal| panic!("{refusal}"))
        .swap_remove(0)
}

/// Why a change at the first line that has `place` is refused.
pub(crate) fn refused(file: &str, text: &str, place: &str, change: &SourceChange) -> String {
    match changed_files(&[(file, text)], place, change) {
        Ok(changed) => panic!("it is edited: {}", changed[0]),
        Err(refusal) => refusal.to_string(),
    }
}
