//! Colours and markers.
//!
//! plotters writes colours as numbers, and a page that follows the reader's choice of light or dark
//! needs names. So charts are drawn in placeholder colours that mean nothing
//! ([`Role::placeholder`]), and [`themed`] replaces each by the CSS variable of its role.
//! [`variables`] defines them, for both schemes, from the one table here, whose contrast a test
//! checks.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// What something in a chart is, and so which colour it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Text that matters.
    Ink,
    /// Text beside it: ticks, captions.
    Muted,
    /// Lines behind the data.
    Grid,
    /// An area behind the data.
    Band,
    /// What everything lies on.
    Page,
    /// The variant that the others are compared with.
    Baseline,
    /// The variant that shows what the hardware allows. Its lines are dashed.
    Limit,
    /// Any other variant, by its place.
    Series(usize),
}

/// How many series have a colour of their own; the next has the first again, with another marker.
const SERIES: usize = 8;

/// Name, light, dark. The series follow Okabe and Ito's order of hues, which people with the common
/// kinds of colour blindness tell apart, darkened or lightened until they stand out from the page.
const COLOURS: [(&str, &str, &str); 7 + SERIES] = [
    ("ink", "#1b1f24", "#e8eaed"),
    ("muted", "#59616a", "#a6aeb7"),
    ("grid", "#e2e5e9", "#30363d"),
    ("band", "#f0f2f5", "#1f252c"),
    ("page", "#ffffff", "#14181d"),
    ("baseline", "#40464d", "#c3c9d0"),
    ("limit", "#7a828b", "#8b939c"),
    ("series-1", "#0067b0", "#58a6e8"),
    ("series-2", "#c44e00", "#f0884a"),
    ("series-3", "#00795a", "#3fbf95"),
    ("series-4", "#a8468c", "#dd86c0"),
    ("series-5", "#8a6500", "#d6b23a"),
    ("series-6", "#5b4fc4", "#a79ff5"),
    ("series-7", "#a02c2c", "#ea8080"),
    ("series-8", "#5c6a00", "#b4c24a"),
];

/// More names that only the page uses.
const PAGE: [(&str, &str, &str); 6] = [
    ("raised", "#f6f7f9", "#1b2027"),
    ("link", "#0059a8", "#7cbcf5"),
    ("holds", "#00693e", "#58c993"),
    ("does-not-hold", "#ab2317", "#f5938a"),
    ("not-resolved", "#745400", "#e2bc55"),
    ("needs-more-cpus", "#3a55a0", "#a5bcf3"),
];

impl Role {
    fn index(self) -> usize {
        match self {
            Self::Ink => 0,
            Self::Muted => 1,
            Self::Grid => 2,
            Self::Band => 3,
            Self::Page => 4,
            Self::Baseline => 5,
            Self::Limit => 6,
            Self::Series(place) => 7 + place % SERIES,
        }
    }

    /// The colour to draw in, for [`themed`] to find.
    pub(super) fn placeholder(self) -> RGBColor {
        // The table is short.
        #[allow(clippy::cast_possible_truncation)]
        RGBColor(0xFA, 0x01, self.index() as u8)
    }
}

/// The SVG with each placeholder replaced by the variable it stands for.
pub(super) fn themed(svg: &str) -> String {
    let mut svg = svg.to_owned();
    for (index, (name, ..)) in COLOURS.iter().enumerate() {
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

/// CSS that defines the variables: light, and dark for screens whose reader wants it. Paper is
/// light.
pub(super) fn variables() -> String {
    let mut css = String::from(":root {\n  color-scheme: light dark;\n");
    let all = || COLOURS.iter().chain(&PAGE);
    for (name, light, _) in all() {
        let _ = writeln!(css, "  --{name}: {light};");
    }
    css += "}\n@media screen and (prefers-color-scheme: dark) {\n  :root {\n";
    for (name, _, dark) in all() {
        let _ = writeln!(css, "    --{name}: {dark};");
    }
    css + "  }\n}\n"
}

/// A filled shape, so that series are told apart without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Square,
    Circle,
    Up,
    Diamond,
    Down,
    Plus,
    Cross,
}

impl Marker {
    /// The marker of the series at a place. Squares are the baseline's.
    pub(super) fn of_series(place: usize) -> Self {
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

    /// Its outline around the origin, `size` from the middle to the edge of a circle of its area.
    pub(super) fn outline(self, size: f64) -> Vec<(i32, i32)> {
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
        // A few units of a canvas.
        #[allow(clippy::cast_possible_truncation)]
        points.into_iter().map(|(x, y)| (x.round() as i32, y.round() as i32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2: relative luminance, and the contrast of two colours.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour: &str| {
            let channel = |at: usize| {
                let value = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
                let value = f64::from(value) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn text_has_the_contrast_of_aa_and_data_that_of_graphics() {
        let all = || COLOURS.iter().chain(&PAGE);
        let find = |wanted: &str| all().find(|(name, ..)| *name == wanted).unwrap();
        let (page, raised, band) = (find("page"), find("raised"), find("band"));
        for (name, light, dark) in all() {
            let least = match *name {
                "grid" | "band" | "page" | "raised" => continue,
                _ if name.starts_with("series-") || *name == "limit" => 3.0,
                _ => 4.5,
            };
            for behind in [page, raised, band] {
                assert!(contrast(light, behind.1) >= least, "{name} on {} in light", behind.0);
                assert!(contrast(dark, behind.2) >= least, "{name} on {} in dark", behind.0);
            }
        }
    }

    #[test]
    fn no_placeholder_is_left_and_limits_are_dashed() {
        let svg = themed(
            "<path stroke=\"#FA0106\"/><path stroke=\"#FA0107\"/><text fill=\"#FA0100\"></text>",
        );
        assert_eq!(
            svg,
            "<path stroke=\"var(--limit)\" stroke-dasharray=\"22 14\"/>\
             <path stroke=\"var(--series-1)\"/><text fill=\"var(--ink)\"></text>"
        );
    }

    #[test]
    fn the_first_six_series_differ_in_their_markers_and_none_has_the_baselines() {
        let markers: Vec<_> = (0..6).map(Marker::of_series).collect();
        for (index, marker) in markers.iter().enumerate() {
            assert!(!markers[..index].contains(marker) && *marker != Marker::Square);
        }
    }
}
