//! A report as one HTML file.

use super::result::Report;
use super::table;
use tenure_report::terminal::Style;

/// The report as an HTML page.
#[must_use]
pub fn render(report: &Report) -> String {
    let text = table::render(report, Style::PLAIN);
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=utf-8>\n<title>tenure sim</title>\n<pre>\n{text}</pre>\n"
    )
}
