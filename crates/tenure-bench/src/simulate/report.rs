use super::prose;
use super::result::{
    LineRow as Moved, SimulatedGroup, SimulatedMachine, SimulatedPoint, SimulatedReport,
    SimulatedRow, SimulatedScenario,
};
use super::{heat, validation::page::chapter};
use tenure_report::curves::{
    self, AsCurves, Axis, Bars, Beyond, Column, CurveCell, CurveStyle, Measure, Only, Show,
    TableLine, TableSection, TextTable, Tone,
};
use tenure_report::numbers::{counted, number, whole};

impl AsCurves for SimulatedReport {
    fn curves(&self) -> curves::CurvesReport {
        let machine = &self.machine;
        let settings = &self.settings;
        let beyond = beyond(machine);
        let bends = beyond.iter().filter(|beyond| self.most_cpus() > beyond.edge);
        let group = |(at, of): (usize, &SimulatedGroup)| {
            of.curves(|place, it| scenario(it, &format!("heat-{at}-{place}"), &beyond))
        };
        let bends = bends.map(|beyond| format!("B{}.", &beyond.why[1..]));
        let mut groups: Vec<curves::ScenarioGroup> =
            self.groups.iter().enumerate().map(group).collect();
        if let Some(pattern) = groups.first_mut().and_then(|group| group.scenarios.first_mut()) {
            pattern.notes.extend(repairs(self));
        }
        curves::CurvesReport {
            title: format!("Tenure on a simulated {}", machine.name),
            version: self.version.clone(),
            schema: self.schema.clone(),
            opening: [prose::machine(machine)].into_iter().chain(bends).collect(),
            made: vec![
                format!(
                    "Simulated by Tenure {}: {} a row after {} of warm-up; seed {}. No clock was read: every figure \
                     is the model's, and the same for everyone who runs it.",
                    self.version,
                    prose::time(settings.measured_ns),
                    prose::time(settings.warm_up_ns),
                    settings.seed
                ),
                prose::LEFT_OUT.to_owned(),
            ],
            notes: settings.notes.clone(),
            machine: described(machine),
            groups,
            chapters: chapter(&self.validation).into_iter().collect(),
            closing: (!self.validation.is_empty())
                .then(|| {
                    format!(
                        "How far to trust this: {} {} (`tenure sim --validate`, docs/validation.md).",
                        prose::LEFT_OUT,
                        prose::validity(&self.validation)
                    )
                })
                .into_iter()
                .collect(),
            method: method(self, beyond.as_ref()),
            style: include_str!("style.css"),
            ..curves::CurvesReport::default()
        }
    }
}

impl SimulatedReport {
    fn most_cpus(&self) -> usize {
        let points =
            self.groups.iter().flat_map(|group| &group.scenarios).flat_map(|it| &it.points);
        points.map(|point| point.cpus).max().unwrap_or(0)
    }
}

/// Where threads outnumber the cores, and hardware threads of one core share its cache.
fn beyond(machine: &SimulatedMachine) -> Option<Beyond> {
    let shared = machine.smt > 1 && machine.cores > 0 && machine.cpus > machine.cores;
    shared.then(|| Beyond {
        edge: machine.cores,
        why: format!("beyond {} CPUs, siblings share a core's cache", whole(machine.cores)),
        overload: false,
    })
}

fn described(machine: &SimulatedMachine) -> curves::MachineSummary {
    let facts = [
        ("Name", vec![machine.name.clone()]),
        ("CPUs", vec![counted(machine.cpus, "CPU")]),
        ("Topology", prose::topology(machine).into_iter().collect()),
        ("Sources of its figures", machine.sources.clone()),
    ];
    curves::MachineSummary {
        about: machine.about.clone(),
        facts: facts.into_iter().filter(|(_, values)| !values.is_empty()).collect(),
        file: machine.toml.clone(),
        ..curves::MachineSummary::default()
    }
}

fn method(report: &SimulatedReport, beyond: Option<&Beyond>) -> String {
    let runs = match report.groups.iter().all(|group| group.name == super::pattern::NAME) {
        true => "The threads do the steps of the pattern",
        false => "The code that runs is the library's own",
    };
    let siblings = beyond.map_or_else(String::new, |beyond| {
        format!(
            "; beyond {} CPUs they are on the second hardware threads, and siblings share a core's cache: what one has \
             fetched the other need not, so curves bend there",
            whole(beyond.edge)
        )
    });
    let method = include_str!("method.html").replace("RUNS", runs);
    method.replace("SIBLINGS", &siblings).replace("LEFT_OUT", prose::LEFT_OUT)
}

