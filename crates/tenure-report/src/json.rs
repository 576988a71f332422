//! Reports as JSON, and their schemas.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

/// Indented JSON with a final line break. A figure that is not finite becomes `null`.
///
/// # Panics
///
/// Something has no JSON, such as a map whose keys are no strings. Reports are structs, lists, strings and numbers.
#[must_use]
pub fn render<T: Serialize>(report: &T) -> String {
    let text = serde_json::to_string_pretty(report);
    text.expect("a report is made of strings, numbers and lists") + "\n"
}

/// The JSON Schema of a report, as text like that of [`render`].
#[must_use]
pub fn schema<T: JsonSchema>() -> String {
    render(schemars::schema_for!(T).as_value())
}

/// For a test: the committed file says `text`, whatever its line breaks. With `TENURE_BLESS` in the
/// environment the file is written first.
///
/// # Panics
///
/// The file says something else, is not there, or could not be written.
#[track_caller]
pub fn check_committed(path: &Path, text: &str) {
    if std::env::var_os("TENURE_BLESS").is_some() {
        crate::file::write(path, text).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed.replace("\r\n", "\n") == text,
        "{} is not what the types generate; to write it anew, run this test with TENURE_BLESS=1",
        path.display()
    );
}
