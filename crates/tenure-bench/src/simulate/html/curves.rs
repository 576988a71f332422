//! Charts over numbers of CPUs.

use super::words;
use crate::simulate::result::{Point, Row, Scenario};
use tenure_report::chart::{self, Axes, Bar, Bars, Curve, Dot, Figure, Key, Look};

/// Something that is charted of each variant.
struct Measure {
    /// The end of the chart's id, and what the chart is of.
    name: &'static str,
    caption: &'static str,
    better: &'static str,
    unit: &'static str,
    /// Far apart values may be told apart by their ratios.
    may_be_logarithmic: bool,
    /// Of no interest where it is 0 throughout.
    may_be_absent: bool,
    of: fn(&Row) -> Option<f64>,
}

const MEASURES: [Measure; 5] = [
    Measure {
        name: "throughput",
        caption: "Throughput, millions of operations per second",
        better: "higher is faster",
        unit: "million operations per second",
        may_be_logarithmic: true,
        may_be_absent: false,
        of: |row| Some(row.mops),
    },
    Measure {
        name: "time",
        caption: "Time of one operation, simulated nanoseconds",
        better: "lower is faster",
        unit: "nanoseconds per operation",
        may_be_logarithmic: true,
        may_be_absent: false,
        of: |row| row.ns_per_op,
    },
    Measure {
        name: "transfers",
        caption: "Lines that went to another holder, per operation",
        better: "lower is better",
        unit: "transfers per operation",
        may_be_logarithmic: false,
        may_be_absent: true,
        of: |row| Some(row.transfers_per_op.all),
    },
    Measure {
        name: "retries",
        caption: "Failed compare-exchanges per operation",
        better: "lower is better",
        unit: "retries per operation",
        may_be_logarithmic: false,
        may_be_absent: true,
        of: |row| Some(row.retries_per_op),
    },
    Measure {
        name: "far",
        caption: "Read-modify-writes done at the line's home, per operation",
        better: "they move no line",
        unit: "read-modify-writes per operation",
        may_be_logarithmic: false,
        may_be_absent: true,
        of: |row| Some(row.far_per_op),
    },
];

/// The key and the charts of a scenario. `anchor` is unique in the page; beyond so many `cores`, if the
/// machine has hardware threads, charts are shaded.
pub(super) fn of(
    scenario: &Scenario,
    anchor: &str,
    cores: Option<usize>,
) -> (Vec<Key>, Vec<Figure>) {
    let names = scenario.points.iter().flat_map(|point| &point.rows);
    let looks = chart::looks(
        names.map(|row| row.variant.as_str()),
        &scenario.baseline,
        scenario.limit.as_deref(),
    );
    if let [point] = scenario.points.as_slice() {
        // Bars carry their names.
        return (Vec::new(), times(scenario, point, &looks, anchor).into_iter().collect());
    }
    let cpus = scenario.points.iter().map(|point| point.cpus);
    let shaded = Shaded {
        cpus: cpus.filter(|&cpus| cores.is_some_and(|cores| cpus > cores)).collect(),
        edge: cores,
        because: cores.map_or_else(String::new, |cores| {
            format!("beyond {} CPUs, siblings share a core's cache", words::whole(cores))
        }),
    };
    let figures: Vec<_> = MEASURES
        .iter()
        .filter_map(|measure| measure.figure(scenario, &looks, anchor, &shaded))
        .collect();
    if figures.is_empty() { (Vec::new(), figures) } else { (chart::keys(&looks), figures) }
}

/// The numbers of CPUs behind which charts are shaded, and why.
struct Shaded {
    cpus: Vec<usize>,
    edge: Option<usize>,
    because: String,
}

impl Measure {
    fn figure(
        &self,
        scenario: &Scenario,
        looks: &[Look<'_>],
        anchor: &str,
        shaded: &Shaded,
    ) -> Option<Figure> {
        let mut rows = scenario.points.iter().flat_map(|point| &point.rows);
        if self.may_be_absent && !rows.any(|row| (self.of)(row).is_some_and(|value| value > 0.0)) {
            return None;
        }
        let curve = Curve {
            id: &format!("{anchor}-{}", self.name),
            title: &format!("{}: {}", scenario.title, self.name),
            caption: self.caption,
            better: self.better,
            unit: self.unit,
            axes: Axes {
                name: "CPUs",
                shaded: &shaded.cpus,
                edge: shaded.edge,
                because: &shaded.because,
                may_be_logarithmic: self.may_be_logarithmic,
            },
        };
        curve.figure(looks, |variant| {
            let dot = |point: &Point| {
                let row = point.rows.iter().find(|row| row.variant == variant)?;
                Some(Dot { at: point.cpus, value: (self.of)(row)?, interval: None })
            };
            scenario.points.iter().filter_map(dot).collect()
        })
    }
}

/// A scenario on one number of CPUs alone.
fn times(scenario: &Scenario, point: &Point, looks: &[Look<'_>], anchor: &str) -> Option<Figure> {
    let cpus = words::counted(point.cpus, "CPU");
    let bars: Vec<_> = point
        .rows
        .iter()
        .filter_map(|row| {
            let look = looks.iter().find(|look| look.name == row.variant)?;
            let value = row.ns_per_op?;
            let figure = format!("{} ns", words::number(value));
            Some(Bar { name: look.name, role: look.role, value, interval: None, figure })
        })
        .collect();
    let described: Vec<_> = bars.iter().map(|bar| format!("{} {}", bar.name, bar.figure)).collect();
    let bars_of = Bars {
        id: &format!("{anchor}-bars"),
        title: &format!("{}: time of one operation on {cpus}", scenario.title),
        caption: &format!("Time of one operation on {cpus}"),
        aside: "shorter is faster",
    };
    bars_of.figure(&bars, &described)
}
