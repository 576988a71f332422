//! Which charts a scenario has.

use crate::report::words;
use crate::result::{Point, Row, Scenario};
use tenure_report::chart::{self, Axes, Bar, Bars, Curve, Dot, Figure, Key, Look};

/// The group whose bars are shown whatever the numbers of threads: layout by counter.
const CELLS: &str = "dst/";

/// The key and the charts of a scenario. `anchor` is unique in the page.
pub(super) fn of(scenario: &Scenario, anchor: &str) -> (Vec<Key>, Vec<Figure>) {
    let names = scenario.points.iter().flat_map(|point| &point.rows);
    let looks = chart::looks(
        names.map(|row| row.variant.as_str()),
        &scenario.baseline,
        scenario.limit.as_deref(),
    );
    let several = scenario.points.len() > 1;
    let mut figures = Vec::new();
    if let Some(point) =
        words::headline(scenario).filter(|_| !several || scenario.id.starts_with(CELLS))
    {
        figures.extend(times(scenario, point, &looks, anchor));
    }
    if !several {
        // Bars carry their names.
        return (Vec::new(), figures);
    }
    figures.extend(throughput(scenario, &looks, anchor));
    figures.extend(retries(scenario, &looks, anchor));
    (chart::keys(&looks), figures)
}

fn times(scenario: &Scenario, point: &Point, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let threads = words::counted(point.threads, "thread");
    let bars: Vec<_> = point
        .rows
        .iter()
        .filter_map(|row| {
            let look = looks.iter().find(|look| look.name == row.variant)?;
            let time = &row.ns_per_op;
            Some(Bar {
                name: look.name,
                role: look.role,
                value: time.median,
                interval: Some((time.low, time.high)),
                figure: format!(
                    "{} ns {}",
                    words::number(time.median),
                    time.interval(words::number)
                ),
            })
        })
        .collect();
    let described: Vec<_> = point
        .rows
        .iter()
        .map(|row| format!("{} {} ns", row.variant, words::number(row.ns_per_op.median)))
        .collect();
    let bars_of = Bars {
        id: &format!("{anchor}-bars"),
        title: &format!("{}: time of one operation at {threads}", scenario.title),
        caption: &format!("Time of one operation, {threads}"),
        aside: "shorter is faster; the mark is the 95 % interval",
    };
    bars_of.figure(&bars, &described)
}

fn throughput(scenario: &Scenario, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let curve = Curve {
        id: &format!("{anchor}-throughput"),
        title: &format!("{}: throughput", scenario.title),
        caption: "Throughput, millions of operations per second",
        better: "higher is faster",
        unit: "million operations per second",
        axes: Axes {
            name: "threads",
            shaded: &crowded(scenario),
            edge: None,
            because: CROWDED,
            may_be_logarithmic: true,
        },
    };
    curve.figure(looks, |variant| {
        dots(scenario, variant, |row| {
            let time = row.ns_per_op;
            // Throughput is the inverse of time, so its interval is the inverse of time's.
            let interval = (row.mops * time.median / time.high, row.mops * time.median / time.low);
            Some((row.mops, Some(interval)))
        })
    })
}

fn retries(scenario: &Scenario, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let some = scenario
        .points
        .iter()
        .flat_map(|point| &point.rows)
        .any(|row| row.retries_per_op.is_some_and(|retries| retries > 0.0));
    let curve = Curve {
        id: &format!("{anchor}-retries"),
        title: &format!("{}: retries", scenario.title),
        caption: "Failed compare-exchanges per operation",
        better: "lower is better",
        unit: "retries per operation",
        axes: Axes {
            name: "threads",
            shaded: &crowded(scenario),
            edge: None,
            because: CROWDED,
            may_be_logarithmic: false,
        },
    };
    curve
        .figure(looks, |variant| dots(scenario, variant, |row| Some((row.retries_per_op?, None))))
        .filter(|_| some)
}

/// What `of` says of a variant, with its interval if it has one, over numbers of threads.
fn dots(
    scenario: &Scenario,
    variant: &str,
    of: impl Fn(&Row) -> Option<(f64, Option<(f64, f64)>)>,
) -> Vec<Dot> {
    let row = |point: &Point| {
        let row = point.rows.iter().find(|row| row.variant == variant)?;
        let (value, interval) = of(row)?;
        Some(Dot { at: point.threads, value, interval })
    };
    scenario.points.iter().filter_map(row).collect()
}

/// Why those places are shaded.
const CROWDED: &str = "more threads than CPUs";

fn crowded(scenario: &Scenario) -> Vec<usize> {
    scenario.points.iter().filter(|point| point.oversubscribed).map(|point| point.threads).collect()
}
