use super::{CurveCell, CurvePoint, CurveRow, CurveScenario};
use crate::chart::{self, Axes, Bar, Dot, Figure, Key, Look};
use crate::numbers;

pub(super) fn of(scenario: &CurveScenario, anchor: &str) -> (Vec<Key>, Vec<Figure>) {
    let names = scenario.rows().map(|row| row.name.as_str());
    let looks = chart::looks(names, &scenario.baseline, scenario.limit.as_deref());
    let several = scenario.points.len() > 1;
    let mut bars = Vec::new();
    let mut curves = Vec::new();
    for at in 0..scenario.measures.len() {
        let point = scenario.headline().filter(|_| !several || scenario.bars);
        bars.extend(point.and_then(|point| self::bars(scenario, at, point, &looks, anchor)));
        curves.extend(curve(scenario, at, &looks, anchor).filter(|_| several));
    }
    let keys = if curves.is_empty() { Vec::new() } else { chart::keys(&looks) };
    (keys, bars.into_iter().chain(curves).collect())
}

fn bars(
    scenario: &CurveScenario,
    measure: usize,
    point: &CurvePoint,
    looks: &[Look<'_>],
    anchor: &str,
) -> Option<Figure> {
    let of = scenario.measures[measure].bars?;
    let bar = |row: &CurveRow| {
        let look = looks.iter().find(|look| look.name == row.name)?;
        let Some(CurveCell::Figure { value, interval, .. }) = row.cells[measure] else {
            return None;
        };
        let ends = super::ends(interval, numbers::number);
        let figure = format!("{} {} {ends}", numbers::number(value), of.unit);
        let figure = figure.trim_end().to_owned();
        let interval = interval.filter(|ends| !super::is_one_value(*ends));
        Some(Bar { name: look.name, role: look.role, value, interval, figure })
    };
    let bars: Vec<Bar<'_>> = point.rows.iter().filter_map(bar).collect();
    let aside = if bars.iter().any(|bar| bar.interval.is_some()) {
        format!("{}; the mark is the 95 % interval", of.better)
    } else {
        of.better.to_owned()
    };
    let caption = format!("{}{}", of.caption, scenario.axis.phrase(&[point]));
    let title = format!("{}: {caption}", scenario.title);
    chart::bars(&format!("{anchor}-bars"), &title, caption, aside, &bars)
}

fn curve(
    scenario: &CurveScenario,
    measure: usize,
    looks: &[Look<'_>],
    anchor: &str,
) -> Option<Figure> {
    let of = scenario.measures[measure].curve.as_ref()?;
    if !CurveScenario::has_any(measure, scenario.rows()) {
        return None;
    }
    let beyond = scenario.axis.beyond.as_ref().map(|beyond| (beyond.edge, beyond.why.as_str()));
    let curve = chart::LineChart {
        id: &format!("{anchor}-{}", of.name),
        title: &format!("{}: {}", scenario.title, of.name),
        caption: of.caption,
        better: of.better,
        unit: of.unit,
        axes: Axes {
            name: &(scenario.axis.one.to_owned() + "s"),
            beyond,
            may_be_logarithmic: of.may_be_logarithmic,
        },
    };
    curve.figure(looks, |variant| {
        let dot = |point: &CurvePoint| {
            let row = point.rows.iter().find(|row| row.name == variant)?;
            let Some(CurveCell::Figure { value, interval, .. }) = row.cells[measure] else {
                return None;
            };
            let interval = interval.filter(|ends| !super::is_one_value(*ends));
            Some(Dot { at: point.at, value, interval })
        };
        scenario.points.iter().filter_map(dot).collect()
    })
}
