use crate::result::{BenchPoint, BenchReport, BenchRow, Distribution, ResultGroup, ResultScenario};
use tenure_report::curves::{
    AsCurves, Axis, Bars, Beyond, Column, CurveCell, CurveStyle, Measure, Show, TableLine,
    TableSection, TextTable,
};
use tenure_report::numbers::{counted, number, short, whole};
use tenure_report::{curves, verdict};

/// Layout by counter: bars, whatever the numbers of threads.
const CELLS: &str = "dst/";

impl AsCurves for BenchReport {
    fn curves(&self) -> curves::CurvesReport {
        let machine = &self.machine;
        let cpu = if machine.cpu.is_empty() { &machine.arch } else { &machine.cpu };
        curves::CurvesReport {
            title: format!("Tenure on {cpu}, {}", counted(machine.cpus, "CPU")),
            version: self.version.clone(),
            schema: self.schema.clone(),
            quick: self.settings.quick,
            opening: vec![opening(self)],
            made: vec![format!(
                "Measured {} by Tenure {} in {} s; {} s a row; seed {}.",
                self.started.replace('T', " ").replace('Z', " UTC"),
                self.version,
                number(self.seconds),
                short(self.settings.seconds),
                self.settings.seed
            )],
            conclusion: Some(conclusion(self)),
            verdicts: self.verdicts.clone(),
            machine: machine.into(),
            groups: (self.groups.iter())
                .map(|group| group.curves(|_, it| scenario(it, machine.cpus)))
                .collect(),
            method: include_str!("method.html").to_owned(),
            ..curves::CurvesReport::default()
        }
    }
}

impl<P> ResultGroup<P> {
    pub(crate) fn curves(
        &self,
        scenario: impl Fn(usize, &ResultScenario<P>) -> curves::CurveScenario,
    ) -> curves::ScenarioGroup {
        let scenarios = self.scenarios.iter().enumerate();
        curves::ScenarioGroup {
            name: self.name.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            scenarios: scenarios.map(|(at, it)| scenario(at, it)).collect(),
        }
    }
}

impl<P> ResultScenario<P> {
    pub(crate) fn curves(&self, point: impl Fn(&P) -> curves::CurvePoint) -> curves::CurveScenario {
        curves::CurveScenario {
            id: self.id.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            baseline: self.baseline.clone(),
            limit: self.limit.clone(),
            points: self.points.iter().map(point).collect(),
            ..curves::CurveScenario::default()
        }
    }
}

fn opening(report: &BenchReport) -> String {
    let machine = &report.machine;
    let mut parts = vec![machine.line()];
    if !matches!(machine.virtualisation.as_str(), "" | "none") {
        parts.push(format!("virtualised ({})", machine.virtualisation));
    }
    if report.settings.quick {
        parts.push("quick run: too few figures to quote".to_owned());
    }
    parts.join("; ")
}

fn conclusion(report: &BenchReport) -> String {
    if report.interrupted {
        return "The run was interrupted: no claim is judged.".to_owned();
    }
    verdict::answer(&report.verdicts, report.settings.quick)
}

fn measures() -> Vec<Measure> {
    vec![
        Measure::new("ns/op", Show::Number).with_interval(3).bars(Bars {
            caption: "Time of one operation",
            better: "shorter is faster",
            unit: "ns",
        }),
        Measure::new("Mops/s", Show::Number).for_steps(2).curve(CurveStyle {
            name: "throughput",
            caption: "Throughput, millions of operations per second",
            better: "higher is faster",
            unit: "million operations per second",
            may_be_logarithmic: true,
        }),
        Measure::new("retries/op", Show::Number).curve(CurveStyle {
            name: "retries",
            caption: "Failed compare-exchanges per operation",
            better: "lower is better",
            unit: "retries per operation",
            may_be_logarithmic: false,
        }),
        Measure::new("time vs baseline", Show::Less).with_its_interval(),
        Measure::new("vs limit", Show::Ratio).for_steps(4).with_interval(1),
        Measure::new("slices (−dropped)", Show::Whole).on_page(),
    ]
}