/// Whether a figure is above zero in the digits that are shown.
fn is_some(figure: f64) -> bool {
    figure >= 0.005
}

fn measures() -> Vec<Measure> {
    let curve = |name, caption, better, unit, may_be_logarithmic| CurveStyle {
        name,
        caption,
        better,
        unit,
        may_be_logarithmic,
    };
    let number = |heading| Measure::new(heading, Show::Number);
    let detail = |heading| number(heading).detail();
    vec![
        number("ns/op")
            .bars(Bars {
                caption: "Time of one operation",
                better: "shorter is faster",
                unit: "ns",
            })
            .curve(curve(
                "time",
                "Time of one operation, simulated nanoseconds",
                "lower is faster",
                "nanoseconds per operation",
                true,
            )),
        number("Mops/s").curve(curve(
            "throughput",
            "Throughput, millions of operations per second",
            "higher is faster",
            "million operations per second",
            true,
        )),
        Measure::new("time vs baseline", Show::Less).on_page(),
        Measure::new("time vs limit", Show::Ratio).on_page(),
        number("retries/op").notable_if(is_some).curve(curve(
            "retries",
            "Failed compare-exchanges per operation",
            "lower is better",
            "retries per operation",
            false,
        )),
        number("transfers/op").notable_if(is_some).curve(curve(
            "transfers",
            "Lines that went to another holder, per operation",
            "lower is better",
            "transfers per operation",
            false,
        )),
        // Above this, fairness is not worth a line.
        Measure::new("fairness", Show::Index).notable_if(|fairness| fairness < 0.9),
        detail("within cluster"),
        detail("within socket"),
        detail("other socket"),
        detail("from memory"),
        number("far atomics/op").notable_if(is_some).curve(curve(
            "far",
            "Read-modify-writes done at the line's home, per operation",
            "they move no line",
            "read-modify-writes per operation",
            false,
        )),
        number("lost reservations/op").notable_if(is_some),
        Measure::new("operations", Show::Whole).detail(),
    ]
}

fn row(row: &SimulatedRow) -> curves::CurveRow {
    let tone = row.to_baseline.map_or(Tone::Plain, |ratio| Tone::of(ratio, None));
    let time = CurveCell::from(row.ns_per_op.unwrap_or(f64::NAN));
    let moved = row.transfers_per_op;
    let cells = [
        Some(if tone == Tone::Unresolved { time } else { time.toned(tone) }),
        Some(row.mops.into()),
        row.to_baseline.map(CurveCell::from),
        row.to_limit.map(CurveCell::from),
        Some(row.retries_per_op.into()),
        Some(moved.all.into()),
        Some(row.fairness.into()),
        Some(moved.cluster.into()),
        Some(moved.socket.into()),
        Some(moved.remote.into()),
        Some(moved.memory.into()),
        Some(row.far_per_op.into()),
        Some(row.lost_reservations_per_op.into()),
        Some((row.operations as f64).into()),
    ];
    curves::CurveRow { name: row.variant.clone(), cells: cells.into() }
}

fn scenario(
    scenario: &SimulatedScenario,
    anchor: &str,
    beyond: &Option<Beyond>,
) -> curves::CurveScenario {
    let point = |point: &SimulatedPoint| curves::CurvePoint {
        at: point.cpus,
        rows: point.rows.iter().map(row).collect(),
    };
    let headline = prose::headline(scenario);
    let moved = headline.is_some_and(|point| point.rows.iter().any(|row| !row.lines.is_empty()));
    let still = headline.filter(|_| !moved).map(|_| "no line moved: each CPU kept to its own");
    let hot = headline.filter(|_| moved);
    let tables = hot.map(|point| [hottest(point), heat::table(scenario, point)]);
    curves::CurveScenario {
        axis: Axis { one: "CPU", at: "on", across: true, beyond: beyond.clone() },
        measures: measures(),
        tables: roles(scenario).into_iter().chain(tables.into_iter().flatten()).collect(),
        notes: still.map(str::to_owned).into_iter().collect(),
        answer: prose::answer(scenario),
        html: hot.map(|point| heat::html(scenario, point, anchor)).unwrap_or_default(),
        ..scenario.curves(point)
    }
}

