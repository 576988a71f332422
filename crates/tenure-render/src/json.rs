//! A report as JSON.

use crate::Exporter;
use tenure_model::Report;

/// Indented JSON, from which the report can be read back.
#[derive(Debug, Clone, Copy)]
pub struct JsonExporter;

impl Exporter for JsonExporter {
    fn export(&self, report: &Report) -> String {
        tenure_report::json::render(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_field_that_this_version_does_not_know_is_passed_over() {
        let text =
            JsonExporter.export(&fixtures::empty()).replacen('{', "{ \"colour\": \"red\",", 1);
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), fixtures::empty());
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/find.schema.json");
        let schema = tenure_report::json::schema::<Report>();
        tenure_report::json::check_committed(path.as_ref(), &schema);
    }
}
