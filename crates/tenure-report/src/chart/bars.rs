//! Bars: name and figure above each bar, which never cuts them off.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{self, ChartArea, ChartText, Drawn, px};
use super::theme::SeriesRole;

pub(crate) struct Bar<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: SeriesRole,
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) figure: String,
}

const WIDTH: i32 = 460;
const ROW: i32 = 44;
const THICK: i32 = 14;
const SIDE: i32 = 2;

pub(super) fn chart(bars: &[Bar<'_>], alternative: &ChartText<'_>) -> Option<String> {
    let longest = bars
        .iter()
        .flat_map(|bar| [bar.value, bar.interval.map_or(0.0, |(_, high)| high)])
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    if longest <= 0.0 {
        return None;
    }
    let rows = i32::try_from(bars.len()).ok()?;
    Some(canvas::svg(WIDTH, rows * ROW, alternative, |area| draw(bars, longest, area)))
}

fn draw(bars: &[Bar<'_>], longest: f64, area: &ChartArea<'_>) -> Drawn {
    let end = |value: f64| {
        let part = if value.is_finite() { (value / longest).clamp(0.0, 1.0) } else { 0.0 };
        px(SIDE) + canvas::rounded(part * f64::from(px(WIDTH - 2 * SIDE)))
    };
    for (bar, row) in bars.iter().zip(0..) {
        let top = px(row * ROW);
        let name = canvas::text(SeriesRole::Ink, HPos::Left, VPos::Top);
        area.draw(&Text::new(fitted(bar.name, &bar.figure), (px(SIDE), top + px(3)), name))?;
        let right = canvas::text(SeriesRole::Muted, HPos::Right, VPos::Top);
        area.draw(&Text::new(bar.figure.as_str(), (px(WIDTH - SIDE), top + px(3)), right))?;
        let (from, to) = (top + px(22), top + px(22 + THICK));
        area.draw(&Rectangle::new(
            [(px(SIDE), from), (px(WIDTH - SIDE), to)],
            SeriesRole::Band.placeholder().filled(),
        ))?;
        area.draw(&Rectangle::new(
            [(px(SIDE), from), (end(bar.value), to)],
            bar.role.placeholder().filled(),
        ))?;
        if let Some((low, high)) = bar.interval {
            whisker(area, (end(low), end(high)), i32::midpoint(from, to))?;
        }
    }
    Ok(())
}

/// A bar with an edge that shows on any colour.
fn whisker(area: &ChartArea<'_>, (low, high): (i32, i32), y: i32) -> Drawn {
    let cap = px(4);
    let edge = ShapeStyle { stroke_width: canvas::stroke(3), ..canvas::line(SeriesRole::Page) };
    for style in [edge, canvas::hair(SeriesRole::Ink)] {
        area.draw(&PathElement::new([(low, y), (high, y)], style))?;
        area.draw(&PathElement::new([(low, y - cap), (low, y + cap)], style))?;
        area.draw(&PathElement::new([(high, y - cap), (high, y + cap)], style))?;
    }
    Ok(())
}

fn fitted(name: &str, figure: &str) -> String {
    /// Pixels, a little more than most fonts take.
    const LETTER: f64 = canvas::TEXT as f64 * 0.56;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let letters = (f64::from(WIDTH - 2 * SIDE) / LETTER) as usize;
    let room = letters.saturating_sub(figure.chars().count() + 2).max(8);
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}
