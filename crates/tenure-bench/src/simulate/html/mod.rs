//! A simulation's report as one HTML file.
//!
//! | module | what it shows |
//! |---|---|
//! | `view` | the header, and the scenarios one after the other |
//! | `curves` | charts over CPUs |
//! | `heat` | which members of which lines moved |
//! | `table` | all figures |
//! | `validation` | how far the simulator is from what was published |

mod curves;
mod heat;
mod table;
mod validation;
mod view;

use super::result::Report;
use super::words;
use tenure_report::chart;

/// The report as an HTML page.
#[must_use]
pub fn render(report: &Report) -> String {
    let json = tenure_report::json::render(report);
    chart::page(
        concat!(include_str!("sim.html"), include_str!("tables.html")),
        &view::Page::of(report),
        include_str!("style.css"),
        &json,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;
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
    fn every_picture_is_well_formed_and_says_in_words_what_it_shows() {
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
        for report in [fixtures::xeon(), fixtures::one_cpu(), fixtures::hostile()] {
            let page = render(&report);
            let data: Report = serde_json::from_str(html::data(&page)).unwrap();
            assert_eq!(data, report);
        }
    }

    #[test]
    fn the_same_report_is_the_same_page() {
        assert_eq!(render(&fixtures::xeon()), render(&fixtures::xeon()));
    }

    #[test]
    fn several_numbers_of_cpus_are_lines_and_one_is_bars() {
        let count =
            |page: &str, kind: &str| page.matches(&format!("data-chart=\"{kind}\"")).count();
        let many = render(&fixtures::xeon());
        assert_eq!(count(&many, "lines"), 12, "throughput, time, transfers and retries of each");
        assert_eq!(count(&many, "bars"), 0);
        let one = render(&fixtures::one_cpu());
        assert_eq!((count(&one, "lines"), count(&one, "bars")), (0, 3));
    }

    #[test]
    fn every_variant_of_the_most_cpus_has_its_hottest_line_drawn() {
        let page = render(&fixtures::xeon());
        assert_eq!(page.matches("data-chart=\"heat\"").count(), 4 + 3 + 6);
        assert!(!render(&fixtures::one_cpu()).contains("data-chart=\"heat\""));
    }

    #[test]
    fn what_the_simulator_gets_wrong_is_shown_as_openly_as_the_rest() {
        let report = fixtures::xeon();
        let page = render(&report);
        let shown = |kind: &str| page.matches(&format!("<td class=\"{kind}\">")).count();
        assert_eq!((shown("within"), shown("off")), (5, 2));
        let section = &page[page.find("id=\"validation\"").unwrap()..];
        assert!(!section[..section.find("</section>").unwrap()].contains("<details"), "not folded");
        for check in report.validation.iter().filter(|check| !check.within) {
            assert!(page.contains(&check.note));
        }
    }

    #[test]
    fn fitted_figures_are_marked_and_what_is_left_out_is_said() {
        let report = fixtures::xeon();
        let page = render(&report);
        let fitted = report.validation.iter().filter(|check| check.fitted).count();
        assert_eq!(page.matches("class=\"fitted\"").count(), fitted);
        assert!(
            fitted > 0 && page.contains(words::LEFT_OUT) && page.contains("docs/validation.md")
        );
    }

    #[test]
    fn charts_are_shaded_where_siblings_share_a_cache_and_say_so() {
        let why = "shaded: beyond 56 CPUs, siblings share a core&#x27;s cache";
        let page =
            render(&fixtures::xeon()).replace("&#39;", "&#x27;").replace("core's", "core&#x27;s");
        assert_eq!(page.matches(why).count(), 12, "every chart");
        assert!(!render(&fixtures::one_cpu()).contains("siblings share"));
    }

    #[test]
    fn without_published_figures_there_is_no_validation() {
        let page = render(&fixtures::one_cpu());
        assert!(!page.contains("id=\"validation\"") && !page.contains("#validation"));
    }

    #[test]
    fn figures_that_no_run_should_make_are_survived() {
        assert!(render(&fixtures::degenerate()).contains('–'));
    }

    /// Writes the fixtures' pages to look at: `TENURE_PAGES=folder cargo test -p tenure-bench
    /// look_at`.
    #[test]
    fn pages_to_look_at_are_written_when_asked_for() {
        let Some(folder) = std::env::var_os("TENURE_PAGES") else { return };
        for (report, name) in reports().iter().zip(["xeon", "one-cpu", "hostile", "degenerate"]) {
            let path = std::path::Path::new(&folder).join(format!("sim-{name}.html"));
            tenure_report::file::write(&path, &render(report)).unwrap();
        }
    }
}
