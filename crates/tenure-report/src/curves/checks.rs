//! What holds of every report that is shown as curves, to be asserted by the tests of its instrument.

use std::fmt::Debug;
use std::path::Path;

use super::{Measured, page, terminal};
use crate::chart::checks;
use crate::terminal::Style;
use crate::{file, grid, json};
use serde::de::DeserializeOwned;

/// Of any report, whatever is in it: its page needs nothing else, has the report as data and is always the same; its
/// text is that without colour, has no figure that is no number, and a terminal of any width shows it.
///
/// With `TENURE_PAGES=folder` in the environment the page is written there under `name`, to be looked at:
/// `TENURE_PAGES=folder cargo test -p tenure-bench every_report`.
///
/// # Panics
///
/// If one of that is not so.
#[track_caller]
pub fn is_sound(measured: &impl Measured, name: &str) {
    let page = page::render(measured);
    assert_eq!(page, page::render(measured), "the same report is the same page");
    checks::page_is_sound(&page, &json::render(measured));
    if let Some(folder) = std::env::var_os("TENURE_PAGES") {
        let path = Path::new(&folder).join(format!("{name}.html"));
        file::write(&path, &page).expect("the page can be written");
    }
    grid::assert_colour_is_all_it_adds(|style| terminal::render(measured, style));
    for width in [0, 1, 10, 30, 80, 100, 120] {
        let text = terminal::render(measured, Style { width, colour: false });
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}

/// Of all kinds of reports of an instrument: each is [sound](is_sound); of the `hostile` one no text becomes markup; JSON
/// is read back, and figures of the `degenerate` one that are no numbers are shown as `–`.
///
/// # Panics
///
/// If one of that is not so.
#[track_caller]
pub fn all_are_sound<M: Measured + DeserializeOwned + PartialEq + Debug>(
    instrument: &str,
    usual: &[(&str, M)],
    hostile: &M,
    degenerate: &M,
) {
    let all = usual.iter().map(|(name, report)| (*name, report));
    for (name, report) in all.chain([("hostile", hostile), ("degenerate", degenerate)]) {
        is_sound(report, &format!("{instrument}{name}"));
    }
    usual.iter().map(|(_, report)| report).chain([hostile]).for_each(json_is_read_back);
    no_text_becomes_markup(hostile);
    let text = terminal::render(degenerate, Style::PLAIN);
    assert!(page::render(degenerate).contains('–') && text.contains('–'));
}

/// Of a report whose names are as short as ours: its text fits into usual terminals.
///
/// # Panics
///
/// If it does not.
#[track_caller]
pub fn fits_usual_terminals(measured: &impl Measured) {
    for width in [80, 100, 120] {
        let text = terminal::render(measured, Style { width, colour: false });
        let widest = text.lines().map(console::measure_text_width).max().unwrap_or(0);
        assert!(widest <= width, "{widest} > {width}\n{text}");
    }
}

/// Of a report in which every text tries to be markup: none becomes it.
///
/// # Panics
///
/// If one does.
#[track_caller]
pub fn no_text_becomes_markup(measured: &impl Measured) {
    checks::no_script_was_let_in(&page::render(measured), 2);
}

/// Of a report whose figures are finite: its JSON is read back as it was written, and fields that this version does not
/// know are passed over.
///
/// # Panics
///
/// If they are not.
#[track_caller]
pub fn json_is_read_back<M: Measured + DeserializeOwned + PartialEq + Debug>(measured: &M) {
    let text = json::render(measured).replacen('{', "{ \"colour\": \"red\",", 1);
    assert_eq!(serde_json::from_str::<M>(&text).expect("it is JSON"), *measured);
}
