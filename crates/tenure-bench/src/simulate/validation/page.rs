//! A page's chapter on the simulator's accuracy.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use serde::Serialize;

use super::{ValidationCheck, WITHIN};
use crate::simulate::prose as simulated;
use tenure_report::chart::canvas::{self, ChartArea, ChartText, Drawn, px};
use tenure_report::chart::theme::{Marker, SeriesRole};
use tenure_report::curves::Chapter;
use tenure_report::html;
use tenure_report::numbers;

#[derive(Serialize)]
struct Validation<'a> {
    overview: String,
    families: Vec<Family<'a>>,
}

#[derive(Serialize)]
struct Family<'a> {
    name: &'a str,
    tally: String,
    rows: Vec<ResidualRow<'a>>,
}

#[derive(Serialize)]
struct ResidualRow<'a> {
    check: &'a ValidationCheck,
    cpus: String,
    published: String,
    simulated: String,
    unit: &'a str,
    residual: String,
}

pub(in crate::simulate) fn chapter(checks: &[ValidationCheck]) -> Option<Chapter> {
    let lead = simulated::validity(checks);
    (!checks.is_empty()).then(|| Chapter {
        anchor: "validation",
        title: "Validation",
        html: html::part(include_str!("page.html"), &shown(checks, &lead)),
        lead,
    })
}

fn shown<'a>(checks: &'a [ValidationCheck], headline: &str) -> Validation<'a> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for check in checks {
        let at = families.iter().position(|family| family.name == check.family);
        let at = at.unwrap_or_else(|| {
            let name = check.family.as_str();
            families.push(Family { name, tally: String::new(), rows: Vec::new() });
            families.len() - 1
        });
        families[at].rows.push(row(check));
    }
    for family in &mut families {
        let within = family.rows.iter().filter(|row| row.check.within).count();
        family.tally =
            format!("{} of {}", numbers::whole(within), numbers::whole(family.rows.len()));
    }
    Validation { overview: overview(&families, "validation-overview", headline), families }
}

fn row(check: &ValidationCheck) -> ResidualRow<'_> {
    let [low, high] = check.published.map(numbers::short);
    let residual = if check.residual.is_finite() {
        format!("{}×", numbers::ratio(check.residual))
    } else {
        numbers::number(check.residual)
    };
    ResidualRow {
        check,
        cpus: numbers::whole(check.cpus),
        published: if low == high { low } else { format!("{low} to {high}") },
        simulated: numbers::number(check.simulated),
        unit: if check.unit == "x" { "×" } else { &check.unit },
        residual,
    }
}

/// Residuals are on a logarithmic axis, to 2 to this power and its inverse, with the band that counts as near.
const REACH: f64 = 2.0;
const TICKS: [(f64, &str); 5] = [(0.25, "¼"), (0.5, "½"), (1.0, "1"), (2.0, "2"), (4.0, "4")];

#[derive(Clone, Copy)]
struct ResidualAxis {
    left: i32,
    right: i32,
}

impl ResidualAxis {
    /// Beyond the axis its end; `None` if it is no number.
    fn place(self, residual: f64) -> Option<i32> {
        let log = residual.max(0.0).log2().clamp(-REACH, REACH);
        let part = (log + REACH) / (2.0 * REACH);
        let place = f64::from(self.left) + part * f64::from(self.right - self.left);
        (!residual.is_nan()).then_some(canvas::rounded(place))
    }

    fn ground(self, area: &ChartArea<'_>, top: i32, bottom: i32) -> Drawn {
        let [from, to] = [1.0 / WITHIN, WITHIN].map(|end| self.place(end).unwrap_or(self.left));
        area.draw(&Rectangle::new(
            [(from, top), (to, bottom)],
            SeriesRole::Good.placeholder().mix(0.16).filled(),
        ))?;
        for (tick, _) in TICKS {
            let Some(x) = self.place(tick) else { continue };
            let role = if tick == 1.0 { SeriesRole::Muted } else { SeriesRole::Grid };
            area.draw(&PathElement::new([(x, top), (x, bottom)], canvas::hair(role)))?;
        }
        Ok(())
    }

    /// How far each dot moves down or up, past those before it.
    fn spread(self, residuals: &[f64]) -> Vec<i32> {
        const WAYS: [i32; 3] = [0, -6, 6];
        let places: Vec<_> = residuals.iter().map(|&residual| self.place(residual)).collect();
        let near = |at: usize| {
            let close = |other: &&Option<i32>| {
                other.zip(places[at]).is_some_and(|(one, other)| (one - other).abs() < px(8))
            };
            places[..at].iter().filter(close).count()
        };
        (0..residuals.len()).map(|at| px(WAYS[near(at) % WAYS.len()])).collect()
    }

