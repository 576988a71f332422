//! Every text of a report, without what must not reach a terminal or a page.

use crate::{Embedder, Finding, Report, Sharing, Suggestion, TypeMap};

/// The report without characters that act instead of showing (control characters, marks that turn text around).
pub(super) fn cleaned(report: &Report) -> Report {
    let mut report = report.clone();
    each_text(&mut report, &mut |text| {
        if text.chars().any(steers) {
            *text = text.chars().map(|each| if steers(each) { '\u{fffd}' } else { each }).collect();
        }
    });
    report
}

/// Control characters, and Unicode's directional marks, embeddings, overrides and isolates.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Calls `with` on every text that came from a file or the command line.
pub(super) fn each_text(report: &mut Report, with: &mut impl FnMut(&mut String)) {
    let Report { schema, tenure, source, scope, findings, maps, suggestions, unmended, checks } =
        report;
    for text in [schema, tenure, &mut source.path, &mut source.format] {
        with(text);
    }
    scope.types.iter_mut().for_each(&mut *with);
    findings.iter_mut().for_each(|it| finding(it, with));
    maps.iter_mut().for_each(|it| map(it, with));
    suggestions.iter_mut().for_each(|it| suggestion(it, with));
    for one in unmended {
        with(&mut one.type_name);
        with(&mut one.why);
    }
    for check in checks {
        with(&mut check.rule);
        with(&mut check.found);
    }
}

fn finding(it: &mut Finding, with: &mut impl FnMut(&mut String)) {
    with(&mut it.type_name);
    it.declared.iter_mut().for_each(&mut *with);
    match &mut it.sharing {
        Sharing::Within => {}
        Sharing::Embedding { inner, member, .. } => {
            [inner, member].into_iter().for_each(&mut *with);
        }
        Sharing::Elements { array, .. } => with(array),
        Sharing::Statics { section, .. } => with(section),
    }
    with(&mut it.contended.path);
    with(&mut it.contended.type_name);
    for victim in &mut it.victims {
        [&mut victim.path, &mut victim.type_name, &mut victim.why].into_iter().for_each(&mut *with);
    }
    for signal in &mut it.signals {
        with(&mut signal.name);
        with(&mut signal.seen);
    }
    with(&mut it.confidence.why);
}

fn map(it: &mut TypeMap, with: &mut impl FnMut(&mut String)) {
    with(&mut it.name);
    with(&mut it.shape);
    it.declared.iter_mut().for_each(&mut *with);
    for cell in it.lines.iter_mut().flat_map(|line| &mut line.cells) {
        with(&mut cell.path);
        with(&mut cell.type_name);
    }
}

fn suggestion(it: &mut Suggestion, with: &mut impl FnMut(&mut String)) {
    with(&mut it.type_name);
    with(&mut it.summary);
    it.moves.iter_mut().for_each(|one| with(&mut one.member));
    it.order.iter_mut().chain(&mut it.notes).for_each(&mut *with);
    map(&mut it.before, with);
    map(&mut it.after, with);
    for Embedder { type_name, moves, before, after, .. } in &mut it.embedders {
        with(type_name);
        moves.iter_mut().for_each(|one| with(&mut one.member));
        before.iter_mut().chain(after).for_each(|it| map(it, with));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixtures, json};

    #[test]
    fn every_text_of_a_report_is_reached() {
        // A text that is passed over stays as it was, and the JSON shows it.
        for (name, mut report) in fixtures::all() {
            each_text(&mut report, &mut |text| *text = "\u{1b}[2J".to_owned());
            let value = serde_json::to_value(&report).unwrap();
            let mut left = Vec::new();
            strings(&value, &mut left);
            left.retain(|text| {
                !["\u{1b}[2J", "within", "embedding", "elements", "statics"]
                    .contains(&text.as_str())
            });
            let words = ["count", "lock", "sequence", "atomic", "written", "read_mostly", "cold"];
            left.retain(|text| !words.contains(&text.as_str()));
            left.retain(|text| !["plain", "low", "medium", "high"].contains(&text.as_str()));
            assert!(left.is_empty(), "{name}: {left:?}");
            let clean = json::render(&cleaned(&report));
            assert!(!clean.contains("\\u001b"), "{name}");
        }
    }

    fn strings(value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => into.push(text.clone()),
            serde_json::Value::Array(all) => all.iter().for_each(|each| strings(each, into)),
            serde_json::Value::Object(all) => all.values().for_each(|each| strings(each, into)),
            _ => {}
        }
    }
}
