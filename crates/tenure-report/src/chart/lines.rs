use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{self, ChartArea, ChartText, Drawn, px};
use super::theme::{Marker, SeriesRole};
use super::ticks::{self, Scale};
use crate::numbers;

pub(super) struct Series {
    pub(super) role: SeriesRole,
    pub(super) marker: Marker,
    pub(super) dots: Vec<Dot>,
}

/// A figure at a place of the horizontal axis.
#[derive(Debug, Clone, Copy)]
pub struct Dot {
    /// The place.
    pub at: usize,
    /// The figure.
    pub value: f64,
    /// The ends of its interval, if any.
    pub interval: Option<(f64, f64)>,
}

impl Dot {
    fn is_sound(&self) -> bool {
        self.at > 0 && self.value.is_finite() && self.value >= 0.0
    }
}

/// A chart's axes.
#[derive(Debug, Clone, Copy)]
pub struct Axes<'a> {
    /// What the horizontal axis counts: `threads`, `CPUs`.
    pub name: &'a str,
    /// Where shading begins, and why: `more threads than CPUs`.
    pub beyond: Option<(usize, &'a str)>,
    /// Otherwise the vertical scale starts at 0, however far apart the values are.
    pub may_be_logarithmic: bool,
}

const WIDTH: i32 = 460;
const HEIGHT: i32 = 300;
const LEFT: i32 = 52;
const RIGHT: i32 = 14;
const TOP: i32 = 12;
const BOTTOM: i32 = 46;

pub(super) fn chart(
    series: &[Series],
    axes: Axes<'_>,
    alternative: &ChartText<'_>,
) -> Option<(String, Scale)> {
    let dots = || series.iter().flat_map(|series| &series.dots).filter(|dot| dot.is_sound());
    let values = dots().map(|dot| dot.value);
    let scale = if axes.may_be_logarithmic {
        Scale::of(values)
    } else {
        Scale::from_zero(values.fold(0.0, f64::max))
    };
    let mut counts: Vec<usize> = dots().map(|dot| dot.at).collect();
    counts.sort_unstable();
    counts.dedup();
    let chart = Chart { series, axes, scale: &scale, counts: &counts };
    if counts.is_empty() {
        return None;
    }
    let svg = canvas::svg(WIDTH, HEIGHT, alternative, |area| chart.draw(area));
    Some((svg, scale))
}

struct Chart<'a> {
    series: &'a [Series],
    axes: Axes<'a>,
    scale: &'a Scale,
    counts: &'a [usize],
}

impl Chart<'_> {
    fn draw(&self, area: &ChartArea<'_>) -> Drawn {
        self.band(area)?;
        self.grid(area)?;
        for series in self.series {
            self.line(area, series)?;
        }
        for series in self.series {
            for dot in series.dots.iter().filter(|dot| dot.is_sound()) {
                canvas::marker_at(
                    area,
                    (self.x(log2(dot.at)), self.y(dot.value)),
                    series.role,
                    series.marker,
                )?;
            }
        }
        Ok(())
    }

    fn band(&self, area: &ChartArea<'_>) -> Drawn {
        let last = self.counts.last().copied();
        let Some((edge, _)) = self.axes.beyond.filter(|(edge, _)| last > Some(*edge)) else {
            return Ok(());
        };
        let from = if edge < self.counts[0] { px(LEFT) } else { self.x(log2(edge)) };
        area.draw(&Rectangle::new(
            [(from, px(TOP)), (px(WIDTH - RIGHT), px(HEIGHT - BOTTOM))],
            SeriesRole::Band.placeholder().filled(),
        ))
    }

    fn grid(&self, area: &ChartArea<'_>) -> Drawn {
        let label = canvas::text(SeriesRole::Muted, HPos::Right, VPos::Center);
        for &tick in &self.scale.ticks {
            let y = self.y(tick);
            let across = [(px(LEFT), y), (px(WIDTH - RIGHT), y)];
            area.draw(&PathElement::new(across, canvas::hair(SeriesRole::Grid)))?;
            area.draw(&Text::new(numbers::short(tick), (px(LEFT - 8), y), label.clone()))?;
        }
        let floor = px(HEIGHT - BOTTOM);
        let axis = [(px(LEFT), floor), (px(WIDTH - RIGHT), floor)];
        area.draw(&PathElement::new(axis, canvas::hair(SeriesRole::Muted)))?;
        let places: Vec<f64> = self.counts.iter().map(|&count| log2(count)).collect();
        let room =
            f64::from(36) / f64::from(WIDTH - LEFT - RIGHT) * (self.span().1 - self.span().0);
        let labelled = ticks::with_room(&places, room);
        let label = canvas::text(SeriesRole::Muted, HPos::Center, VPos::Top);
        for (index, (&place, &count)) in places.iter().zip(self.counts).enumerate() {
            let x = self.x(place);
            let tick = [(x, floor), (x, floor + px(4))];
            area.draw(&PathElement::new(tick, canvas::hair(SeriesRole::Muted)))?;
            if labelled.contains(&index) {
                let at = (x, floor + px(8));
                area.draw(&Text::new(numbers::whole(count), at, label.clone()))?;
            }
        }
        let middle = px(i32::midpoint(LEFT, WIDTH - RIGHT));
        area.draw(&Text::new(self.axes.name, (middle, floor + px(26)), label))
    }

    fn line(&self, area: &ChartArea<'_>, series: &Series) -> Drawn {
        let sound = || series.dots.iter().filter(|dot| dot.is_sound());
        for dot in sound() {
            let Some((low, high)) = dot.interval else { continue };
            if low.is_finite() && high.is_finite() && low >= 0.0 {
                let x = self.x(log2(dot.at));
                let ends = [(x, self.y(low)), (x, self.y(high))];
                let style =
                    ShapeStyle { stroke_width: canvas::stroke(4), ..canvas::hair(series.role) };
                area.draw(&PathElement::new(ends, style))?;
            }
        }
        let points: Vec<_> = sound().map(|dot| (self.x(log2(dot.at)), self.y(dot.value))).collect();
        area.draw(&PathElement::new(points, canvas::line(series.role)))
    }

    /// The horizontal axis' ends, with air beside the data.
    fn span(&self) -> (f64, f64) {
        let (first, last) = (self.counts[0], self.counts[self.counts.len() - 1]);
        let air = ((log2(last) - log2(first)) * 0.04).max(0.1);
        (log2(first) - air, log2(last) + air)
    }

    fn x(&self, place: f64) -> i32 {
        let (from, to) = self.span();
        between(px(LEFT), px(WIDTH - RIGHT), (place - from) / (to - from))
    }

    fn y(&self, value: f64) -> i32 {
        let (low, high) = (self.scale.place(self.scale.low), self.scale.place(self.scale.high));
        // An interval may end beyond the scale.
        let part = ((self.scale.place(value) - low) / (high - low)).clamp(0.0, 1.0);
        between(px(HEIGHT - BOTTOM), px(TOP), part)
    }
}

fn between(from: i32, to: i32, part: f64) -> i32 {
    canvas::rounded(f64::from(from) + part * f64::from(to - from))
}

/// Counts double from point to point, so the axis is logarithmic.
fn log2(count: usize) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    (count as f64).log2()
}