    /// A dot if near, a cross if not, an arrow beyond the axis; hollow if a parameter was fitted to it.
    fn dot(self, area: &ChartArea<'_>, check: &ValidationCheck, y: i32) -> Drawn {
        let Some(x) = self.place(check.residual) else { return Ok(()) };
        let role = if check.within { SeriesRole::Good } else { SeriesRole::Bad };
        let log = check.residual.max(0.0).log2();
        if log.abs() > REACH {
            let inner = if log > 0.0 { x - px(7) } else { x + px(7) };
            let arrow = vec![(x, y), (inner, y - px(5)), (inner, y + px(5))];
            return area.draw(&Polygon::new(arrow, role.placeholder().filled()));
        }
        let marker = if check.within { Marker::Circle } else { Marker::Cross };
        let draw = if check.fitted { canvas::hollow_at } else { canvas::marker_at };
        draw(area, (x, y), role, marker)
    }
}

fn overview(families: &[Family<'_>], id: &str, headline: &str) -> String {
    const WIDTH: i32 = 460;
    const ROW: i32 = 44;
    const FLOOR: i32 = 44;
    let axis = ResidualAxis { left: px(10), right: px(WIDTH - 10) };
    let count = i32::try_from(families.len()).unwrap_or(0);
    let described = |family: &Family<'_>| {
        let residual = |row: &ResidualRow<'_>| {
            let fitted = if row.check.fitted { " (fitted)" } else { "" };
            format!("{}{fitted}", numbers::number(row.check.residual))
        };
        let residuals: Vec<_> = family.rows.iter().map(residual).collect();
        format!("{}, {} near: {}", family.name, family.tally, residuals.join(", "))
    };
    let described: Vec<_> = families.iter().map(described).collect();
    let alternative = ChartText {
        id,
        title: headline,
        description: &format!("Simulated by published. {}.", described.join("; ")),
    };
    canvas::svg(WIDTH, count * ROW + FLOOR, &alternative, |area| {
        let name = canvas::text(SeriesRole::Ink, HPos::Left, VPos::Top);
        let tally = canvas::text(SeriesRole::Muted, HPos::Right, VPos::Top);
        for (family, at) in families.iter().zip(0..) {
            let top = px(at * ROW);
            axis.ground(area, top + px(20), top + px(ROW - 2))?;
            let residuals: Vec<f64> = family.rows.iter().map(|row| row.check.residual).collect();
            for (row, below) in family.rows.iter().zip(axis.spread(&residuals)) {
                axis.dot(area, row.check, top + px(31) + below)?;
            }
            let short: String = family.name.chars().take(48).collect();
            area.draw(&Text::new(short, (axis.left, top + px(3)), name.clone()))?;
            area.draw(&Text::new(family.tally.as_str(), (axis.right, top + px(3)), tally.clone()))?;
        }
        let floor = px(count * ROW);
        let label = canvas::text(SeriesRole::Muted, HPos::Center, VPos::Top);
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
            section.families.iter().map(|it| (it.name, it.tally.as_str())).collect();
        assert_eq!(
            tallies,
            [("retries", "2 of 3"), ("add-cas", "2 of 3"), ("core to core", "1 of 1")]
        );
        let rows: usize = section.families.iter().map(|family| family.rows.len()).sum();
        assert_eq!(rows, checks.len());
    }

    #[test]
    fn a_range_has_two_ends_and_a_value_has_one() {
        let checks = fixtures::xeon().validation;
        assert_eq!(row(&checks[0]).published, "3.3");
        assert_eq!(row(&checks[1]).published, "1.2 to 1.6");
        assert_eq!(row(&checks[3]).unit, "×");
    }

    #[test]
    fn without_checks_there_is_no_section() {
        assert!(chapter(&[]).is_none());
    }

    const AXIS: ResidualAxis = ResidualAxis { left: 0, right: 400 };

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
        assert_eq!(AXIS.spread(&[1.0, 1.0, 4.0, 1.0]), [0, px(-6), 0, px(6)]);
    }

    #[test]
    fn near_and_far_differ_in_shape_and_not_in_colour_alone() {
        let drawn = |residual: f64, fitted| {
            let check = ValidationCheck {
                residual,
                within: residual < 1.5,
                fitted,
                ..ValidationCheck::default()
            };
            overview(&shown(&[check], "").families, "a", "")
        };
        let [near, far, fitted] = [drawn(1.1, false), drawn(2.1, false), drawn(1.1, true)];
        let corners = |svg: &str| svg.split("<polygon").nth(1).unwrap().matches(',').count();
        assert_ne!(corners(&near), corners(&far));
        assert!(fitted.contains("var(--page)") && fitted.contains("fitted"), "hollow");
        assert!(!near.contains("var(--page)") && !near.contains("fitted"));
        assert!(near.contains("var(--holds)") && far.contains("var(--does-not-hold)"));
    }
}
