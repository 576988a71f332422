//! Colours and markers.
//!
//! plotters writes colours as numbers, but a page that follows the reader's choice of light or dark needs names. So
//! charts are drawn in placeholder colours ([`SeriesRole::placeholder`]), and [`themed`] replaces each by its role's CSS
//! variable: those of every page and [`COLOURS`], whose contrast a test checks.

use crate::html::{BASE, Colour};
use plotters::style::RGBColor;

/// Decides the colour of something in a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesRole {
    /// Text that matters.
    Ink,
    /// Ticks, captions.
    Muted,
    /// Lines under the data.
    Grid,
    /// An area under the data.
    Band,
    /// The background.
    Page,
    /// The variant that the others are compared with.
    Baseline,
    /// What the hardware allows, in dashed lines.
    Limit,
    /// Any other variant, by its place.
    Series(usize),
    /// An amount, by its opacity.
    Heat,
    /// What is as it should be.
    Good,
    /// What is not as it should be.
    Bad,
}

/// The next series begin again with another marker.
const SERIES: usize = 8;

/// The colours of charts, beside those of every page. The series have Okabe and Ito's hues, which people with the common kinds of colour
/// blindness tell apart, darkened or lightened until they stand out.
pub const COLOURS: [Colour; 2 + SERIES + 5] = [
    Colour::new("baseline", "#40464d", "#c3c9d0"),
    Colour::new("limit", "#7a828b", "#8b939c"),
    Colour::new("series-1", "#0067b0", "#58a6e8"),
    Colour::new("series-2", "#c44e00", "#f0884a"),
    Colour::new("series-3", "#00795a", "#3fbf95"),
    Colour::new("series-4", "#a8468c", "#dd86c0"),
    Colour::new("series-5", "#8a6500", "#d6b23a"),
    Colour::new("series-6", "#5b4fc4", "#a79ff5"),
    Colour::new("series-7", "#a02c2c", "#ea8080"),
    Colour::new("series-8", "#5c6a00", "#b4c24a"),
    Colour::new("holds", "#00693e", "#58c993"),
    Colour::new("does-not-hold", "#ab2317", "#f5938a"),
    Colour::new("not-resolved", "#745400", "#e2bc55"),
    Colour::new("needs-more-cpus", "#3a55a0", "#a5bcf3"),
    Colour::new("heat", "#b02a10", "#ff8a66"),
];

fn all() -> impl Iterator<Item = &'static Colour> {
    BASE.iter().chain(&COLOURS)
}

impl SeriesRole {
    fn name(self) -> &'static str {
        match self {
            Self::Ink => "ink",
            Self::Muted => "muted",
            Self::Grid => "grid",
            Self::Band => "band",
            Self::Page => "page",
            Self::Baseline => "baseline",
            Self::Limit => "limit",
            Self::Series(place) => COLOURS[2 + place % SERIES].name,
            Self::Heat => "heat",
            Self::Good => "holds",
            Self::Bad => "does-not-hold",
        }
    }

    /// The placeholder to draw in.
    pub fn placeholder(self) -> RGBColor {
        let place = all().position(|colour| colour.name == self.name());
        let place = place.expect("every role has a colour, as a test shows");
        #[allow(clippy::cast_possible_truncation)]
        RGBColor(0xFA, 0x01, place as u8)
    }
}

/// Replaces each placeholder in the SVG by its variable.
pub fn themed(svg: &str) -> String {
    let mut svg = svg.to_owned();
    for (index, Colour { name, .. }) in all().enumerate() {
        let dashes = if *name == "limit" { " stroke-dasharray=\"22 14\"" } else { "" };
        let placeholder = format!("#FA01{index:02X}");
        svg = svg
            .replace(
                &format!("stroke=\"{placeholder}\""),
                &format!("stroke=\"var(--{name})\"{dashes}"),
            )
            .replace(&placeholder, &format!("var(--{name})"));
    }
    svg
}

