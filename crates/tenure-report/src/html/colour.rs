//! A page's colours, light and dark.

use std::fmt::Write as _;

/// A CSS variable for a role: `var(--ink)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// The name without its dashes.
    pub name: &'static str,
    /// `#rrggbb` on a light page.
    pub light: &'static str,
    /// `#rrggbb` on a dark page.
    pub dark: &'static str,
}

const INK: Colour = Colour::new("ink", "#1b1f24", "#e8eaed");
const MUTED: Colour = Colour::new("muted", "#59616a", "#a6aeb7");
const GRID: Colour = Colour::new("grid", "#e2e5e9", "#30363d");
const BAND: Colour = Colour::new("band", "#f0f2f5", "#1f252c");
const PAGE: Colour = Colour::new("page", "#ffffff", "#14181d");
const RAISED: Colour = Colour::new("raised", "#f6f7f9", "#1b2027");
const LINK: Colour = Colour::new("link", "#0059a8", "#7cbcf5");

/// The colours of every page: `ink`, main text; `muted`, text beside it; `grid`, lines under the data; `band`, an area
/// under the data; `page`, the background; `raised`, what stands out from it; `link`.
pub const BASE: [Colour; 7] = [INK, MUTED, GRID, BAND, PAGE, RAISED, LINK];

impl Colour {
    /// Both values are `#rrggbb`.
    #[must_use]
    pub const fn new(name: &'static str, light: &'static str, dark: &'static str) -> Self {
        Self { name, light, dark }
    }

    /// The least WCAG 2.2 contrast with its backgrounds (`page`, `raised` and `band`), light and dark. Level AA asks
    /// for 4.5 of text and for 3 of graphics.
    ///
    /// # Panics
    ///
    /// A value is not `#rrggbb`.
    #[must_use]
    pub fn least_contrast(&self) -> f64 {
        [PAGE, RAISED, BAND].iter().map(|on| self.contrast(on)).fold(f64::INFINITY, f64::min)
    }

    /// The lesser of the contrasts with another colour, light and dark.
    ///
    /// # Panics
    ///
    /// A value is not `#rrggbb`.
    #[must_use]
    pub fn contrast(&self, other: &Self) -> f64 {
        contrast(self.light, other.light).min(contrast(self.dark, other.dark))
    }
}

/// WCAG 2.2, from relative luminances.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("colours are #rrggbb");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// CSS that defines [`BASE`] and `more`: light, and dark for screens that prefer it. Paper is light.
pub(super) fn variables(more: &[Colour]) -> String {
    let all = || BASE.iter().chain(more);
    let mut css = String::from(":root {\n  color-scheme: light dark;\n");
    for Colour { name, light, .. } in all() {
        let _ = writeln!(css, "  --{name}: {light};");
    }
    css += "}\n@media screen and (prefers-color-scheme: dark) {\n  :root {\n";
    for Colour { name, dark, .. } in all() {
        let _ = writeln!(css, "    --{name}: {dark};");
    }
    css + "  }\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.005);
    }

    #[test]
    fn text_has_the_contrast_of_aa() {
        for colour in [INK, MUTED, LINK] {
            assert!(colour.least_contrast() >= 4.5, "{}", colour.name);
        }
    }
}
