//! What a variant's lines say, in a sentence.

use serde::Serialize;

use crate::simulate::html::words;
use crate::simulate::result::{Line, Member, Row};

/// A sentence about a variant's lines.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Told {
    pub(super) sentence: String,
    /// Something waits for what it does not use.
    pub(super) suffers: bool,
}

/// A member's name, or its place.
pub(super) fn name(member: &Member) -> String {
    let place = || format!("{} B at {}", member.bytes, member.offset);
    member.name.clone().unwrap_or_else(place)
}

/// Whether anybody writes to it.
pub(super) fn is_written(member: &Member) -> bool {
    member.stores_per_op > 0.0 || member.rmws_per_op > 0.0
}

/// What is done to it.
pub(super) fn access(member: &Member) -> &'static str {
    if is_written(member) { "written" } else { "only read" }
}

/// The names of all members that any of `rows` has, in their order.
pub(super) fn names(rows: &[Row]) -> Vec<String> {
    let mut names = Vec::new();
    for member in rows.iter().flat_map(|row| &row.lines).flat_map(|line| &line.members) {
        let name = name(member);
        if member.name.is_some() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The sentence. `names` are those of all variants, so that it can say what does not move here.
pub(super) fn of(row: &Row, names: &[String]) -> Told {
    let told = |suffers, sentence| Told { sentence, suffers };
    if row.lines.is_empty() {
        return told(false, "No line moves.".to_owned());
    }
    let victims: Vec<_> = row.lines.iter().flat_map(victims).collect();
    if !victims.is_empty() {
        return told(true, suffering(row, &victims));
    }
    let members = || row.lines.iter().flat_map(|line| &line.members);
    let waiting = unique(members().filter(|member| member.waited_ns_per_op > 0.0).map(name));
    let here: Vec<_> = members().map(name).collect();
    let absent: Vec<_> = names.iter().filter(|name| !here.contains(name)).cloned().collect();
    let mut sentence = match waiting.as_slice() {
        [] => "Nothing waits for a line.".to_owned(),
        names => format!("Only {} waits for a line.", words::list(names)),
    };
    if waiting.len() > 1 {
        sentence =
            sentence.replacen("Only ", "", 1).replacen("waits for a line", "wait for lines", 1);
    }
    if !absent.is_empty() {
        let (verb, noun) = if absent.len() == 1 { ("is", "line") } else { ("are", "line") };
        sentence += &format!(" {} {verb} on no {noun} that moves.", words::list(&absent));
    }
    told(false, sentence)
}

/// The members of a line that are only read and yet wait, because another one is written.
fn victims(line: &Line) -> impl Iterator<Item = &Member> {
    let contended = line.members.iter().any(is_written);
    let members = line.members.iter().filter(move |_| contended);
    members.filter(|member| !is_written(member) && member.waited_ns_per_op > 0.0)
}

fn suffering(row: &Row, victims: &[&Member]) -> String {
    let waited: f64 = victims.iter().map(|member| member.waited_ns_per_op).sum();
    let lines = row.lines.iter().filter(|line| self::victims(line).next().is_some());
    let written =
        unique(lines.flat_map(|line| &line.members).filter(|it| is_written(it)).map(name));
    let names = unique(victims.iter().map(|member| name(member)));
    let (are, wait, they) =
        if names.len() == 1 { ("is", "waits", "it shares") } else { ("are", "wait", "they share") };
    format!(
        "{} {are} only read and yet {wait} {} ns/op: {they} a line with {}, which {} written.",
        words::list(&names),
        words::number(waited),
        words::list(&written),
        if written.len() == 1 { "is" } else { "are" },
    )
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

    fn cells() -> Vec<Row> {
        let mut report = fixtures::xeon();
        report.groups[1].scenarios[0].points.pop().unwrap().rows
    }

    #[test]
    fn who_waits_for_what_it_only_reads_is_named_with_the_one_it_waits_for() {
        let rows = cells();
        let told = of(&rows[2], &names(&rows));
        assert!(told.suffers);
        assert!(
            told.sentence.starts_with("lwtstate and rt_genid are only read and yet wait "),
            "{}",
            told.sentence
        );
        assert!(
            told.sentence.ends_with(" ns/op: they share a line with refs, which is written."),
            "{}",
            told.sentence
        );
    }

    #[test]
    fn what_another_variant_waits_for_is_said_not_to_move() {
        let rows = cells();
        let told = of(&rows[3], &names(&rows));
        assert!(!told.suffers);
        assert_eq!(
            told.sentence,
            "refs and head wait for lines. lwtstate and rt_genid are on no line that moves."
        );
    }

    #[test]
    fn a_member_that_is_read_and_written_suffers_from_nobody() {
        let mut rows = cells();
        rows.truncate(1);
        for member in rows[0].lines.iter_mut().flat_map(|line| &mut line.members) {
            member.stores_per_op = 0.1;
        }
        assert!(!of(&rows[0], &[]).suffers);
        rows[0].lines.clear();
        assert_eq!(of(&rows[0], &[]).sentence, "No line moves.");
    }
}
