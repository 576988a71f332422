//! The members and lines that moved, on the most CPUs: words, pictures and figures.

mod picture;

use serde::Serialize;

use super::result::{
    LineRow, MemberFigures, SimulatedPoint, SimulatedRow, SimulatedScenario, TransfersPerOp,
};
use super::row::is_rest;
use picture::HeatSpot;
use tenure_report::curves::{self, Column, Only, TableSection, TextTable};
use tenure_report::html;
use tenure_report::numbers::{counted, number, whole};
use tenure_report::parts::{self, Parts, plain};

#[derive(Serialize)]
struct Heat {
    cpus: String,
    variants: Vec<Variant>,
}

#[derive(Serialize)]
struct Variant {
    name: String,
    mark: &'static str,
    waited: String,
    summary: Summary,
    lines: Vec<Picture>,
    rest: Option<String>,
}

#[derive(Serialize)]
struct Picture {
    caption: String,
    aside: String,
    svg: String,
    labels: Vec<String>,
}

/// For a point at which something moved. `anchor` is unique in the page.
pub(super) fn html(scenario: &SimulatedScenario, point: &SimulatedPoint, anchor: &str) -> String {
    let names = names(&point.rows);
    let variant = |(index, row): (usize, &SimulatedRow)| {
        let (hot, rest) = hottest(&row.lines);
        let waited = Waited::of(row);
        let pictures = hot.iter().enumerate().map(|(at, line)| {
            picture(line, &format!("{anchor}-{index}-{at}"), at + 1, &row.variant, waited)
        });
        Variant {
            name: row.variant.clone(),
            mark: match &row.variant {
                name if *name == scenario.baseline => "baseline",
                name if scenario.limit.as_ref() == Some(name) && name != "limit" => "limit",
                _ => "",
            },
            waited: format!("{} ns/op waited", number(waited.0)),
            summary: summary(row, &names),
            lines: pictures.collect(),
            rest: others(rest),
        }
    };
    let variants = point.rows.iter().enumerate().map(variant).collect();
    let heat = Heat { cpus: counted(point.cpus, "CPU"), variants };
    html::part(include_str!("heat.html"), &heat)
}

pub(super) fn table(scenario: &SimulatedScenario, point: &SimulatedPoint) -> TextTable {
    let headings = [
        "offset",
        "bytes",
        "reads/op",
        "writes/op",
        "RMWs/op",
        "failed/op",
        "misses/op",
        "waited ns/op",
    ];
    let sections = point.rows.iter().flat_map(|row| {
        row.lines.iter().zip(1..).map(move |(line, at)| TableSection {
            title: format!("{}, line {at}: {}", row.variant, moved(line)),
            lines: line
                .members
                .iter()
                .map(|it| curves::TableLine::of(name(it), figures(it)))
                .collect(),
            ..TableSection::default()
        })
    });
    TextTable {
        caption: format!("{}: what moved on {}", scenario.title, counted(point.cpus, "CPU")),
        corner: "member".to_owned(),
        columns: headings.map(Column::new).into(),
        sections: sections.collect(),
        folded: "The same in figures".to_owned(),
        only: Some(Only::Page),
    }
}

fn moved(line: &LineRow) -> String {
    let mut parts = origins(&line.transfers_per_op);
    if line.far_per_op > 0.0 {
        parts.push(format!("{} far", number(line.far_per_op)));
    }
    let moved = number(line.transfers_per_op.all);
    let origins = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{moved} transfers/op{origins}")
}

fn figures(member: &MemberFigures) -> Vec<String> {
    let mut figures = vec![member.offset.to_string(), member.bytes.to_string()];
    let per_op = [
        member.loads_per_op,
        member.stores_per_op,
        member.rmws_per_op,
        member.failed_per_op,
        member.misses_per_op,
        member.waited_ns_per_op,
    ];
    figures.extend(per_op.map(number));
    figures
}

/// Lines to draw, and the others, which hardly move or are too many.
fn hottest(lines: &[LineRow]) -> (&[LineRow], &[LineRow]) {
    const MAX_SHOWN_LINES: usize = 3;
    /// Of the first line's moves.
    const MIN_SHARE_SHOWN: f64 = 0.02;
    let least = lines.first().map_or(0.0, moves) * MIN_SHARE_SHOWN;
    let hot = lines.iter().take(MAX_SHOWN_LINES).take_while(|line| moves(line) >= least).count();
    // A line whose moves are no number is drawn for its members.
    lines.split_at(hot.max(1).min(lines.len()))
}

fn moves(line: &LineRow) -> f64 {
    line.transfers_per_op.all + line.far_per_op
}

fn others(rest: &[LineRow]) -> Option<String> {
    let all: f64 = rest.iter().map(moves).sum();
    let figure = number(all);
    match rest.len() {
        0 => None,
        1 => Some(format!("1 more line with {figure} transfers/op is in the table.")),
        count => Some(format!(
            "{} more lines with {figure} transfers/op in all are in the table.",
            whole(count)
        )),
    }
}

