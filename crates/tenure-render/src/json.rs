//! A report as JSON.

use tenure_model::Report;

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
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/find.schema.json");
        let schema = tenure_report::json::schema::<Report>();
        tenure_report::json::check_committed(path.as_ref(), &schema);
    }
}