fn row(row: &BenchRow) -> curves::CurveRow {
    let time = row.ns_per_op;
    // Throughput is the inverse of time, and so is its interval.
    let throughput = CurveCell::Figure {
        value: row.mops,
        interval: Some((row.mops * time.median / time.high, row.mops * time.median / time.low)),
        tone: curves::Tone::Plain,
    };
    let slices = match row.dropped {
        0 => whole(row.slices),
        dropped => format!("{} (−{})", whole(row.slices), whole(dropped)),
    };
    curves::CurveRow {
        name: row.variant.clone(),
        cells: vec![
            Some(time.into()),
            Some(throughput),
            row.retries_per_op.map(CurveCell::from),
            row.to_baseline.map(CurveCell::from),
            row.to_limit.map(CurveCell::from),
            Some(CurveCell::Text(slices)),
        ],
    }
}

fn scenario(scenario: &ResultScenario, cpus: usize) -> curves::CurveScenario {
    curves::CurveScenario {
        axis: Axis {
            one: "thread",
            at: "at",
            across: false,
            beyond: Some(Beyond {
                edge: cpus,
                why: "more threads than CPUs".to_owned(),
                overload: true,
            }),
        },
        measures: measures(),
        bars: scenario.id.starts_with(CELLS),
        tables: singles(scenario).into_iter().collect(),
        notes: disturbed(scenario),
        ..scenario.curves(|point| curves::CurvePoint {
            at: point.threads,
            rows: point.rows.iter().map(row).collect(),
        })
    }
}

/// `None` where no variant timed single operations.
fn singles(scenario: &ResultScenario) -> Option<TextTable> {
    let section = |point: &BenchPoint| {
        let line = |row: &BenchRow| {
            let singles = row.singles?;
            let times = singles.named().map(|(_, ns)| number(ns));
            let operations = whole(singles.operations);
            Some(TableLine::of(&row.variant, times.into_iter().chain([operations])))
        };
        let lines: Vec<TableLine> = point.rows.iter().filter_map(line).collect();
        let title = counted(point.threads, "thread");
        (!lines.is_empty()).then(|| TableSection { title, lines, ..TableSection::default() })
    };
    let first = scenario.points.iter().flat_map(|point| &point.rows).find_map(|row| row.singles)?;
    let column = |(at, (name, _)): (usize, (&str, f64))| match at {
        0 | 3 => Column::new(name),
        _ => Column::new(name).for_steps(1),
    };
    let columns = first.named().into_iter().enumerate().map(column);
    Some(TextTable {
        caption: format!("{}: single operations, ns", scenario.title),
        corner: "single operations, ns".to_owned(),
        columns: columns.chain([Column::new("operations").for_steps(0)]).collect(),
        sections: scenario.points.iter().filter_map(section).collect(),
        ..TextTable::default()
    })
}

/// How many rounds were dropped, and where disturbed slices count because hardly any other was left.
fn disturbed(scenario: &ResultScenario) -> Vec<String> {
    let rows =
        || scenario.points.iter().flat_map(|point| point.rows.iter().map(move |row| (point, row)));
    let mut notes = Vec::new();
    let sum = |of: fn(&BenchPoint) -> usize| scenario.points.iter().map(of).sum::<usize>();
    let (measured, left_out) = (sum(|point| point.rounds), sum(|point| point.left_out));
    if left_out > 0 {
        notes.push(format!(
            "{} of {} rounds were dropped: the machine was busy, and the time for them was up",
            whole(left_out),
            whole(measured + left_out)
        ));
    }
    let dropped: usize = rows().filter(|(_, row)| row.slices > 0).map(|(_, row)| row.dropped).sum();
    if dropped > 0 {
        let all: usize = rows().map(|(_, row)| row.slices + row.dropped).sum();
        notes.push(format!(
            "{} of {} slices were dropped because a thread was switched out",
            whole(dropped),
            whole(all)
        ));
    }
    let mut kept: Vec<usize> =
        rows().filter(|(_, row)| row.slices == 0).map(|(point, _)| point.threads).collect();
    kept.dedup();
    if let Some((last, rest)) = kept.split_last() {
        let rest: Vec<_> = rest.iter().map(|&threads| format!("{} and ", whole(threads))).collect();
        notes.push(format!(
            "hardly any slice was undisturbed at {}{}: rows of 0 slices are made of disturbed ones",
            rest.concat(),
            counted(*last, "thread")
        ));
    }
    notes
}