/// The whole that shares are of.
#[derive(Clone, Copy)]
struct Waited(f64);

impl Waited {
    fn of(row: &SimulatedRow) -> Self {
        let members = row.lines.iter().flat_map(|line| &line.members);
        // From 0: an empty sum of floats is -0.
        Self(members.map(|member| member.waited_ns_per_op).fold(0.0, |all, one| all + one))
    }

    fn share(self, member: &MemberFigures) -> f64 {
        let share = member.waited_ns_per_op / self.0;
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

fn picture(line: &LineRow, id: &str, number_of: usize, variant: &str, waited: Waited) -> Picture {
    let moved = number(line.transfers_per_op.all);
    let title = format!("{variant}: line {number_of}, {moved} transfers per operation");
    let names = unique(line.members.iter().map(name));
    let labels: Vec<String> = names.iter().map(|name| label(name, line, waited)).collect();
    let spots: Vec<_> = line.members.iter().map(|it| spot(it, &names, waited)).collect();
    let mut aside = origins(&line.transfers_per_op);
    if line.far_per_op > 0.0 {
        aside.push(format!("{} read-modify-writes came to it", number(line.far_per_op)));
    }
    Picture {
        caption: format!("Line {number_of}: {moved} transfers/op"),
        aside: aside.join(", "),
        svg: picture::draw(&spots, &labels, id, &title),
        labels,
    }
}

fn spot(member: &MemberFigures, names: &[String], waited: Waited) -> HeatSpot {
    let name = name(member);
    HeatSpot {
        offset: member.offset,
        bytes: member.bytes,
        share: waited.share(member),
        is_written: is_written(member),
        label: names.iter().position(|it| *it == name).expect("names are those of the line"),
    }
}

/// What all members of one name on a line do, in a line of text.
fn label(name: &str, line: &LineRow, waited: Waited) -> String {
    let same: Vec<_> = line.members.iter().filter(|it| self::name(it) == name).collect();
    let sum = |figure: fn(&MemberFigures) -> f64| same.iter().map(|it| figure(it)).sum::<f64>();
    let (misses, ns) = (sum(|it| it.misses_per_op), sum(|it| it.waited_ns_per_op));
    let count = if same.len() > 1 { format!(" ×{}", same.len()) } else { String::new() };
    let access = if same.iter().any(|it| is_written(it)) { "written" } else { "only read" };
    let waits = if misses > 0.0 || ns > 0.0 {
        let share = same.iter().map(|member| waited.share(member)).sum();
        let percent = whole(percent(share));
        format!("{} misses/op, {} ns, {percent} %", number(misses), number(ns))
    } else {
        "never waits".to_owned()
    };
    format!("{name}{count}, {access}: {waits}")
}

fn percent(share: f64) -> usize {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let percent = (share * 100.0).round() as usize;
    percent
}

/// Where transfers came from, the farthest first.
fn origins(transfers: &TransfersPerOp) -> Vec<String> {
    [
        (transfers.remote, "from another socket"),
        (transfers.socket, "from another cluster"),
        (transfers.cluster, "within a cluster"),
        (transfers.memory, "from memory"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0.0)
    .map(|(count, from)| format!("{} {from}", number(count)))
    .collect()
}

#[derive(Debug, PartialEq, Serialize)]
struct Summary {
    sentence: Parts,
    /// A member waits for what it does not use.
    suffers: bool,
}

fn name(member: &MemberFigures) -> String {
    member.name.clone().unwrap_or_else(|| format!("{} B at {}", member.bytes, member.offset))
}

fn is_written(member: &MemberFigures) -> bool {
    member.stores_per_op > 0.0 || member.rmws_per_op > 0.0
}

fn names(rows: &[SimulatedRow]) -> Vec<String> {
    let mut names = Vec::new();
    for member in rows.iter().flat_map(|row| &row.lines).flat_map(|line| &line.members) {
        let name = name(member);
        if member.name.is_some() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// `names` are those of all variants: the sentence says what does not move here.
fn summary(row: &SimulatedRow, names: &[String]) -> Summary {
    let says = |suffers, sentence| Summary { sentence, suffers };
    if row.lines.is_empty() {
        return says(false, vec![plain("No line moves.")]);
    }
    let least = least(row);
    let victims: Vec<_> = row.lines.iter().flat_map(|line| victims(line, least)).collect();
    if !victims.is_empty() {
        return says(true, suffering(row, &victims, least));
    }
    let members = || row.lines.iter().flat_map(|line| &line.members);
    let waiting = unique(members().filter(|member| member.waited_ns_per_op > least).map(name));
    let here: Vec<_> = members().map(name).collect();
    let is_absent = |name: &&String| !here.contains(name) && !is_rest(name);
    let absent: Vec<_> = names.iter().filter(is_absent).cloned().collect();
    let mut sentence = match waiting.as_slice() {
        [] => vec![plain("Nothing waits for a line.")],
        [only] => vec![plain("Only "), parts::code(only), plain(" waits for its line.")],
        several => [parts::list(several), vec![plain(" wait for their lines.")]].concat(),
    };
    if !absent.is_empty() {
        let verb = if absent.len() == 1 { "is" } else { "are" };
        sentence.push(plain(" "));
        sentence.extend(parts::list(&absent));
        sentence.push(plain(format!(" {verb} on no line that moves.")));
    }
    says(false, sentence)
}

fn least(row: &SimulatedRow) -> f64 {
    Waited::of(row).0 * 0.01
}

/// Members that are only read, and wait because another one is written.
fn victims(line: &LineRow, least: f64) -> impl Iterator<Item = &MemberFigures> {
    let contended = line.members.iter().any(is_written);
    let members = line.members.iter().filter(move |_| contended);
    members.filter(move |member| !is_written(member) && member.waited_ns_per_op > least)
}

fn suffering(row: &SimulatedRow, victims: &[&MemberFigures], least: f64) -> Parts {
    let waited: f64 = victims.iter().map(|member| member.waited_ns_per_op).sum();
    let lines = row.lines.iter().filter(|line| self::victims(line, least).next().is_some());
    let written =
        unique(lines.flat_map(|line| &line.members).filter(|it| is_written(it)).map(name));
    let names = unique(victims.iter().map(|member| name(member)));
    let one = names.len() == 1;
    let (are, wait) = if one { ("is", "waits") } else { ("are", "wait") };
    let waited = number(waited);
    let share = if one { "it shares" } else { "they share" };
    let mut sentence = parts::list(&names);
    sentence.push(plain(format!(
        " {are} only read and yet {wait} {waited} ns/op: {share} a line with "
    )));
    sentence.extend(parts::list(&written));
    let are = if written.len() == 1 { "is" } else { "are" };
    sentence.push(plain(format!(", which {are} written.")));
    sentence
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    #[test]
    fn lines_that_hardly_move_are_told_and_not_drawn() {
        let report = fixtures::xeon();
        for row in &report.groups[1].scenarios[0].points.last().unwrap().rows {
            let (hot, rest) = hottest(&row.lines);
            let summary = "1 more line with 0.0040 transfers/op is in the table.";
            assert_eq!((hot.len(), others(rest).as_deref()), (1, Some(summary)));
        }
    }

    #[test]
    fn shares_are_of_what_the_variant_waited() {
        let report = fixtures::xeon();
        let row = &report.groups[1].scenarios[0].points.last().unwrap().rows[0];
        let members = row.lines.iter().flat_map(|line| &line.members);
        let all: f64 = members.map(|member| Waited::of(row).share(member)).sum();
        assert!((all - 1.0).abs() < 1e-9);
    }

    #[test]
    fn copies_of_a_word_on_a_line_share_a_label() {
        let report = fixtures::xeon();
        let row = &report.groups[1].scenarios[0].points.last().unwrap().rows[0];
        let first = row.lines[0].members[0].clone();
        let members = [0, 8, 16].map(|offset| MemberFigures { offset, ..first.clone() }).into();
        let line = LineRow { members, ..row.lines[0].clone() };
        let names = unique(line.members.iter().map(super::name));
        let spots = line.members.iter().map(|it| spot(it, &names, Waited::of(row)).label);
        assert_eq!(spots.collect::<Vec<_>>(), [0, 0, 0]);
        let misses = number(3.0 * first.misses_per_op);
        let start = format!("{} ×3, written: {misses} misses/op, ", name(&first));
        let label = label(&names[0], &line, Waited::of(row));
        assert!(label.starts_with(&start), "{label}");
    }

    fn cells() -> Vec<SimulatedRow> {
        let mut report = fixtures::xeon();
        report.groups[1].scenarios[0].points.pop().unwrap().rows
    }

    #[test]
    fn who_waits_for_what_it_only_reads_is_named_with_the_one_it_waits_for() {
        let rows = cells();
        let summary = super::summary(&rows[2], &names(&rows));
        assert!(summary.suffers);
        let sentence = parts::text_of(&summary.sentence);
        let start = "lwtstate and rt_genid are only read and yet wait ";
        let end = " ns/op: they share a line with refs, which is written.";
        assert!(sentence.starts_with(start) && sentence.ends_with(end), "{sentence}");
    }

    #[test]
    fn what_another_variant_waits_for_is_said_not_to_move() {
        let rows = cells();
        let summary = super::summary(&rows[3], &names(&rows));
        assert!(!summary.suffers);
        assert_eq!(
            parts::text_of(&summary.sentence),
            "Only refs waits for its line. lwtstate and rt_genid are on no line that moves."
        );
    }

    #[test]
    fn a_member_that_is_read_and_written_suffers_from_nobody() {
        let mut rows = cells();
        rows.truncate(1);
        for member in rows[0].lines.iter_mut().flat_map(|line| &mut line.members) {
            member.stores_per_op = 0.1;
        }
        assert!(!super::summary(&rows[0], &[]).suffers);
        rows[0].lines.clear();
        assert_eq!(parts::text_of(&super::summary(&rows[0], &[]).sentence), "No line moves.");
    }
}
