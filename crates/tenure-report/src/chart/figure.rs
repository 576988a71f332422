//! Charts with their captions, what they show in words, and the key to them.

use crate::words;
use serde::Serialize;

use super::bars::{self, Bar};
use super::canvas::{self, Alternative};
use super::lines::{self, Axes, Dot, Series};
use super::theme::{Marker, Role};

/// A variant in the key.
#[derive(Serialize)]
pub struct Key {
    swatch: String,
    name: String,
    mark: &'static str,
}

/// A chart with its caption.
#[derive(Serialize)]
pub struct Figure {
    /// `lines` or `bars`.
    kind: &'static str,
    caption: String,
    aside: String,
    svg: String,
}

/// What the others are compared with, or what the hardware allows; empty for the rest, and for
/// those whose name says it.
pub fn mark(name: &str, is_baseline: bool, is_limit: bool) -> &'static str {
    let mark = match (is_baseline, is_limit) {
        (true, _) => "baseline",
        (_, true) => "limit",
        _ => "",
    };
    if name == mark { "" } else { mark }
}

/// How a variant is drawn, everywhere in its scenario.
pub struct Look<'a> {
    /// The variant.
    pub name: &'a str,
    /// Its colour.
    pub role: Role,
    marker: Marker,
}

/// The look of each of `names`, which may repeat.
pub fn looks<'a>(
    names: impl Iterator<Item = &'a str>,
    baseline: &str,
    limit: Option<&str>,
) -> Vec<Look<'a>> {
    let mut looks: Vec<Look<'a>> = Vec::new();
    let mut place = 0;
    for name in names {
        if looks.iter().any(|look| look.name == name) {
            continue;
        }
        let (role, marker) = if name == baseline {
            (Role::Baseline, Marker::Square)
        } else if limit == Some(name) {
            (Role::Limit, Marker::None)
        } else {
            place += 1;
            (Role::Series(place - 1), Marker::of_series(place - 1))
        };
        looks.push(Look { name, role, marker });
    }
    looks
}

/// The key to charts of lines.
pub fn keys(looks: &[Look<'_>]) -> Vec<Key> {
    looks
        .iter()
        .map(|look| Key {
            swatch: canvas::swatch(look.role, look.marker),
            name: look.name.to_owned(),
            mark: mark(look.name, look.role == Role::Baseline, look.role == Role::Limit),
        })
        .collect()
}

/// What a chart of bars says beside its bars.
pub struct Bars<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// For those who do not see it.
    pub title: &'a str,
    /// Above the chart.
    pub caption: &'a str,
    /// Beside the caption, in smaller letters.
    pub aside: &'a str,
}

impl Bars<'_> {
    /// The chart; `None` if there is nothing to draw. `described` has each bar in words.
    pub fn figure(&self, bars: &[Bar<'_>], described: &[String]) -> Option<Figure> {
        let description = format!("Bars. {}.", described.join(", "));
        let alternative = Alternative { id: self.id, title: self.title, description: &description };
        Some(Figure {
            kind: "bars",
            caption: self.caption.to_owned(),
            aside: self.aside.to_owned(),
            svg: bars::chart(bars, &alternative)?,
        })
    }
}

/// What a chart of lines says beside its lines.
pub struct Curve<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// For those who do not see it, to be followed by what it is over: `Get and put: throughput`.
    pub title: &'a str,
    /// Above the chart.
    pub caption: &'a str,
    /// Which direction is better.
    pub better: &'a str,
    /// The vertical axis' unit, in full.
    pub unit: &'a str,
    /// What is drawn beside the lines.
    pub axes: Axes<'a>,
}

impl Curve<'_> {
    /// The chart; `None` if there is nothing to draw. `dots` has the figures of a variant.
    pub fn figure(&self, looks: &[Look<'_>], dots: impl Fn(&str) -> Vec<Dot>) -> Option<Figure> {
        let all: Vec<(&str, Series)> = looks
            .iter()
            .map(|look| {
                let mut dots = dots(look.name);
                if look.role == Role::Limit {
                    // A dashed line has no place for it, and the table has it.
                    dots.iter_mut().for_each(|dot| dot.interval = None);
                }
                (look.name, Series { role: look.role, marker: look.marker, dots })
            })
            .filter(|(_, series)| !series.dots.is_empty())
            .collect();
        let description = self.described(&all);
        let series: Vec<_> = all.into_iter().map(|(_, series)| series).collect();
        let title = format!("{} over {}", self.title, self.axes.name);
        let alternative = Alternative { id: self.id, title: &title, description: &description };
        let (svg, scale) = lines::chart(&series, self.axes, &alternative)?;
        let mut aside = self.better.to_owned();
        if scale.logarithmic {
            aside += "; logarithmic scale";
        }
        if !self.axes.shaded.is_empty() {
            aside += &format!("; shaded: {}", self.axes.because);
        }
        Some(Figure { kind: "lines", caption: self.caption.to_owned(), aside, svg })
    }

    /// The ends of each line that goes all the way, in words.
    fn described(&self, all: &[(&str, Series)]) -> String {
        let places = || all.iter().flat_map(|(_, series)| &series.dots).map(|dot| dot.at);
        let (Some(first), Some(last)) = (places().min(), places().max()) else {
            return String::new();
        };
        let lines: Vec<_> = all
            .iter()
            .filter_map(|(name, series)| {
                let value = |at| {
                    let found = series.dots.iter().find(|dot| dot.at == at)?;
                    Some(words::number(found.value))
                };
                Some(format!("{name} from {} to {}", value(first)?, value(last)?))
            })
            .collect();
        format!(
            "Lines over {} to {} {}, in {}: {}.",
            words::whole(first),
            words::whole(last),
            self.axes.name,
            self.unit,
            lines.join(", ")
        )
    }
}
