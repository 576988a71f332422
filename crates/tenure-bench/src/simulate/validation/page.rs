//! The chapter of a page: how far the simulator is from what was measured and published elsewhere.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use serde::Serialize;

use super::Check;
use crate::simulate::words as simulated;
use tenure_report::chart::canvas::{self, Alternative, Area, Drawn, px};
use tenure_report::chart::theme::{Marker, Role};
use tenure_report::curves::Chapter;
use tenure_report::html;
use tenure_report::words;

/// What the template shows.
#[derive(Serialize)]
struct Validation {
    /// All residuals on one axis, by family.
    overview: String,
    families: Vec<Family>,
}

#[derive(Serialize)]
struct Family {
    name: String,
    tally: String,
    checks: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    what: String,
    machine: String,
    cpus: String,
    published: String,
    simulated: String,
    unit: String,
    residual: String,
    svg: String,
    within: bool,
    fitted: bool,
    source: String,
    note: String,
}

/// The chapter of a page; `None` if nothing was compared.
pub(in crate::simulate) fn chapter(checks: &[Check]) -> Option<Chapter> {
    let lead = simulated::validity(checks);
    (!checks.is_empty()).then(|| Chapter {
        anchor: "validation",
        title: "Validation",
        html: html::part(include_str!("page.html"), &shown(checks, &lead)),
        lead,
    })
}

fn shown(checks: &[Check], headline: &str) -> Validation {
    let mut names: Vec<&str> = Vec::new();
    for check in checks {
        if !names.contains(&check.family.as_str()) {
            names.push(&check.family);
        }
    }
    let families: Vec<(&str, Vec<&Check>)> = names
        .into_iter()
        .map(|name| (name, checks.iter().filter(|check| check.family == name).collect()))
        .collect();
    let tracks: Vec<_> = families
        .iter()
        .map(|(name, checks)| Track {
            name,
            tally: tally(checks),
            dots: checks.iter().map(|check| dot(check)).collect(),
        })
        .collect();
    Validation {
        overview: overview(&tracks, "validation-overview", headline),
        families: families
            .iter()
            .enumerate()
            .map(|(family, (name, checks))| Family {
                name: (*name).to_owned(),
                tally: tally(checks),
                checks: checks
                    .iter()
                    .enumerate()
                    .map(|(at, check)| row(check, &format!("validation-{family}-{at}")))
                    .collect(),
            })
            .collect(),
    }
}

fn tally(checks: &[&Check]) -> String {
    let within = checks.iter().filter(|check| check.within).count();
    format!("{} of {}", words::whole(within), words::whole(checks.len()))
}

fn dot(check: &Check) -> Dot {
    Dot { residual: check.residual, within: check.within, fitted: check.fitted }
}

fn row(check: &Check, id: &str) -> Row {
    let [low, high] = check.published.map(words::short);
    let residual = if check.residual.is_finite() {
        format!("{}×", words::ratio(check.residual))
    } else {
        words::number(check.residual)
    };
    Row {
        what: check.what.clone(),
        machine: check.machine.clone(),
        cpus: words::whole(check.cpus),
        published: if low == high { low } else { format!("{low} to {high}") },
        simulated: words::number(check.simulated),
        unit: if check.unit == "x" { "×".to_owned() } else { check.unit.clone() },
        svg: single(dot(check), id, &residual),
        residual,
        within: check.within,
        fitted: check.fitted,
        source: check.source.clone(),
        note: check.note.clone(),
    }
}

/// A residual as a dot on a logarithmic axis: 1/4 to 4 of the published value, with the band that counts as near.
#[derive(Debug, Clone, Copy)]
struct Dot {
    residual: f64,
    within: bool,
    /// Whether a parameter was fitted to it.
    fitted: bool,
}

/// A family's residuals.
struct Track<'a> {
    name: &'a str,
    /// How many are near.
    tally: String,
    dots: Vec<Dot>,
}

/// The axis ends at 2 to this power, and to its inverse.
const REACH: f64 = 2.0;
const NEAR: f64 = 1.5;
const TICKS: [(f64, &str); 5] = [(0.25, "¼"), (0.5, "½"), (1.0, "1"), (2.0, "2"), (4.0, "4")];

/// Where an axis lies.
#[derive(Clone, Copy)]
struct Axis {
    left: i32,
    right: i32,
}

