//! Charts of variants, for every page that has them.
//!
//! `bars` and `lines` draw, on [`canvas`]; [`theme`] has the colours and markers, `ticks` the
//! axes. `figure` puts a caption and words to a chart, and `charts.html` and `style.css` put it into a
//! page ([`page`]). What is drawn, and from what, is the reports' own.

mod bars;
pub mod canvas;
mod figure;
mod lines;
pub mod theme;
mod ticks;

pub mod checks;

use crate::html;
use serde::Serialize;

pub use bars::Bar;
pub use figure::{Bars, Curve, Figure, Key, Look, keys, looks, mark};
pub use lines::{Axes, Dot};

/// A page whose template may call `charts(it)`, where `it` has `keys` and `figures`. `rules` add to the
/// style sheets of all pages and of all charts.
pub fn page<T: Serialize>(template: &str, page: &T, rules: &str, json: &str) -> String {
    let template = template.to_owned() + include_str!("charts.html");
    let rules = include_str!("style.css").to_owned() + rules;
    html::page(&template, page, &html::css(&theme::COLOURS, &rules), json)
}
