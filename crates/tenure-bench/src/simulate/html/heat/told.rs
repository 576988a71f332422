//! What a variant's lines say, in a sentence.

use serde::Serialize;

use crate::simulate::html::words::{self, Parts, plain};
use crate::simulate::result::{Line, Member, Row};
use crate::simulate::row::is_rest;

/// A sentence about a variant's lines.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Told {
    pub(super) sentence: Parts,
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
        return told(false, vec![plain("No line moves.")]);
    }
    let least = least(row);
    let victims: Vec<_> = row.lines.iter().flat_map(|line| victims(line, least)).collect();
    if !victims.is_empty() {
        return told(true, suffering(row, &victims, least));
    }
    let members = || row.lines.iter().flat_map(|line| &line.members);
    let waiting = unique(members().filter(|member| member.waited_ns_per_op > least).map(name));
    let here: Vec<_> = members().map(name).collect();
    let is_absent = |name: &&String| !here.contains(name) && !is_rest(name);
    let absent: Vec<_> = names.iter().filter(is_absent).cloned().collect();
    let mut sentence = match waiting.as_slice() {
        [] => vec![plain("Nothing waits for a line.")],
        [only] => vec![plain("Only "), words::code(only), plain(" waits for its line.")],
        several => [words::list(several), vec![plain(" wait for their lines.")]].concat(),
    };
    if !absent.is_empty() {
        let verb = if absent.len() == 1 { "is" } else { "are" };
        sentence.push(plain(" "));
        sentence.extend(words::list(&absent));
        sentence.push(plain(format!(" {verb} on no line that moves.")));
    }
    told(false, sentence)
}

/// Who waits less than this is not worth a word.
fn least(row: &Row) -> f64 {
    let members = row.lines.iter().flat_map(|line| &line.members);
    members.map(|member| member.waited_ns_per_op).sum::<f64>() * 0.01
}

/// The members of a line that are only read and yet wait, because another one is written.
fn victims(line: &Line, least: f64) -> impl Iterator<Item = &Member> {
    let contended = line.members.iter().any(is_written);
    let members = line.members.iter().filter(move |_| contended);
    members.filter(move |member| !is_written(member) && member.waited_ns_per_op > least)
}

fn suffering(row: &Row, victims: &[&Member], least: f64) -> Parts {
    let waited: f64 = victims.iter().map(|member| member.waited_ns_per_op).sum();
    let lines = row.lines.iter().filter(|line| self::victims(line, least).next().is_some());
    let written =
        unique(lines.flat_map(|line| &line.members).filter(|it| is_written(it)).map(name));
    let names = unique(victims.iter().map(|member| name(member)));
    let one = names.len() == 1;
    let (are, wait) = if one { ("is", "waits") } else { ("are", "wait") };
    let waited = words::number(waited);
    let share = if one { "it shares" } else { "they share" };
    let mut sentence = words::list(&names);
    sentence.push(plain(format!(
        " {are} only read and yet {wait} {waited} ns/op: {share} a line with "
    )));
    sentence.extend(words::list(&written));
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

    fn cells() -> Vec<Row> {
        let mut report = fixtures::xeon();
        report.groups[1].scenarios[0].points.pop().unwrap().rows
    }

    #[test]
    fn who_waits_for_what_it_only_reads_is_named_with_the_one_it_waits_for() {
        let rows = cells();
        let told = of(&rows[2], &names(&rows));
        assert!(told.suffers);
        let sentence = words::text(&told.sentence);
        let start = "lwtstate and rt_genid are only read and yet wait ";
        let end = " ns/op: they share a line with refs, which is written.";
        assert!(sentence.starts_with(start) && sentence.ends_with(end), "{sentence}");
    }

    #[test]
    fn what_another_variant_waits_for_is_said_not_to_move() {
        let rows = cells();
        let told = of(&rows[3], &names(&rows));
        assert!(!told.suffers);
        assert_eq!(
            words::text(&told.sentence),
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
        assert!(!of(&rows[0], &[]).suffers);
        rows[0].lines.clear();
        assert_eq!(words::text(&of(&rows[0], &[]).sentence), "No line moves.");
    }
}
