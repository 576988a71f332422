//! A report as one HTML file.
//!
//! `view` turns a report into what the page shows, `figures` says which charts it has
//! ([`chart`] draws them), and `report.html` says how it looks within the frame that
//! all reports share ([`tenure_report::html`]).

mod figures;
mod view;

use super::json;
use crate::result::Report;
use tenure_report::{chart, verdict};

/// The report as an HTML page.
#[must_use]
pub fn render(report: &Report) -> String {
    let json = json::render(report);
    chart::page(include_str!("report.html"), &view::Page::of(report), verdict::CSS, &json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;
    use tenure_report::chart::checks;
    use tenure_report::html;

    fn reports() -> [Report; 4] {
        [fixtures::xeon(), fixtures::one_cpu(), fixtures::hostile(), fixtures::degenerate()]
    }

    #[test]
    fn the_page_asks_for_nothing_from_anywhere() {
        for report in reports() {
            checks::asks_for_nothing(&render(&report));
        }
    }

    #[test]
    fn no_text_of_a_report_becomes_markup() {
        checks::no_script_was_let_in(&render(&fixtures::hostile()), 2);
    }

    #[test]
    fn every_chart_is_well_formed_and_says_in_words_what_it_shows() {
        for report in reports() {
            checks::charts_are_sound(&render(&report));
        }
    }

    #[test]
    fn ids_are_unique_and_every_id_that_is_linked_to_is_there() {
        for report in reports() {
            checks::ids_are_sound(&render(&report));
        }
    }

    #[test]
    fn the_data_in_the_page_is_the_report() {
        for report in [fixtures::xeon(), fixtures::hostile()] {
            let page = render(&report);
            assert_eq!(json::parse(html::data(&page)).unwrap(), report);
        }
    }

    #[test]
    fn one_number_of_threads_is_shown_as_bars_and_several_as_lines() {
        let one = render(&fixtures::one_cpu());
        let count = |page: &str, word: &str| page.matches(word).count();
        assert_eq!(count(&one, "data-chart=\"bars\""), 3);
        assert_eq!(count(&one, "data-chart=\"lines\""), 0);
        let many = render(&fixtures::xeon());
        assert_eq!(count(&many, "data-chart=\"bars\""), 1, "the four cells");
        assert_eq!(count(&many, "data-chart=\"lines\""), 6, "throughput and retries of each");
    }

    #[test]
    fn single_operations_have_a_table_where_they_were_timed() {
        let tables =
            |report: &Report| render(report).matches(": single operations, ns</span>").count();
        let mut report = fixtures::xeon();
        assert_eq!(tables(&report), 1);
        for point in &mut report.groups[0].scenarios[0].points {
            point.rows.iter_mut().for_each(|row| row.singles = None);
        }
        assert_eq!(tables(&report), 0);
    }

    #[test]
    fn figures_that_no_run_should_make_are_survived() {
        let page = render(&fixtures::degenerate());
        assert!(page.contains('–'));
    }

    /// Writes the fixtures' pages to look at: `TENURE_PAGES=folder cargo test -p tenure-bench
    /// look_at`.
    #[test]
    fn pages_to_look_at_are_written_when_asked_for() {
        let Some(folder) = std::env::var_os("TENURE_PAGES") else { return };
        for (report, name) in reports().iter().zip(["xeon", "one-cpu", "hostile", "degenerate"]) {
            let path = std::path::Path::new(&folder).join(format!("{name}.html"));
            tenure_report::file::write(&path, &render(report)).unwrap();
        }
    }
}
