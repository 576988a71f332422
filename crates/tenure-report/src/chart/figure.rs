use crate::numbers;
use serde::Serialize;

use super::bars::{self, Bar};
use super::canvas::{self, ChartText};
use super::lines::{self, Axes, Dot, Series};
use super::theme::{Marker, SeriesRole};

/// A variant in the key.
#[derive(Debug, Clone, Serialize)]
pub struct Key {
    swatch: String,
    name: String,
    mark: &'static str,
}

/// A chart with its caption.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// `lines` or `bars`.
    kind: &'static str,
    caption: String,
    aside: String,
    svg: String,
}

/// A chart of lines with its key.
#[derive(Debug, Clone, Serialize)]
pub struct KeyedFigure {
    /// What each line is.
    pub keys: Vec<Key>,
    /// The chart.
    pub figure: Figure,
}

pub(crate) struct Look<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: SeriesRole,
    marker: Marker,
}

pub(crate) fn looks<'a>(
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
            (SeriesRole::Baseline, Marker::Square)
        } else if limit == Some(name) {
            (SeriesRole::Limit, Marker::None)
        } else {
            place += 1;
            (SeriesRole::Series(place - 1), Marker::of_series(place - 1))
        };
        looks.push(Look { name, role, marker });
    }
    looks
}

pub(crate) fn keys(looks: &[Look<'_>]) -> Vec<Key> {
    let key = |look: &Look<'_>| Key {
        swatch: canvas::swatch(look.role, look.marker),
        name: look.name.to_owned(),
        mark: match look.role {
            SeriesRole::Baseline if look.name != "baseline" => "baseline",
            SeriesRole::Limit if look.name != "limit" => "limit",
            _ => "",
        },
    };
    looks.iter().map(key).collect()
}

/// Bars with a caption, and `aside` in smaller letters; `None` if there is nothing to draw. `id` is unique in the page,
/// and `title` is for those who do not see the chart.
pub(crate) fn bars(
    id: &str,
    title: &str,
    caption: String,
    aside: String,
    bars: &[Bar<'_>],
) -> Option<Figure> {
    let described: Vec<_> = bars.iter().map(|bar| format!("{} {}", bar.name, bar.figure)).collect();
    let description = format!("Bars. {}.", described.join(", "));
    let svg = bars::chart(bars, &ChartText { id, title, description: &description })?;
    Some(Figure { kind: "bars", caption, aside, svg })
}

/// The text of a chart of lines.
#[derive(Debug, Clone, Copy)]
pub struct LineChart<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// The title for readers who cannot see it, before the name of the axis: `Get and put: throughput`.
    pub title: &'a str,
    /// The caption above the chart.
    pub caption: &'a str,
    /// Which direction is better.
    pub better: &'a str,
    /// The vertical axis' unit, in full.
    pub unit: &'a str,
    /// The axes.
    pub axes: Axes<'a>,
}

impl LineChart<'_> {
    /// The key and the chart of lines by their names, the baseline first; `None` if there is nothing to draw.
    #[must_use]
    pub fn of(&self, lines: &[(&str, Vec<Dot>)]) -> Option<KeyedFigure> {
        let baseline = lines.first().map_or("", |(name, _)| name);
        let looks = looks(lines.iter().map(|(name, _)| *name), baseline, None);
        let dots = |name: &str| {
            lines.iter().find(|line| line.0 == name).map_or_else(Vec::new, |line| line.1.clone())
        };
        Some(KeyedFigure { keys: keys(&looks), figure: self.figure(&looks, dots)? })
    }

    /// `None` if there is nothing to draw. `dots` returns a variant's figures.
    pub(crate) fn figure(
        &self,
        looks: &[Look<'_>],
        dots: impl Fn(&str) -> Vec<Dot>,
    ) -> Option<Figure> {
        let all: Vec<(&str, Series)> = looks
            .iter()
            .map(|look| {
                let mut dots = dots(look.name);
                if look.role == SeriesRole::Limit {
                    // No room at a dashed line; the table has it.
                    dots.iter_mut().for_each(|dot| dot.interval = None);
                }
                (look.name, Series { role: look.role, marker: look.marker, dots })
            })
            .filter(|(_, series)| !series.dots.is_empty())
            .collect();
        let description = self.described(&all);
        let series: Vec<_> = all.into_iter().map(|(_, series)| series).collect();
        let title = format!("{} over {}", self.title, self.axes.name);
        let alternative = ChartText { id: self.id, title: &title, description: &description };
        let (svg, scale) = lines::chart(&series, self.axes, &alternative)?;
        let mut aside = self.better.to_owned();
        if scale.logarithmic {
            aside += "; logarithmic scale";
        }
        let last = series.iter().flat_map(|series| &series.dots).map(|dot| dot.at).max();
        if let Some((_, why)) = self.axes.beyond.filter(|(edge, _)| last > Some(*edge)) {
            aside += &format!("; shaded: {why}");
        }
        Some(Figure { kind: "lines", caption: self.caption.to_owned(), aside, svg })
    }

    /// The ends of each line across the whole axis, in words.
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
                    Some(numbers::number(found.value))
                };
                Some(format!("{name} from {} to {}", value(first)?, value(last)?))
            })
            .collect();
        format!(
            "Lines over {} to {} {}, in {}: {}.",
            numbers::whole(first),
            numbers::whole(last),
            self.axes.name,
            self.unit,
            lines.join(", ")
        )
    }
}