/// The time of an iteration of each role, if there are several.
fn roles(scenario: &SimulatedScenario) -> Option<TextTable> {
    let most = &prose::headline(scenario)?.rows.first()?.roles;
    let line = |row: &SimulatedRow| {
        let times = row.roles.iter().map(|role| role.ns_per_iteration);
        TableLine::of(&*row.variant, times.map(|ns| ns.map_or_else(|| "none".to_owned(), number)))
    };
    let section = |point: &SimulatedPoint| {
        let threads = point.rows.first().map_or(&[][..], |row| &row.roles);
        let threads = threads.iter().map(|it| format!("{} x{}", it.role, it.threads));
        let threads = threads.collect::<Vec<_>>().join(", ");
        TableSection {
            title: format!("{}: {threads}", counted(point.cpus, "CPU")),
            lines: point.rows.iter().map(line).collect(),
            ..TableSection::default()
        }
    };
    (most.len() > 1).then(|| TextTable {
        corner: "ns per iteration".to_owned(),
        columns: most.iter().map(|role| Column::new(&*role.role)).collect(),
        sections: scenario.points.iter().map(section).collect(),
        ..TextTable::default()
    })
}

fn repairs(report: &SimulatedReport) -> impl Iterator<Item = String> {
    report.repairs.iter().map(|repair| {
        let about = repair.about.trim_end_matches('.');
        let about = about[..1].to_lowercase() + &about[1..];
        let each = if repair.per_thread { "thread" } else { "object" };
        let cost = match repair.bytes {
            0 => "no memory".to_owned(),
            bytes => format!("{} more per {each}", counted(bytes, "byte")),
        };
        let library = repair.library.as_ref().map_or_else(String::new, |it| format!(": {it}"));
        format!("{}: {about} ({cost}){library}", repair.variant)
    })
}

