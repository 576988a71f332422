//! Which members of which lines moved, on the most CPUs.
//!
//! `told` says it in words, `row` draws a line, and `labels` finds places for the names below it.

mod labels;
mod row;
mod table;
mod told;

use serde::Serialize;

use super::words;
use crate::simulate::result::{self, Line, Member, Scenario, Transfers};
use table::Variant as Rows;
use tenure_report::chart;
use told::Told;

/// The heat of a scenario.
#[derive(Serialize)]
pub(super) struct Heat {
    cpus: String,
    variants: Vec<Variant>,
    /// The same in figures.
    table: Vec<Rows>,
    caption: String,
}

#[derive(Serialize)]
struct Variant {
    name: String,
    mark: &'static str,
    /// How long all of its accesses waited.
    waited: String,
    told: Told,
    lines: Vec<Picture>,
    /// The lines that are not drawn, if there are any.
    rest: Option<String>,
}

/// A line with its caption.
#[derive(Serialize)]
struct Picture {
    caption: String,
    aside: String,
    svg: String,
}

/// The heat on the most CPUs; `None` if nothing moved there.
pub(super) fn of(scenario: &Scenario, anchor: &str) -> Option<Heat> {
    let point = words::headline(scenario)?;
    if point.rows.iter().all(|row| row.lines.is_empty()) {
        return None;
    }
    let names = told::names(&point.rows);
    let variant = |(index, row): (usize, &result::Row)| {
        let (hot, rest) = hottest(&row.lines);
        let waited = Waited::of(row);
        let pictures = hot.iter().enumerate().map(|(at, line)| {
            let place = Place { id: format!("{anchor}-heat-{index}-{at}"), number: at + 1 };
            picture(line, &place, &row.variant, waited)
        });
        Variant {
            name: row.variant.clone(),
            mark: chart::mark(
                &row.variant,
                row.variant == scenario.baseline,
                scenario.limit.as_ref() == Some(&row.variant),
            ),
            waited: format!("{} ns/op waited", words::number(waited.0)),
            told: told::of(row, &names),
            lines: pictures.collect(),
            rest: others(rest),
        }
    };
    let cpus = words::counted(point.cpus, "CPU");
    Some(Heat {
        variants: point.rows.iter().enumerate().map(variant).collect(),
        table: point.rows.iter().filter_map(table::variant).collect(),
        caption: format!("{}: what moved on {cpus}", scenario.title),
        cpus,
    })
}

/// The lines to draw, and the others, which hardly move or are too many.
fn hottest(lines: &[Line]) -> (&[Line], &[Line]) {
    /// So many lines are drawn.
    const MOST: usize = 3;
    /// Of the first line's moves.
    const LEAST: f64 = 0.02;
    let least = lines.first().map_or(0.0, moves) * LEAST;
    let hot = lines.iter().take(MOST).take_while(|line| moves(line) >= least).count();
    // A line whose moves are no number is drawn for what is on it.
    lines.split_at(hot.max(1).min(lines.len()))
}

fn moves(line: &Line) -> f64 {
    line.transfers_per_op.all + line.far_per_op
}

fn others(rest: &[Line]) -> Option<String> {
    let all: f64 = rest.iter().map(moves).sum();
    let figure = words::number(all);
    match rest.len() {
        0 => None,
        1 => Some(format!("1 more line with {figure} transfers/op is in the table.")),
        count => Some(format!(
            "{} more lines with {figure} transfers/op in all are in the table.",
            words::whole(count)
        )),
    }
}

/// All that a variant waited, which shares are of.
#[derive(Clone, Copy)]
struct Waited(f64);

impl Waited {
    fn of(row: &result::Row) -> Self {
        let members = row.lines.iter().flat_map(|line| &line.members);
        // From 0: an empty sum of floats is -0.
        Self(members.map(|member| member.waited_ns_per_op).fold(0.0, |all, one| all + one))
    }

    /// A member's part of it, of 1.
    fn share(self, member: &Member) -> f64 {
        let share = member.waited_ns_per_op / self.0;
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Where in the page a picture is.
struct Place {
    id: String,
    /// Of the line among its variant's, the hottest is 1.
    number: usize,
}

fn picture(line: &Line, place: &Place, variant: &str, waited: Waited) -> Picture {
    let moved = words::number(line.transfers_per_op.all);
    let title = format!("{variant}: line {}, {moved} transfers per operation", place.number);
    let spots: Vec<_> = line.members.iter().map(|member| spot(member, waited)).collect();
    let mut aside = origins(&line.transfers_per_op);
    if line.far_per_op > 0.0 {
        aside.push(format!("{} read-modify-writes came to it", words::number(line.far_per_op)));
    }
    Picture {
        caption: format!("Line {}: {moved} transfers/op", place.number),
        aside: aside.join(", "),
        svg: row::draw(&spots, &place.id, &title),
    }
}

fn spot(member: &Member, waited: Waited) -> row::Spot {
    let share = waited.share(member);
    let access = told::access(member);
    let mut figures = vec![format!("{}, {access}", told::name(member))];
    if member.misses_per_op > 0.0 || member.waited_ns_per_op > 0.0 {
        figures.push(format!("{} misses/op", words::number(member.misses_per_op)));
        let percent = words::whole(percent(share));
        figures.push(format!("{} ns, {percent} %", words::number(member.waited_ns_per_op)));
    } else {
        figures.push("never waits".to_owned());
    }
    row::Spot {
        offset: member.offset,
        bytes: member.bytes,
        share,
        is_written: told::is_written(member),
        label: figures,
    }
}

/// A share in whole percent.
fn percent(share: f64) -> usize {
    // From 0 to 100.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let percent = (share * 100.0).round() as usize;
    percent
}

/// Where transfers came from, in words: the farthest first, without what did not occur.
fn origins(transfers: &Transfers) -> Vec<String> {
    [
        (transfers.remote, "from another socket"),
        (transfers.socket, "from another cluster"),
        (transfers.cluster, "within a cluster"),
        (transfers.memory, "from memory"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0.0)
    .map(|(count, from)| format!("{} {from}", words::number(count)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::fixtures;

    #[test]
    fn lines_that_hardly_move_are_told_and_not_drawn() {
        let report = fixtures::xeon();
        let heat = of(&report.groups[1].scenarios[0], "s").unwrap();
        assert!(heat.variants.iter().all(|variant| variant.lines.len() == 1));
        let rest = heat.variants[0].rest.as_deref();
        assert_eq!(rest, Some("1 more line with 0.0040 transfers/op is in the table."));
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
    fn where_nothing_moved_there_is_no_heat() {
        let report = fixtures::one_cpu();
        assert!(of(&report.groups[0].scenarios[0], "s").is_none());
    }
}
