//! An SVG to draw on: plotters' backend, dressed for a page.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::theme::{self, Marker, SeriesRole};

/// Units of the canvas in a pixel: plotters places everything on whole units.
const UNITS: i32 = 4;

/// Pixels in units of the canvas.
pub const fn px(pixels: i32) -> i32 {
    pixels * UNITS
}

/// [`px`] of widths and sizes, which are never negative.
pub const fn stroke(pixels: u32) -> u32 {
    pixels * UNITS.unsigned_abs()
}

/// Rounds to a whole unit of a canvas, which has a few thousand.
#[allow(clippy::cast_possible_truncation)]
pub fn rounded(place: f64) -> i32 {
    place.round() as i32
}

/// Size of text in charts, in pixels.
pub const TEXT: i32 = 13;

/// The part to draw on.
pub type ChartArea<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The result of drawing.
pub type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A chart's text for readers who cannot see it.
pub struct ChartText<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// What the chart is of.
    pub title: &'a str,
    /// What the chart shows.
    pub description: &'a str,
}

/// An SVG of `width` by `height` pixels at its natural size.
pub fn svg(
    width: i32,
    height: i32,
    alternative: &ChartText<'_>,
    draw: impl FnOnce(&ChartArea<'_>) -> Drawn,
) -> String {
    let (width, height) = (px(width), px(height));
    let body = body(width, height, draw);
    let ChartText { id, title, description } = alternative;
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title>\
         <desc id=\"{id}-d\">{}</desc>{body}</svg>",
        escaped(title),
        escaped(description),
    )
}

/// The line and marker of a series, for a legend.
pub fn swatch(role: SeriesRole, marker: Marker) -> String {
    let (width, height) = (px(28), px(14));
    let body = body(width, height, |area| {
        let middle = height / 2;
        area.draw(&PathElement::new([(px(1), middle), (width - px(1), middle)], line(role)))?;
        marker_at(area, (width / 2, middle), role, marker)
    });
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 {width} {height}\" aria-hidden=\"true\">{body}</svg>"
    )
}

fn body(width: i32, height: i32, draw: impl FnOnce(&ChartArea<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area).and_then(|()| area.present()).expect("a string takes every drawing");
    }
    let start = svg.find('>').map_or(0, |end| end + 1);
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    let body: String = svg[start..end].lines().map(str::trim_start).collect();
    // Opaque is the default.
    theme::themed(&body.replace(" opacity=\"1\"", "").replace(" fill-opacity=\"1\"", ""))
}

/// The stroke of a series.
pub fn line(role: SeriesRole) -> ShapeStyle {
    ShapeStyle { color: role.placeholder().into(), filled: false, stroke_width: stroke(2) }
}

/// A stroke of one pixel.
pub fn hair(role: SeriesRole) -> ShapeStyle {
    ShapeStyle { stroke_width: stroke(1), ..line(role) }
}

/// Text, placed by its named corner.
pub fn text(role: SeriesRole, h: HPos, v: VPos) -> TextStyle<'static> {
    /// plotters takes the height of a line and writes the size of its font.
    const LINE: f64 = 1.24;
    ("sans-serif", f64::from(px(TEXT)) * LINE)
        .into_font()
        .color(&role.placeholder())
        .pos(Pos::new(h, v))
}

/// Draws a marker.
pub fn marker_at(area: &ChartArea<'_>, at: (i32, i32), role: SeriesRole, marker: Marker) -> Drawn {
    marker_of(area, at, role, marker, f64::from(px(4)))
}

/// Draws a marker's outline.
pub fn hollow_at(area: &ChartArea<'_>, at: (i32, i32), role: SeriesRole, marker: Marker) -> Drawn {
    marker_at(area, at, role, marker)?;
    marker_of(area, at, SeriesRole::Page, marker, f64::from(px(4)) * 0.55)
}

fn marker_of(
    area: &ChartArea<'_>,
    at: (i32, i32),
    role: SeriesRole,
    marker: Marker,
    size: f64,
) -> Drawn {
    let outline = marker.outline(size);
    if outline.is_empty() {
        return Ok(());
    }
    let points: Vec<_> = outline.into_iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
    area.draw(&Polygon::new(points, role.placeholder().filled()))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