fn hottest(point: &SimulatedPoint) -> TextTable {
    const MAX_NAMED: usize = 3;
    let percent = |share: f64| match share.is_finite() {
        true => format!("{:.0} %", share * 100.0),
        false => number(share),
    };
    let mut lines = Vec::new();
    for row in &point.rows {
        let mut name = row.variant.as_str();
        for moved in row.lines.iter().take(MAX_NAMED) {
            let mut moves = number(moved.transfers_per_op.all);
            for Hot { name: member, accesses_per_op, misses, waited } in hot(row, moved) {
                let accesses = number(accesses_per_op);
                let moves = std::mem::take(&mut moves);
                let cells = [moves, member, accesses, percent(misses), percent(waited)];
                lines.push(TableLine::of(std::mem::take(&mut name), cells));
            }
        }
    }
    TextTable {
        corner: format!("heat, {}", counted(point.cpus, "CPU")),
        columns: vec![
            Column::new("transfers/op"),
            Column::text("member"),
            Column::new("accesses/op").for_steps(1),
            Column::new("misses"),
            Column::new("waiting"),
        ],
        sections: vec![TableSection { lines, ..TableSection::default() }],
        only: Some(Only::Terminal),
        ..TextTable::default()
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Hot {
    /// Or its place on the line.
    name: String,
    accesses_per_op: f64,
    /// Share of the row's accesses for which a line had to come.
    misses: f64,
    /// Share of the time that those waited.
    waited: f64,
}

/// Smaller shares are left out.
const SHOWN: f64 = 0.005;

/// The line's members that accesses waited for, the longest wait first.
fn hot(row: &SimulatedRow, line: &Moved) -> Vec<Hot> {
    let members = || row.lines.iter().flat_map(|line| &line.members);
    let misses: f64 = members().map(|member| member.misses_per_op).sum();
    let waited: f64 = members().map(|member| member.waited_ns_per_op).sum();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let mut hot: Vec<Hot> = Vec::new();
    for member in &line.members {
        let of = Hot {
            name: member.name.clone().unwrap_or_else(|| format!("offset {}", member.offset)),
            accesses_per_op: member.loads_per_op + member.stores_per_op + member.rmws_per_op,
            misses: share(member.misses_per_op, misses),
            waited: share(member.waited_ns_per_op, waited),
        };
        match hot.iter_mut().find(|other| other.name == of.name) {
            Some(other) => {
                other.accesses_per_op += of.accesses_per_op;
                other.misses += of.misses;
                other.waited += of.waited;
            }
            None => hot.push(of),
        }
    }
    hot.retain(|hot| hot.misses.max(hot.waited) >= SHOWN);
    hot.sort_by(|one, other| other.waited.total_cmp(&one.waited));
    hot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;
    use tenure_report::curves::{checks, page, terminal};
    use tenure_report::json;
    use tenure_report::terminal::Style;

    fn at_width(report: &SimulatedReport, width: usize) -> String {
        terminal::render(report, Style { width, colour: false })
    }

    fn printed(id: &str) -> String {
        let mut report = fixtures::simulated();
        report.groups.iter_mut().for_each(|group| group.scenarios.retain(|it| it.id == id));
        at_width(&report, 100)
    }

    #[test]
    fn several_numbers_of_cpus_are_lines_and_one_is_bars() {
        let count =
            |page: &str, kind: &str| page.matches(&format!("data-chart=\"{kind}\"")).count();
        let many = page::render(&fixtures::xeon());
        assert_eq!(count(&many, "lines"), 12, "throughput, time, transfers and retries of each");
        assert_eq!(count(&many, "bars"), 0);
        assert_eq!(count(&many, "heat"), 4 + 4 + 6, "the hottest line of every variant");
        let one = page::render(&fixtures::one_cpu());
        assert_eq!((count(&one, "lines"), count(&one, "bars"), count(&one, "heat")), (0, 3, 0));
    }

    #[test]
    fn what_the_simulator_gets_wrong_is_shown_as_openly_as_the_rest() {
        let report = fixtures::xeon();
        let page = page::render(&report);
        let shown = |kind: &str| page.matches(&format!("<td class=\"{kind}\">")).count();
        assert_eq!((shown("within"), shown("off")), (5, 2));
        let section = &page[page.find("id=\"validation\"").unwrap()..];
        assert!(!section[..section.find("</section>").unwrap()].contains("<details"), "not folded");
        for check in report.validation.iter().filter(|check| !check.within) {
            assert!(page.contains(&check.note));
        }
        let fitted = report.validation.iter().filter(|check| check.fitted).count();
        assert_eq!(page.matches("class=\"fitted\"").count(), fitted);
        let told = page.contains(prose::LEFT_OUT) && page.contains("docs/validation.md");
        assert!(fitted > 0 && told);
        let page = page::render(&fixtures::one_cpu());
        assert!(!page.contains("id=\"validation\"") && !page.contains("#validation"));
    }

    #[test]
    fn charts_are_shaded_where_siblings_share_a_cache_and_say_so() {
        let page = page::render(&fixtures::xeon());
        let page = page.replace("&#39;", "'").replace("&#x27;", "'");
        let why = "shaded: beyond 56 CPUs, siblings share a core's cache";
        assert_eq!(page.matches(why).count(), 12, "every chart");
        assert!(!page::render(&fixtures::one_cpu()).contains("siblings share"));
        assert_eq!(beyond(&fixtures::xeon().machine).unwrap().edge, 56);
        assert!(beyond(&fixtures::one_cpu().machine).is_none());
    }

    #[test]
    fn every_report_is_sound() {
        let usual = [fixtures::xeon(), fixtures::one_cpu()];
        checks::all_are_sound(&usual, &fixtures::hostile(), &fixtures::degenerate());
        checks::json_is_read_back(&fixtures::simulated());
        checks::fits_usual_terminals(&fixtures::simulated());
    }

    #[test]
    fn retries_are_told_of_those_who_retry() {
        let text = printed("refs/get-put");
        let retries = text.lines().skip_while(|line| *line != "retries/op").skip(1);
        let names: Vec<_> = retries
            .take_while(|line| line.starts_with("  "))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(names, ["inc_not_zero"]);
    }

    #[test]
    fn heat_names_the_members_that_share_a_line_with_the_count() {
        let text = printed("dst/cells");
        let heat = text.lines().skip_while(|line| !line.starts_with("heat, "));
        let shared: Vec<_> =
            heat.skip_while(|line| !line.contains("shared + rcuref")).take(3).collect();
        for member in ["refs", "lwtstate", "rt_genid"] {
            assert!(shared.iter().any(|line| line.contains(member)), "{text}");
        }
    }

    #[test]
    fn where_nothing_moved_it_says_so() {
        assert!(printed("refs/last-put").contains("no line moved"));
        assert!(page::render(&fixtures::one_cpu()).contains("No line moved: each CPU kept"));
    }

    #[test]
    fn notes_are_told() {
        assert!(at_width(&fixtures::simulated(), 100).contains("1..192 ends at 112"));
    }

    #[test]
    fn shares_of_a_row_add_up_to_one() {
        for scenario in fixtures::simulated().groups.iter().flat_map(|group| &group.scenarios) {
            for row in scenario.points.iter().flat_map(|point| &point.rows) {
                let hot: Vec<Hot> = row.lines.iter().flat_map(|line| hot(row, line)).collect();
                let waited: f64 = hot.iter().map(|hot| hot.waited).sum();
                let members: usize = row.lines.iter().map(|line| line.members.len()).sum();
                let left_out = SHOWN * (members - hot.len()) as f64;
                let all = 1.0 - left_out - 1e-9..1.0 + 1e-9;
                assert!(row.lines.is_empty() || all.contains(&waited), "{hot:?}");
            }
        }
    }

    #[test]
    fn the_committed_schema_is_the_one_that_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sim.schema.json");
        json::check_committed(path.as_ref(), &json::schema::<SimulatedReport>());
    }
}