impl Distribution {
    fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("median", self.median_ns),
            ("90 %", self.p90_ns),
            ("99 %", self.p99_ns),
            ("99.9 %", self.p999_ns),
            ("slowest", self.max_ns),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::result::SCHEMA;
    use tenure_report::curves::{checks, page, terminal};
    use tenure_report::json;
    use tenure_report::terminal::Style;

    fn plain(report: &BenchReport) -> String {
        terminal::render(report, Style::PLAIN)
    }

    #[test]
    fn one_number_of_threads_is_shown_as_bars_and_several_as_lines() {
        let count = |report: BenchReport, kind: &str| {
            page::render(&report).matches(&format!("data-chart=\"{kind}\"")).count()
        };
        assert_eq!(count(fixtures::one_cpu(), "bars"), 3);
        assert_eq!(count(fixtures::one_cpu(), "lines"), 0);
        assert_eq!(count(fixtures::xeon(), "bars"), 1, "the four cells");
        assert_eq!(count(fixtures::xeon(), "lines"), 6, "throughput and retries of each");
    }

    #[test]
    fn single_operations_have_a_table_where_they_were_timed() {
        let mut report = fixtures::xeon();
        let caption = ": single operations, ns</span>";
        assert_eq!(page::render(&report).matches(caption).count(), 1);
        let text = singles(&report.groups[0].scenarios[0]).unwrap().render(Style::PLAIN);
        let first: Vec<_> =
            text.lines().next().unwrap().split("  ").filter(|it| !it.is_empty()).collect();
        assert_eq!(
            first.iter().map(|it| it.trim()).collect::<Vec<_>>(),
            ["single operations, ns", "median", "90 %", "99 %", "99.9 %", "slowest"]
        );
        assert!(text.lines().any(|line| line.starts_with("  rcuref ")), "{text}");
        assert!(plain(&report).contains(&text));
        assert!(singles(&report.groups[1].scenarios[0]).is_none());
        for point in &mut report.groups[0].scenarios[0].points {
            point.rows.iter_mut().for_each(|row| row.singles = None);
        }
        assert_eq!(page::render(&report).matches(caption).count(), 0);
    }

    #[test]
    fn every_report_is_sound() {
        let usual = [fixtures::xeon(), fixtures::one_cpu()];
        checks::all_are_sound(&usual, &fixtures::hostile(), &fixtures::degenerate());
    }

    #[test]
    fn no_row_is_broken_in_usual_terminals() {
        checks::fits_usual_terminals(&fixtures::xeon());
        for width in [120, 100, 80] {
            let text = terminal::render(&fixtures::xeon(), Style { width, colour: false });
            let rows = text.lines().filter(|line| line.starts_with("  rcuref ")).count();
            assert_eq!(rows, 3 * 10, "a line in each table for each number of threads\n{text}");
        }
    }

