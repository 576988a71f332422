//! A report as JSON, and the schema that says what is in it.

use crate::Report;

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

/// The JSON Schema of a report: `docs/find.schema.json`.
#[must_use]
pub fn schema() -> String {
    tenure_report::json::schema::<Report>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SCHEMA;
    use crate::fixtures;

    #[test]
    fn a_report_read_back_is_the_report_that_was_written() {
        for (name, report) in fixtures::all() {
            assert_eq!(parse(&render(&report)).unwrap(), report, "{name}");
        }
    }

    #[test]
    fn a_field_that_this_version_does_not_know_is_passed_over() {
        let text = render(&fixtures::empty()).replacen('{', "{ \"colour\": \"red\",", 1);
        assert_eq!(parse(&text).unwrap(), fixtures::empty());
    }

    #[test]
    fn kinds_and_roles_are_words_in_snake_case() {
        let text = render(&fixtures::route());
        assert!(text.contains("\"kind\": \"embedding\"") && text.contains("\"role\": \"count\""));
        assert!(text.contains(&format!("\"schema\": \"{SCHEMA}\"")));
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/find.schema.json");
        tenure_report::json::check_committed(path.as_ref(), &schema());
    }
}
