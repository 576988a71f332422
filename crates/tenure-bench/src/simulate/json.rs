//! A report as JSON, and the schema that says what is in it.

use super::result::Report;

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

/// The JSON Schema of a report: `docs/sim.schema.json`.
#[must_use]
pub fn schema() -> String {
    tenure_report::json::schema::<Report>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    #[test]
    fn a_report_read_back_is_the_report_that_was_written() {
        for report in [fixtures::xeon(), fixtures::simulated(), fixtures::hostile()] {
            assert_eq!(parse(&render(&report)).unwrap(), report);
        }
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sim.schema.json");
        tenure_report::json::check_committed(path.as_ref(), &schema());
    }
}
