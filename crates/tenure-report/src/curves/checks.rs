//! Assertions about every report that is shown as curves, for instruments' tests.

use std::fmt::Debug;

use super::{AsCurves, page, terminal};
use crate::chart::checks;
use crate::terminal::Style;
use crate::{grid, json};
use serde::de::DeserializeOwned;

/// Checks any report: its page loads nothing, has the report as data and is always the same; its text is the same
/// without colour, shows no NaN, and fits a terminal of any width.
///
/// # Panics
///
/// Panics on a failed check.
#[track_caller]
pub fn is_sound(measured: &impl AsCurves) {
    let page = page::render(measured);
    assert_eq!(page, page::render(measured), "the same report is the same page");
    checks::page_is_sound(&page, &json::render(measured));
    grid::assert_colour_is_all_it_adds(|style| terminal::render(measured, style));
    for width in [0, 1, 10, 30, 80, 100, 120] {
        let text = terminal::render(measured, Style { width, colour: false });
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}

/// Checks an instrument's reports: each is [sound](is_sound); no text of the `hostile` one becomes markup; JSON is read
/// back; NaNs of the `degenerate` one are shown as `–`.
///
/// # Panics
///
/// Panics on a failed check.
#[track_caller]
pub fn all_are_sound<M: AsCurves + DeserializeOwned + PartialEq + Debug>(
    usual: &[M],
    hostile: &M,
    degenerate: &M,
) {
    usual.iter().chain([hostile, degenerate]).for_each(is_sound);
    usual.iter().chain([hostile]).for_each(json_is_read_back);
    no_text_becomes_markup(hostile);
    let text = terminal::render(degenerate, Style::PLAIN);
    assert!(page::render(degenerate).contains('–') && text.contains('–'));
}

/// With names as short as ours, the text fits usual terminals.
///
/// # Panics
///
/// If it does not.
#[track_caller]
pub fn fits_usual_terminals(measured: &impl AsCurves) {
    for width in [80, 100, 120] {
        let text = terminal::render(measured, Style { width, colour: false });
        let widest = text.lines().map(console::measure_text_width).max().unwrap_or(0);
        assert!(widest <= width, "{widest} > {width}\n{text}");
    }
}

/// Checks a report in which every text tries to be markup.
///
/// # Panics
///
/// If one becomes markup.
#[track_caller]
pub fn no_text_becomes_markup(measured: &impl AsCurves) {
    checks::no_script_was_let_in(&page::render(measured), 2);
}

/// The JSON of finite figures is read back as written, and unknown fields are ignored.
///
/// # Panics
///
/// If not.
#[track_caller]
pub fn json_is_read_back<M: AsCurves + DeserializeOwned + PartialEq + Debug>(measured: &M) {
    let text = json::render(measured).replacen('{', "{ \"colour\": \"red\",", 1);
    assert_eq!(serde_json::from_str::<M>(&text).expect("it is JSON"), *measured);
}