impl Axis {
    /// The place of a residual, at the end of the axis if it is beyond; `None` if it is no number.
    fn place(self, residual: f64) -> Option<i32> {
        let log = residual.max(0.0).log2().clamp(-REACH, REACH);
        let part = (log + REACH) / (2.0 * REACH);
        let place = f64::from(self.left) + part * f64::from(self.right - self.left);
        // Places on a canvas of a few thousand units.
        #[allow(clippy::cast_possible_truncation)]
        let rounded = place.round() as i32;
        (!residual.is_nan()).then_some(rounded)
    }

    /// The band, and lines at the ticks.
    fn ground(self, area: &Area<'_>, top: i32, bottom: i32) -> Drawn {
        let [from, to] = [1.0 / NEAR, NEAR].map(|end| self.place(end).unwrap_or(self.left));
        area.draw(&Rectangle::new(
            [(from, top), (to, bottom)],
            Role::Good.placeholder().mix(0.16).filled(),
        ))?;
        for (tick, _) in TICKS {
            let Some(x) = self.place(tick) else { continue };
            let role = if tick == 1.0 { Role::Muted } else { Role::Grid };
            area.draw(&PathElement::new([(x, top), (x, bottom)], canvas::hair(role)))?;
        }
        Ok(())
    }

    /// How far each dot gives way downwards or upwards to those before it.
    fn spread(self, dots: &[Dot]) -> Vec<i32> {
        const WAYS: [i32; 3] = [0, -6, 6];
        let places: Vec<_> = dots.iter().map(|dot| self.place(dot.residual)).collect();
        let near = |at: usize| {
            let close = |other: &&Option<i32>| {
                other.zip(places[at]).is_some_and(|(one, other)| (one - other).abs() < px(8))
            };
            places[..at].iter().filter(close).count()
        };
        (0..dots.len()).map(|at| px(WAYS[near(at) % WAYS.len()])).collect()
    }

    /// A dot if near, a cross if not, and an arrow if it is beyond the axis. Hollow if a parameter was
    /// fitted to it.
    fn dot(self, area: &Area<'_>, dot: Dot, y: i32) -> Drawn {
        let Some(x) = self.place(dot.residual) else { return Ok(()) };
        let role = if dot.within { Role::Good } else { Role::Bad };
        let log = dot.residual.max(0.0).log2();
        if log.abs() > REACH {
            let inner = if log > 0.0 { x - px(7) } else { x + px(7) };
            let arrow = vec![(x, y), (inner, y - px(5)), (inner, y + px(5))];
            return area.draw(&Polygon::new(arrow, role.placeholder().filled()));
        }
        let marker = if dot.within { Marker::Circle } else { Marker::Cross };
        let draw = if dot.fitted { canvas::hollow_at } else { canvas::marker_at };
        draw(area, (x, y), role, marker)
    }
}

/// One residual, small enough for a table.
fn single(dot: Dot, id: &str, residual: &str) -> String {
    const WIDTH: i32 = 130;
    const HEIGHT: i32 = 20;
    let axis = Axis { left: px(8), right: px(WIDTH - 8) };
    let alternative = Alternative {
        id,
        title: &format!("{residual} of what was published"),
        description: match (dot.within, dot.fitted) {
            (true, false) => "Within a factor of 1.5.",
            (true, true) => "Within a factor of 1.5; fitted.",
            (false, false) => "Not within a factor of 1.5.",
            (false, true) => "Not within a factor of 1.5, though fitted.",
        },
    };
    canvas::svg(WIDTH, HEIGHT, &alternative, |area| {
        axis.ground(area, px(0), px(HEIGHT))?;
        axis.dot(area, dot, px(HEIGHT / 2))
    })
}

