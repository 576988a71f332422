//! Assertions about every page with charts.

use crate::html;

/// Asserts what holds of every page: it loads nothing, its charts and ids are sound, no figure is NaN, and its data is
/// `json`. Returns the number of charts.
#[track_caller]
pub fn page_is_sound(page: &str, json: &str) -> usize {
    asks_for_nothing(page);
    ids_are_sound(page);
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(html::data(page)), value(json));
    charts_are_sound(page)
}

/// Asserts that the page loads nothing.
#[track_caller]
pub fn asks_for_nothing(page: &str) {
    for word in ["http:", "https:", "src=", "@import", "url(", "fetch(", "innerHTML"] {
        assert!(!page.contains(word), "{word}");
    }
}

/// Asserts that there are only the data, every page's script, and the page's own: `scripts` in all.
#[track_caller]
pub fn no_script_was_let_in(page: &str, scripts: usize) {
    assert!(!page.contains("<script>alert"));
    assert_eq!(html::elements(page, "script").len(), scripts);
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

/// Asserts that charts are XML in the page's colours, with title and description. Returns their number.
#[track_caller]
pub fn charts_are_sound(page: &str) -> usize {
    let mut charts = 0;
    for svg in html::elements(page, "svg") {
        let document = roxmltree::Document::parse(svg).unwrap();
        let root = document.root_element();
        assert!(!svg.contains("#FA01") && !svg.contains("NaN"), "{svg}");
        if root.attribute("aria-hidden").is_some() {
            continue;
        }
        assert_eq!(root.attribute("role"), Some("img"));
        let labels = root.attribute("aria-labelledby").unwrap().split(' ');
        for (label, tag) in labels.zip(["title", "desc"]) {
            let node = root.children().find(|node| node.has_tag_name(tag)).unwrap();
            assert_eq!(node.attribute("id"), Some(label));
            assert!(!node.text().unwrap_or_default().is_empty());
        }
        charts += 1;
    }
    charts
}

/// Asserts that ids are unique, and that every linked id exists.
#[track_caller]
pub fn ids_are_sound(page: &str) {
    let page = &page[..page.find("<script").expect("every page has its data")];
    let mut ids = values(page, " id=\"");
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are unique");
    for id in values(page, "href=\"#") {
        assert!(ids.binary_search(&id).is_ok(), "{id}");
    }
}

/// The text after each `before`, up to a quotation mark.
fn values<'a>(page: &'a str, before: &str) -> Vec<&'a str> {
    page.match_indices(before)
        .map(|(at, _)| page[at + before.len()..].split('"').next().unwrap_or_default())
        .collect()
}
