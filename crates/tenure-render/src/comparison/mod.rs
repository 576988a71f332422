//! Shows comparisons: which of two programs is faster. One module a format.

mod markdown;
mod page;
mod plot;
mod terminal;
pub(crate) mod words;

pub use markdown::markdown;
pub use page::page;
pub use terminal::terminal;

#[cfg(test)]
pub(crate) mod fixtures;

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compare.schema.json");
        let schema = tenure_report::json::schema::<tenure_model::Comparison>();
        tenure_report::json::check_committed(path.as_ref(), &schema);
    }
}
