//! Edits, applied to a text.

use tenure_model::SourceEdit;

/// The text with the edits made. Their files are not looked at; insertions at one place are made in their order.
///
/// # Panics
///
/// If edits overlap, or reach beyond the text or into a character.
#[must_use]
pub fn apply(text: &str, edits: &[SourceEdit]) -> String {
    let mut edits: Vec<&SourceEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.range);
    let (mut edited, mut done) = (String::new(), 0);
    for edit in edits {
        let [start, end] = edit.range.map(|at| at as usize);
        edited += &text[done..start];
        edited += &edit.text;
        done = end;
    }
    edited + &text[done..]
}
