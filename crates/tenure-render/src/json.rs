//! A report as JSON.

use std::path::Path;

use crate::InputError;
use tenure_model::{Report, SCHEMA};

/// The report as indented JSON that ends in a line break.
#[must_use]
pub fn render(report: &Report) -> String {
    tenure_report::json::render(report)
}

/// Reads what [`render`] wrote.
///
/// # Errors
///
/// The text is not JSON, or not a report.
pub fn parse(text: &str) -> serde_json::Result<Report> {
    serde_json::from_str(text)
}

/// Reads the report in a file.
///
/// # Errors
///
/// The file cannot be read, or is not a report of this version.
pub fn read(path: &Path) -> Result<Report, InputError> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: String,
    }
    let text = InputError::text_of(path)?;
    let wrong = |what: &str| InputError::new(&format!("{} {what}", path.display()));
    let version: Result<Version, _> = serde_json::from_str(&text);
    match version {
        Ok(version) if version.schema != SCHEMA => Err(wrong(&format!(
            "is a report of version {}, and this command reads {SCHEMA}: make it anew",
            version.schema
        ))),
        _ => parse(&text).map_err(|error| wrong(&format!("is not a report: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_field_that_this_version_does_not_know_is_passed_over() {
        let text = render(&fixtures::empty()).replacen('{', "{ \"colour\": \"red\",", 1);
        assert_eq!(parse(&text).unwrap(), fixtures::empty());
    }

    #[test]
    fn a_file_that_is_no_report_is_refused_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.json");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(refused("{").contains("old.json is not a report: "));
        assert!(
            refused("{\"schema\": \"tenure-layout/1\"}")
                .contains("is a report of version tenure-layout/1")
        );
        std::fs::write(&path, render(&fixtures::run())).unwrap();
        assert_eq!(read(&path).unwrap(), fixtures::run());
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/find.schema.json");
        let schema = tenure_report::json::schema::<Report>();
        tenure_report::json::check_committed(path.as_ref(), &schema);
    }
}