    #[test]
    fn baseline_and_limit_are_marked_and_ratios_have_intervals() {
        let text = terminal::render(&fixtures::xeon(), Style { width: 120, colour: false });
        for words in ["  baseline", "  limit\n", "x  [", "not resolved  ["] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let table = |group: usize| {
            let group = &fixtures::xeon().groups[group];
            let only = vec![crate::result::ResultGroup {
                scenarios: vec![group.scenarios[0].clone()],
                ..group.clone()
            }];
            plain(&BenchReport { groups: only, ..fixtures::xeon() })
        };
        assert!(table(0).contains("vs limit") && !table(1).contains("vs limit"));
    }

    #[test]
    fn dropped_slices_and_more_threads_than_cpus_are_noted() {
        let text = plain(&fixtures::xeon());
        assert!(text.contains("256 threads *") && text.contains("* more threads than CPUs"));
        assert!(text.contains("180 of 16,180 slices were dropped"), "{text}");
        assert!(!plain(&fixtures::one_cpu()).contains("dropped"));
    }

    #[test]
    fn a_report_that_is_printed_as_it_grows_reads_like_the_whole() {
        let whole = fixtures::xeon();
        let mut growing = BenchReport { groups: Vec::new(), ..fixtures::xeon() };
        let mut text = terminal::newest(&growing, Style::PLAIN);
        for group in &whole.groups {
            growing
                .groups
                .push(crate::result::ResultGroup { scenarios: Vec::new(), ..group.clone() });
            for one in &group.scenarios {
                growing.groups.last_mut().unwrap().scenarios.push(one.clone());
                text += &terminal::newest(&growing, Style::PLAIN);
            }
        }
        assert_eq!(text + &terminal::last(&whole, Style::PLAIN), plain(&whole));
    }

    #[test]
    fn every_verdict_is_told_in_plain_words() {
        let text = plain(&fixtures::xeon());
        for words in ["holds here: ", "does not hold here: ", "not resolved: "] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let text = plain(&fixtures::one_cpu());
        assert!(text.contains("needs more CPUs: "));
        assert!(text.contains("tenure sim refs --cpus 1..192"));
    }

    #[test]
    fn slices_that_count_although_disturbed_are_not_called_dropped_and_rounds_left_out_are_counted()
    {
        let noted = |mut report: BenchReport, disturb: fn(&mut BenchPoint)| {
            let scenario = &mut report.groups[0].scenarios[0];
            disturb(&mut scenario.points[0]);
            disturbed(scenario)
        };
        assert!(noted(fixtures::one_cpu(), |_| ()).is_empty());
        let notes = noted(fixtures::one_cpu(), |point| {
            (point.rows[0].slices, point.rows[0].dropped) = (0, 40);
        });
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("hardly any slice was undisturbed at 1 thread"), "{notes:?}");
        let notes = noted(fixtures::xeon(), |point| (point.rounds, point.left_out) = (300, 900));
        assert!(notes[0].starts_with("900 of 1,200 rounds were dropped: the machine was busy"));
    }

    #[test]
    fn the_answer_counts_each_outcome_once_and_says_where_nothing_is_judged() {
        let mut report = fixtures::xeon();
        let of_four = "Of 4 claims, 2 hold here, 1 does not hold here and 1 is not resolved.";
        assert_eq!(conclusion(&report), of_four);
        report.verdicts.truncate(1);
        assert_eq!(conclusion(&report), "1 claim was tested: it holds here.");
        report.verdicts.clear();
        assert!(conclusion(&report).starts_with("No claim"));
        report.settings.quick = true;
        assert!(conclusion(&report).starts_with("A quick run judges no claim"));
        report.interrupted = true;
        assert!(conclusion(&report).starts_with("The run was interrupted"));
    }

    #[test]
    fn json_has_its_version_and_outcomes_as_words_with_hyphens() {
        let text = json::render(&fixtures::one_cpu());
        assert!(text.contains("\"outcome\": \"needs-more-cpus\""));
        assert!(text.contains(&format!("\"schema\": \"{SCHEMA}\"")));
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bench.schema.json");
        json::check_committed(path.as_ref(), &json::schema::<BenchReport>());
    }
}