/// All residuals, a track for each family.
fn overview(tracks: &[Track<'_>], id: &str, headline: &str) -> String {
    const WIDTH: i32 = 460;
    const ROW: i32 = 44;
    const FLOOR: i32 = 44;
    let axis = Axis { left: px(10), right: px(WIDTH - 10) };
    let count = i32::try_from(tracks.len()).unwrap_or(0);
    let described: Vec<_> = tracks
        .iter()
        .map(|track| {
            let told = |dot: &Dot| {
                let fitted = if dot.fitted { " (fitted)" } else { "" };
                format!("{}{fitted}", words::number(dot.residual))
            };
            let residuals: Vec<_> = track.dots.iter().map(told).collect();
            format!("{}, {} near: {}", track.name, track.tally, residuals.join(", "))
        })
        .collect();
    let alternative = Alternative {
        id,
        title: headline,
        description: &format!("Simulated by published. {}.", described.join("; ")),
    };
    canvas::svg(WIDTH, count * ROW + FLOOR, &alternative, |area| {
        let name = canvas::text(Role::Ink, HPos::Left, VPos::Top);
        let tally = canvas::text(Role::Muted, HPos::Right, VPos::Top);
        for (track, row) in tracks.iter().zip(0..) {
            let top = px(row * ROW);
            axis.ground(area, top + px(20), top + px(ROW - 2))?;
            for (dot, below) in track.dots.iter().zip(axis.spread(&track.dots)) {
                axis.dot(area, *dot, top + px(31) + below)?;
            }
            let short: String = track.name.chars().take(48).collect();
            area.draw(&Text::new(short, (axis.left, top + px(3)), name.clone()))?;
            area.draw(&Text::new(track.tally.as_str(), (axis.right, top + px(3)), tally.clone()))?;
        }
        let floor = px(count * ROW);
        let label = canvas::text(Role::Muted, HPos::Center, VPos::Top);
        for (tick, text) in TICKS {
            let Some(x) = axis.place(tick) else { continue };
            area.draw(&Text::new(text, (x, floor + px(4)), label.clone()))?;
        }
        let middle = (i32::midpoint(axis.left, axis.right), floor + px(24));
        area.draw(&Text::new("simulated / published", middle, label))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    #[test]
    fn every_check_is_in_its_family_whatever_its_outcome() {
        let checks = fixtures::xeon().validation;
        let section = shown(&checks, "");
        let tallies: Vec<_> =
            section.families.iter().map(|it| (it.name.as_str(), it.tally.as_str())).collect();
        assert_eq!(
            tallies,
            [("retries", "2 of 3"), ("add-cas", "2 of 3"), ("core to core", "1 of 1")]
        );
        let rows: usize = section.families.iter().map(|family| family.checks.len()).sum();
        assert_eq!(rows, checks.len());
    }

    #[test]
    fn a_range_has_two_ends_and_a_value_has_one() {
        let checks = fixtures::xeon().validation;
        assert_eq!(row(&checks[0], "a").published, "3.3");
        assert_eq!(row(&checks[1], "a").published, "1.2 to 1.6");
        assert_eq!(row(&checks[3], "a").unit, "×");
    }

    #[test]
    fn without_checks_there_is_no_section() {
        assert!(chapter(&[]).is_none());
    }

    const AXIS: Axis = Axis { left: 0, right: 400 };

    #[test]
    fn the_axis_is_logarithmic_and_what_is_beyond_lies_at_its_ends() {
        let places = [0.25, 0.5, 1.0, 2.0, 4.0].map(|residual| AXIS.place(residual).unwrap());
        assert_eq!(places, [0, 100, 200, 300, 400]);
        assert_eq!(AXIS.place(0.0), Some(0));
        assert_eq!(AXIS.place(-1.0), Some(0));
        assert_eq!(AXIS.place(f64::INFINITY), Some(400));
        assert_eq!(AXIS.place(f64::NAN), None);
    }

    #[test]
    fn equal_residuals_do_not_hide_each_other() {
        let dot = |residual| Dot { residual, within: true, fitted: false };
        let ways = AXIS.spread(&[dot(1.0), dot(1.0), dot(4.0), dot(1.0)]);
        assert_eq!(ways, [0, px(-6), 0, px(6)]);
    }

    #[test]
    fn near_and_far_differ_in_shape_and_not_in_colour_alone() {
        let near = single(Dot { residual: 1.1, within: true, fitted: false }, "a", "1.10×");
        let far = single(Dot { residual: 2.1, within: false, fitted: false }, "a", "2.10×");
        let corners = |svg: &str| svg.split("<polygon").nth(1).unwrap().matches(',').count();
        assert_ne!(corners(&near), corners(&far));
        let fitted = single(Dot { residual: 1.1, within: true, fitted: true }, "a", "1.10×");
        assert!(fitted.contains("var(--page)") && fitted.contains("fitted"), "hollow");
        assert!(!near.contains("var(--page)") && !near.contains("fitted"));
        assert!(near.contains("var(--holds)") && far.contains("var(--does-not-hold)"));
    }
}
