//! A report as one HTML file.
//!
//! `view` turns a report into what the page shows, `lines` and `bars` draw, `theme` has the charts'
//! colours, and `report.html` and `style.css` say how it looks within the frame that all reports
//! share ([`tenure_report::html`]).

mod bars;
mod canvas;
mod figures;
mod lines;
mod theme;
mod ticks;
mod view;

use tenure_report::html;

use super::json;
use crate::result::Report;

/// The report as an HTML page.
#[must_use]
pub fn render(report: &Report) -> String {
    let css = html::css(&theme::COLOURS, include_str!("style.css"));
    html::page(include_str!("report.html"), &view::Page::of(report), &css, &json::render(report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    fn reports() -> [Report; 4] {
        [fixtures::xeon(), fixtures::one_cpu(), fixtures::hostile(), fixtures::degenerate()]
    }

    #[test]
    fn the_page_asks_for_nothing_from_anywhere() {
        for report in reports() {
            let page = render(&report);
            for word in ["http:", "https:", "src=", "@import", "url("] {
                assert!(!page.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn no_text_of_a_report_becomes_markup() {
        let page = render(&fixtures::hostile());
        assert!(!page.contains("<script>alert"));
        assert_eq!(html::elements(&page, "script").len(), 2, "the data and the one of the page");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }

    #[test]
    fn every_chart_is_well_formed_and_says_in_words_what_it_shows() {
        for report in reports() {
            let page = render(&report);
            let mut ids = Vec::new();
            for svg in html::elements(&page, "svg") {
                let document = roxmltree::Document::parse(svg).unwrap();
                let root = document.root_element();
                if root.attribute("aria-hidden").is_some() {
                    continue;
                }
                assert_eq!(root.attribute("role"), Some("img"));
                let labels = root.attribute("aria-labelledby").unwrap().split(' ');
                for (label, tag) in labels.zip(["title", "desc"]) {
                    let node = root.children().find(|node| node.has_tag_name(tag)).unwrap();
                    assert_eq!(node.attribute("id"), Some(label));
                    assert!(!node.text().unwrap_or_default().is_empty());
                    ids.push(label.to_owned());
                }
                assert!(!svg.contains("#FA01") && !svg.contains("NaN"), "{svg}");
            }
            let count = ids.len();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), count, "ids are unique");
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
    fn every_id_that_is_linked_to_is_there() {
        let page = render(&fixtures::xeon());
        for (at, _) in page.match_indices("href=\"#") {
            let id = page[at + 7..].split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        }
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
