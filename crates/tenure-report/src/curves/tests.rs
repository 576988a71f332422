use super::*;
use crate::chart::checks;
use crate::terminal::Style;

/// The second variant takes twice as long and retries.
#[derive(Serialize)]
struct Sample {
    across: bool,
}

impl AsCurves for Sample {
    fn curves(&self) -> CurvesReport {
        let row = |name: &str, ns: f64, retries: f64, ratio: Option<f64>| CurveRow {
            name: name.to_owned(),
            cells: vec![
                Some(Estimate { median: ns, low: ns * 0.9, high: ns * 1.1 }.into()),
                Some(retries.into()),
                ratio.map(|it| Estimate { median: it, low: it * 0.9, high: it * 1.1 }.into()),
                Some(CurveCell::Text("text".to_owned())),
                Some(0.0.into()),
            ],
        };
        let point = |at: usize| CurvePoint {
            at,
            rows: vec![row("base", 10.0, 0.0, None), row("slow", 20.0, at as f64, Some(2.0))],
        };
        let curve = CurveStyle {
            name: "time",
            caption: "Time",
            better: "lower is faster",
            unit: "nanoseconds",
            may_be_logarithmic: false,
        };
        let why = "more threads than CPUs".to_owned();
        let scenario = CurveScenario {
            id: "one/two".to_owned(),
            title: "Title".to_owned(),
            baseline: "base".to_owned(),
            axis: Axis {
                one: "thread",
                at: "at",
                across: self.across,
                beyond: Some(Beyond { edge: 2, why, overload: true }),
            },
            measures: vec![
                Measure::new("ns/op", Show::Number).with_interval(2).curve(curve),
                Measure::new("retries", Show::Number).for_steps(1).notable_if(|it| it > 0.0),
                Measure::new("vs base", Show::Less).with_its_interval(),
                Measure::new("kind", Show::Number).on_page(),
                Measure::new("nothing", Show::Number),
            ],
            points: [1, 2, 4].map(point).into(),
            notes: vec!["a note".to_owned()],
            ..CurveScenario::default()
        };
        let groups = vec![ScenarioGroup { scenarios: vec![scenario], ..ScenarioGroup::default() }];
        CurvesReport { groups, ..CurvesReport::default() }
    }
}

fn only(across: bool) -> CurveScenario {
    Sample { across }.curves().groups.remove(0).scenarios.remove(0)
}

#[test]
fn columns_and_intervals_go_in_their_order_and_then_the_table_is_continued_below() {
    let table = only(false).table();
    let header = |width| {
        let text = table.render(Style { width, colour: false });
        let (first, slow) = (text.lines().next().unwrap(), text.lines().nth(3).unwrap());
        (first.split("  ").filter(|it| !it.is_empty()).count(), slow.matches('[').count())
    };
    assert_eq!(header(120), (4, 2), "nothing goes: variant, ns/op, retries, vs base");
    assert_eq!(header(52), (3, 2), "retries go");
    assert_eq!(header(42), (3, 1), "and then the interval of the time");
    let narrow = table.render(Style { width: 30, colour: false });
    assert_eq!(narrow.matches("variant").count(), 2, "{narrow}");
    assert!(narrow.contains("1 thread\n") && narrow.contains("4 threads *"), "{narrow}");
}

#[test]
fn points_are_side_by_side_where_that_is_asked_for() {
    let text = only(true).table().render(Style::PLAIN);
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["threads", "1", "2", "4"]);
    assert_eq!(
        lines[1..4],
        [vec!["ns/op"], vec!["base", "10.0", "10.0", "10.0"], vec!["slow", "20.0", "20.0", "20.0"]]
    );
    assert_eq!(lines[4..6], [vec!["retries"], vec!["slow", "1.00", "2.00", "4.00"]], "who retries");
    let narrow = only(true).table().render(Style { width: 14, colour: false });
    assert_eq!(narrow.matches("threads").count(), 3, "{narrow}");
    for figure in text.split_whitespace() {
        assert!(narrow.contains(figure), "{figure}\n{narrow}");
    }
}

#[test]
fn an_overload_does_not_stand_for_a_scenario() {
    let mut scenario = only(false);
    assert_eq!(scenario.headline().unwrap().at, 2);
    scenario.points.remove(0);
    scenario.points.remove(0);
    assert_eq!(scenario.headline().unwrap().at, 4);
    scenario.points[0].rows.clear();
    assert!(scenario.headline().is_none());
}

#[test]
fn a_page_has_few_figures_first_and_all_of_them_below() {
    let page = page::render(&Sample { across: false });
    assert_eq!(checks::page_is_sound(&page, &crate::json::render(&Sample { across: false })), 1);
    let [few, all] = ["Title at 2 threads</span>", "Title: all figures</span>"];
    assert!(page.contains(few) && page.contains(all) && page.contains("A note."), "{page}");
    assert!(page.contains("2.00×") && !page.contains(">nothing<"), "0 throughout");
    assert_eq!(page.matches(">kind<").count(), 2);
    assert!(page.contains("shaded: more threads than CPUs"));
}

#[test]
fn ratios_are_judged_by_their_interval_or_to_two_decimals() {
    for (value, interval, tone) in [
        (0.5, Some((0.4, 0.6)), Tone::Faster),
        (0.9, Some((0.8, 1.1)), Tone::Unresolved),
        (1.2, Some((1.1, 1.3)), Tone::Slower),
        (0.994, None, Tone::Faster),
        (0.996, None, Tone::Unresolved),
        (1.004, None, Tone::Unresolved),
        (1.006, None, Tone::Slower),
        (f64::NAN, None, Tone::Plain),
        (f64::INFINITY, None, Tone::Plain),
        (1.2, Some((1.2, 1.2)), Tone::Plain),
    ] {
        assert_eq!(Tone::of(value, interval), tone, "{value} {interval:?}");
    }
}

#[test]
fn one_value_has_neither_an_interval_nor_a_colour() {
    let mut scenario = only(false);
    let figures = scenario.points.iter_mut().flat_map(|point| &mut point.rows);
    for cell in figures.flat_map(|row| &mut row.cells).flatten() {
        if let CurveCell::Figure { value, interval: Some(ends), .. } = cell {
            *ends = (*value, *value);
        }
    }
    let line = |colour| {
        let text = scenario.table().render(Style { width: 120, colour });
        text.lines().nth(3).unwrap().trim_end().to_owned()
    };
    let plain = line(false);
    assert!(plain.contains("20.0 one value") && plain.contains("2.00x  one value"), "{plain}");
    assert!(!plain.contains('['), "{plain}");
    assert_eq!(line(true), plain);
}

#[test]
fn points_are_told_in_words() {
    let CurveScenario { axis, points, .. } = only(false);
    let phrase = |count: usize| axis.phrase(&points.iter().take(count).collect::<Vec<_>>());
    assert_eq!([phrase(0), phrase(1)], ["", " at 1 thread"]);
    assert_eq!([phrase(2), phrase(3)], [" at 1 and 2 threads", " at 1, 2 and 4 threads"]);
}
