//! A report as one HTML file.
//!
//! `view` turns a report into what the page shows, `svg` draws line maps, `theme` has their colours, and
//! `report.html`, `style.css` and `report.js` say how it looks and answers within the frame that all
//! reports share ([`tenure_report::html`]). Without a script everything is there to be read; with
//! one, findings can be filtered and cells be asked what they are.

mod answer;
mod observed;
mod svg;
mod theme;
mod view;

use tenure_report::{chart, html};

use crate::{Exporter, clean};
use tenure_model::Report;

/// One HTML page, with the report's JSON in it.
#[derive(Debug, Clone, Copy)]
pub struct HtmlExporter;

impl Exporter for HtmlExporter {
    fn export(&self, report: &Report) -> String {
        let colours = [&chart::theme::COLOURS[..], &theme::COLOURS[..]].concat();
        let css = html::css(&colours, include_str!("style.css"));
        // Not indented: of a large report that is half.
        let json =
            serde_json::to_string(report).expect("a report is made of strings, numbers and lists");
        let report = clean::cleaned(report);
        html::page(include_str!("report.html"), &view::FindingPage::of(&report), &css, &json)
    }
}

#[cfg(test)]
mod tests {
    use tenure_model::{Source, TimeCause, TimeDetail, TimePart, TimeSplit};

    use super::*;
    use crate::fixtures;
    use tenure_report::chart::checks;

    #[test]
    fn the_page_asks_for_nothing_from_anywhere() {
        for (_, report) in fixtures::all() {
            checks::asks_for_nothing(&HtmlExporter.export(&report));
        }
    }

    #[test]
    fn every_map_is_well_formed_and_says_in_words_what_it_shows() {
        for (name, report) in fixtures::all() {
            let page = HtmlExporter.export(&report);
            let maps = checks::charts_are_sound(&page);
            assert!(maps > 0 || report.findings.is_empty(), "{name}: {maps} maps");
            assert!(!html::elements(&page, "svg").iter().any(|svg| svg.contains("inf")), "{name}");
            checks::ids_are_sound(&page);
        }
    }

    #[test]
    fn a_share_says_what_it_is_a_share_of() {
        let mut report = fixtures::run();
        assert!(HtmlExporter.export(&report).contains("of contended accesses"));
        for observed in report.findings.iter_mut().filter_map(|it| it.observed.as_mut()) {
            observed.cost = Some(0.5);
        }
        let page = HtmlExporter.export(&report);
        assert!(page.contains("of the time seen, at most"));
        assert!(!page.contains("of contended accesses"));
    }

    #[test]
    fn the_data_in_the_page_is_the_report() {
        for (name, report) in fixtures::all() {
            let page = HtmlExporter.export(&report);
            assert_eq!(
                serde_json::from_str::<Report>(html::data(&page)).unwrap(),
                report,
                "{name}"
            );
        }
    }

    #[test]
    fn a_suggestion_is_drawn_before_and_after_with_everything_that_takes_part() {
        let page = HtmlExporter.export(&fixtures::route());
        for title in ["dst_entry, before", "dst_entry, after", "rtable, before", "rtable, after"] {
            assert!(page.contains(&format!(">{title}</title>")), "{title}");
        }
        assert!(page.contains("xfrm_dst"));
        assert!(page.contains("initialises the members by place"));
    }

    #[test]
    fn what_mends_elements_or_variables_is_on_the_page_with_what_to_write() {
        let mut report = fixtures::ranking();
        let (text, code) = ("Give `hits` a line of its own.".to_owned(), vec!["struct".to_owned()]);
        let name = "apart".to_owned();
        report.findings[0].repairs = vec![tenure_model::Repair {
            name,
            remedies: Vec::new(),
            target: Default::default(),
            brief: String::new(),
            text,
            code,
            edits: Vec::new(),
            bytes: 56,
            per_thread: false,
        }];
        let page = HtmlExporter.export(&report);
        assert!(
            page.contains("<p>Give <code>hits</code> a line of its own.</p>\n<pre>struct</pre>")
        );
    }

    #[test]
    fn names_in_where_the_time_went_are_code() {
        let mut report = fixtures::watched();
        let Source::Run(run) = &mut report.source else { panic!("{report:?}") };
        let holder = Some("thread `worker`".to_owned());
        let lock = TimeDetail { name: "pool".to_owned(), share: 0.3, holder, ..Default::default() };
        let (cause, interval, details) = (TimeCause::Lock, [0.2, 0.4], vec![lock]);
        run.time = Some(TimeSplit {
            seconds: 1.0,
            cpus: 2.0,
            used: 1.4,
            taken_by_others: 0.0,
            dominant: cause,
            running: Vec::new(),
            idle: vec![TimePart { cause, share: 0.3, interval, details }],
            without_cpu: 0.0,
        });
        let page = HtmlExporter.export(&report);
        assert!(page.contains("asleep in locks: pool 30 % (held by thread <code>worker</code>)"));
    }

    #[test]
    fn every_finding_can_be_found_by_its_type_its_members_and_its_kind() {
        let report = fixtures::ranking();
        let page = HtmlExporter.export(&report);
        let words: Vec<&str> = page
            .match_indices("data-words=\"")
            .map(|(at, _)| page[at + 12..].split('"').next().unwrap())
            .collect();
        assert_eq!(words.len(), report.findings.len());
        assert!(words.iter().any(|words| {
            ["rtable", "rt_genid", "dst.__refcnt", "embedding", "count"]
                .iter()
                .all(|word| words.contains(word))
        }));
    }

    #[test]
    fn fifty_findings_in_types_of_forty_lines_add_half_a_megabyte_to_their_data() {
        let report = fixtures::many();
        let page = HtmlExporter.export(&report);
        let data = serde_json::to_string(&report).unwrap().len();
        assert!(page.len() - data <= 512 << 10, "{} of which {data} are data", page.len());
    }
}