/// Tells series apart without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// Nothing.
    None,
    /// A square.
    Square,
    /// A circle.
    Circle,
    /// A triangle that points up.
    Up,
    /// A square on a corner.
    Diamond,
    /// A triangle that points down.
    Down,
    /// A plus sign.
    Plus,
    /// A saltire.
    Cross,
}

impl Marker {
    /// The marker of the series at a place. Squares are the baseline's.
    pub fn of_series(place: usize) -> Self {
        const SHAPES: [Marker; 6] = [
            Marker::Circle,
            Marker::Up,
            Marker::Diamond,
            Marker::Down,
            Marker::Cross,
            Marker::Plus,
        ];
        SHAPES[place % SHAPES.len()]
    }

    /// The outline around the origin; `size` is the radius of a circle of its area.
    pub fn outline(self, size: f64) -> Vec<(i32, i32)> {
        let ring = |corners: u32, first: f64, size: f64| -> Vec<(f64, f64)> {
            (0..corners)
                .map(|corner| first + f64::from(corner) * 360.0 / f64::from(corners))
                .map(|angle| (size * angle.to_radians().cos(), size * angle.to_radians().sin()))
                .collect()
        };
        let plus = |turn: f64| -> Vec<(f64, f64)> {
            let (long, short) = (size * 1.2, size * 0.42);
            [(long, -short), (long, short), (short, short)]
                .iter()
                .cycle()
                .take(12)
                .enumerate()
                .map(|(index, (x, y))| {
                    let quarter = f64::from(u32::try_from(index / 3).unwrap_or(0)) * 90.0;
                    let (sin, cos) = (quarter + turn).to_radians().sin_cos();
                    (x * cos - y * sin, x * sin + y * cos)
                })
                .collect()
        };
        let points = match self {
            Self::None => Vec::new(),
            Self::Square => ring(4, 45.0, size * 1.2),
            Self::Circle => ring(24, 0.0, size),
            Self::Up => ring(3, -90.0, size * 1.4),
            Self::Diamond => ring(4, 0.0, size * 1.3),
            Self::Down => ring(3, 90.0, size * 1.4),
            Self::Plus => plus(0.0),
            Self::Cross => plus(45.0),
        };
        #[allow(clippy::cast_possible_truncation)]
        points.into_iter().map(|(x, y)| (x.round() as i32, y.round() as i32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_contrast_of_aa_and_data_that_of_graphics() {
        for colour in &COLOURS {
            let is_data = colour.name.starts_with("series-") || colour.name == "limit";
            let least = if is_data { 3.0 } else { 4.5 };
            assert!(colour.least_contrast() >= least, "{}", colour.name);
        }
    }

    #[test]
    fn no_placeholder_is_left_and_limits_are_dashed() {
        let series = (0..SERIES).map(SeriesRole::Series);
        let plain = [
            SeriesRole::Ink,
            SeriesRole::Muted,
            SeriesRole::Grid,
            SeriesRole::Band,
            SeriesRole::Page,
            SeriesRole::Baseline,
        ];
        let states = [SeriesRole::Heat, SeriesRole::Good, SeriesRole::Bad];
        for role in plain.into_iter().chain(series).chain(states) {
            assert_eq!(
                themed(&format!("<path stroke=\"{0}\"/><text fill=\"{0}\"/>", written(role))),
                format!("<path stroke=\"var(--{0})\"/><text fill=\"var(--{0})\"/>", role.name())
            );
        }
        assert_eq!(
            themed(&format!("<path stroke=\"{}\"/>", written(SeriesRole::Limit))),
            "<path stroke=\"var(--limit)\" stroke-dasharray=\"22 14\"/>"
        );
    }

    fn written(role: SeriesRole) -> String {
        let RGBColor(red, green, blue) = role.placeholder();
        format!("#{red:02X}{green:02X}{blue:02X}")
    }

    #[test]
    fn the_first_six_series_differ_in_their_markers_and_none_has_the_baselines() {
        let markers: Vec<_> = (0..6).map(Marker::of_series).collect();
        for (index, marker) in markers.iter().enumerate() {
            assert!(!markers[..index].contains(marker) && *marker != Marker::Square);
        }
    }
}
