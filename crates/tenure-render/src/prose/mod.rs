//! Findings as prose: the same in a terminal and in HTML.

pub(super) mod answer;
pub(super) mod measured;
pub(super) mod observed;
mod predicted;
pub(super) mod watched;

use std::cmp::Ordering;

pub(super) use tenure_report::numbers::{counted, scaled, share, whole};

use tenure_model::{
    Access, Change, Check, CodeRead, Confidence, Difference, Finding, Level, Means, OperandShare,
    Origin, Report, Scope, Sharing, Source, Suggestion, Suppression, TypeMap, Types, Word,
};

/// The first in parts of the second; 0 if there is none.
#[allow(clippy::cast_precision_loss)] // It is shown to three digits.
pub(super) fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

pub(super) fn lines(count: u64) -> String {
    counted(count, "line")
}

/// A score: it orders, and its decimals say nothing.
pub(super) fn score(score: f64) -> String {
    if score.is_finite() { format!("{score:.0}") } else { "–".to_owned() }
}

/// The score of a finding: none of what only measuring shows.
pub(super) fn shown_score(finding: &Finding) -> String {
    if finding.signals.is_empty() { "–".to_owned() } else { score(finding.score) }
}

/// A score in a word: it orders, and measures nothing.
pub(super) fn grade(score: f64) -> &'static str {
    match score {
        40.0.. => "high",
        15.0.. => "medium",
        _ => "low",
    }
}

/// All findings that have a rank, shown or not.
pub(super) fn ranked(report: &Report) -> u64 {
    let last = report.findings.iter().map(|finding| finding.rank).max().unwrap_or(0);
    let Scope { findings, dependencies, standard, .. } = report.scope;
    findings.saturating_add(dependencies).saturating_add(standard).max(last)
}

/// What a score, or what is shown in its place, is a part of.
pub(super) fn score_of(report: &Report, finding: &Finding) -> &'static str {
    match &finding.observed {
        _ if measured::share(report, finding).is_some() => measured::share_of(report),
        Some(observed) if observed.cost.is_some() => "of the time seen, at most",
        Some(_) => "of contended accesses",
        None => "likely harm",
    }
}

pub(super) fn sharing(finding: &Finding) -> String {
    match &finding.sharing {
        Sharing::Within => "within the type".to_owned(),
        Sharing::Embedding { inner, member, offset } => {
            format!("through {member} ({inner}) at {offset}")
        }
        Sharing::Elements { array, stride, count } => {
            format!(
                "across elements of {array}: {} of {stride} bytes",
                if *count == 0 { "any number".to_owned() } else { whole(*count) }
            )
        }
        Sharing::Statics { section, address } => {
            format!("between variables of {section}, at {address:#x}")
        }
        Sharing::Objects => "between objects that lie next to each other".to_owned(),
    }
}

/// The sign of a neighbour: contended ones are culprits as well.
pub(super) fn sign(victim: &Word) -> &'static str {
    if victim.role.is_contended() { "!" } else { "*" }
}

/// Why a neighbour counts: what was measured of it, and where its weight comes from.
pub(super) fn why(victim: &Word) -> String {
    let measured = victim.measured.as_ref().map(measured::word);
    let parts = measured.into_iter().chain([victim.why.clone()]);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The kind of sharing in a word, for a search.
pub(super) fn kind(sharing: &Sharing) -> &'static str {
    match sharing {
        Sharing::Within => "within",
        Sharing::Embedding { .. } => "embedding",
        Sharing::Elements { .. } => "elements",
        Sharing::Statics { .. } => "statics",
        Sharing::Objects => "objects",
    }
}

/// `high`, or `medium (75 %)`, where that is the share of placements.
pub(super) fn confidence(confidence: &Confidence) -> String {
    let word = level(confidence.level);
    if confidence.placements >= 1.0 {
        return word.to_owned();
    }
    format!("{word} ({:.0} %)", confidence.placements * 100.0)
}

pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Low => "low",
        Level::Medium => "medium",
        Level::High => "high",
    }
}

/// The file or the command that findings are of.
pub(super) fn subject(report: &Report) -> &str {
    match &report.source {
        Source::Types(types) => &types.path,
        Source::Run(run) => &run.command,
    }
}

pub(super) fn source(report: &Report) -> String {
    match &report.source {
        Source::Types(it) => types(it, report.line_bytes),
        Source::Run(it) => {
            let parts = [observed::lived(it), observed::recorded(it)];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
        }
    }
}

fn types(types: &Types, line_bytes: u64) -> String {
    let mut parts = vec![match types.format.as_str() {
        "btf" => "BTF".to_owned(),
        "dwarf" => format!("DWARF of {}", counted(types.units, "unit")),
        other => other.to_owned(),
    }];
    parts.push(counted(types.composites, "type"));
    parts.push(format!("{} with contended words", whole(types.contended)));
    if types.statics > 0 {
        parts.push(counted(types.statics, "variable"));
    }
    parts.push(format!("lines of {line_bytes} bytes"));
    let mut sentence = parts.join(", ");
    if let Some(first) = types.skipped.first() {
        let many = counted(types.skipped.len() as u64, "malformed unit");
        sentence += &format!("; {many} left out, the first: {first}");
    }
    if let Some(code) = &types.code {
        sentence += &format!(". {}", self::code(code));
    }
    if let Some(recorded) = &types.recorded {
        sentence += &format!(". {}", measured::source(recorded));
    }
    sentence
}

fn code(code: &CodeRead) -> String {
    if let Some(why) = &code.unread {
        return format!("Code not read: {why}");
    }
    let percent = |part: u64, all: u64| part.saturating_mul(100) / all.max(1);
    let of = |share: &OperandShare| {
        format!("{} % in {}", percent(share.attributed, share.operands), share.language)
    };
    let known: Vec<String> = code.operands.iter().map(of).collect();
    let mut sentence = format!("Code of {}", counted(code.functions, "function"));
    if !known.is_empty() {
        sentence += &format!(
            ": of the operands that threads may share, {} have a known member or variable",
            known.join(", ")
        );
    }
    if code.blind > 0 {
        let blind = counted(code.blind, "function");
        sentence += &format!("; {blind} without the places of variables");
    }
    if code.skipped > 0 {
        sentence += &format!("; {} not read in full", counted(code.skipped, "unit"));
    }
    if code.misses_words() {
        sentence += &format!(
            ". Contended words may be missing: of {}, {} are of nothing known, most in {}",
            counted(code.locked, "atomic operand"),
            whole(code.locked_unknown),
            code.unknown_in.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
        );
    }
    sentence
}

pub(super) fn found(report: &Report) -> String {
    if let Source::Run(run) = &report.source {
        return observed::found(report, run);
    }
    let shown = report.findings.len() as u64;
    let all = report.scope.findings.max(shown);
    let within = match report.scope.types.as_slice() {
        [] => String::new(),
        [only] => format!(" in {only}"),
        [init @ .., last] => format!(" in {} and {last}", init.join(", ")),
    };
    let left = left_out(&report.scope);
    if all == 0 && !left.is_empty() {
        return format!("No finding in types of the program's own.{left}");
    }
    format!("{}{}", summed(all, shown, &within), left)
}

fn left_out(scope: &Scope) -> String {
    let of = |count: u64, whose: &str| (count > 0).then(|| format!("{} {whose}", whole(count)));
    let counts =
        [of(scope.dependencies, "of dependencies"), of(scope.standard, "of standard libraries")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let mut sentences = match counts.as_slice() {
        [] => String::new(),
        counts => format!(" --all adds {}.", counts.join(" and ")),
    };
    for Suppression { reason, findings } in &scope.suppressed {
        sentences += &match findings {
            0 => format!(" A suppression is for no finding and can go: {reason}."),
            count => format!(" {} suppressed: {reason}.", counted(*count, "finding")),
        };
    }
    sentences
}

/// A heading over the findings that were measured, or over those of one origin.
pub(super) fn section(report: &Report, finding: &Finding) -> &'static str {
    if measured::share(report, finding).is_some() {
        return "Measured";
    }
    match finding.origin {
        Origin::Yours => "Yours",
        Origin::Dependency => "Dependencies",
        Origin::Standard => "Standard library",
    }
}

/// ` and 3 more instances`.
pub(super) fn instances(finding: &Finding) -> String {
    match finding.instances {
        0 | 1 => String::new(),
        many => format!(" and {}", counted(many - 1, "more instance")),
    }
}

fn summed(all: u64, shown: u64, within: &str) -> String {
    match (all, shown) {
        (0, _) => {
            format!(
                "Nothing{within} shares a line with a contended word, as far as is known. (To mark \
                 plain words that many CPUs write, pass a rules file: --rules FILE.)"
            )
        }
        (all, 0) => format!("{}{within}; none of them is shown.", counted(all, "finding")),
        (1, 1) => format!("1 finding{within}."),
        (all, shown) if all == shown => {
            format!("{} findings{within}, the worst first.", whole(all))
        }
        (all, shown) => {
            format!("{}{within}; {}.", counted(all, "finding"), observed::worst(shown))
        }
    }
}

/// The shape of a map that was made of a finding's words.
pub(super) const WORDS: &str = "words";

/// `112 bytes, 2 lines`.
pub(super) fn extent(map: &TypeMap) -> String {
    if map.shape == WORDS {
        return "the words that are known".to_owned();
    }
    let shape = match map.shape.as_str() {
        "struct" => String::new(),
        shape => format!("{shape}, "),
    };
    format!(
        "{shape}{}, {}, aligned to {}",
        counted(map.size, "byte"),
        lines(map.line_count),
        map.align
    )
}

/// `3 of 17 checks failed`.
pub(super) fn checks(checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| !check.passed).count();
    match (failed, checks.len()) {
        (0, 1) => "The check holds.".to_owned(),
        (0, all) => format!("All {} hold.", counted(all, "check")),
        (failed, all) => format!("{} of {} failed.", whole(failed as u64), counted(all, "check")),
    }
}

/// `2 new, 1 worse`.
pub(super) fn changes(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "Nothing differs from the older report.".to_owned();
    }
    let all = [
        Difference::New,
        Difference::Worse,
        Difference::Better,
        Difference::Moved,
        Difference::Gone,
    ];
    let count = |one: Difference| {
        let count = changes.iter().filter(|change| change.change == one).count();
        (count > 0).then(|| format!("{} {}", whole(count as u64), difference(one)))
    };
    let counts: Vec<String> = all.into_iter().filter_map(count).collect();
    format!("Compared with the older report: {}.", counts.join(", "))
}

pub(super) fn difference(difference: Difference) -> &'static str {
    match difference {
        Difference::New => "new",
        Difference::Worse => "worse",
        Difference::Better => "better",
        Difference::Moved => "moved",
        Difference::Gone => "gone",
    }
}

/// `score 12 → 20`, or `130 k → 410 k changes of owner/s`.
pub(super) fn measures(report: &Report, change: &Change) -> String {
    let (figure, before, after): (fn(f64) -> String, _, _) = match report.source {
        _ if change.change == Difference::Moved => (score, "at ", ""),
        Source::Types(_) => (score, "score ", ""),
        Source::Run(_) => (scaled, "", " changes of owner/s"),
    };
    let figures = match (change.before.map(figure), change.after.map(figure)) {
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (Some(before), None) => format!("was {before}"),
        (None, after) => after.unwrap_or_default(),
    };
    format!("{before}{figures}{after}")
}

pub(super) fn ordered(checks: &[Check]) -> impl Iterator<Item = &Check> {
    let of = |passed| checks.iter().filter(move |check| check.passed == passed);
    of(false).chain(of(true))
}

/// A heading over a layout, by what it helps.
pub(super) fn means(means: Means) -> &'static str {
    match means {
        Means::Order => "A better order",
        Means::Align => "Lines of its own",
        Means::Split => "Split off",
    }
}

pub(super) fn gain(suggestion: &Suggestion) -> String {
    let grows = suggestion.embedders.iter().filter(|it| it.size_after > it.size_before).count()
        + usize::from(suggestion.after.size > suggestion.before.size);
    let cost = match (suggestion.means, grows) {
        (Means::Align | Means::Split, _) => price(suggestion.price),
        (_, 0) => "no type grows".to_owned(),
        (_, 1) => "1 type grows".to_owned(),
        (_, many) => format!("{} types grow", whole(many as u64)),
    };
    let how = match suggestion.means {
        Means::Order => "A better order takes",
        Means::Align => "Lines of its own take",
        Means::Split => "Splitting it off takes",
    };
    format!(
        "{how} the scores of all that it touches from {} to {}; {cost}.",
        score(suggestion.score_before),
        score(suggestion.score_after)
    )
}

/// `+80 bytes an object`.
fn price(bytes: i64) -> String {
    let sign = if bytes < 0 { "−" } else { "+" };
    format!("{sign}{} an object", counted(bytes.unsigned_abs(), "byte"))
}

/// What else would help, one sentence each.
pub(super) fn alternatives(suggestion: &Suggestion) -> impl Iterator<Item = String> {
    suggestion
        .alternatives
        .iter()
        .map(|other| format!("Or: {} Score {}.", other.summary, score(other.score_after)))
}

/// The bytes of a type before and after a suggestion.
#[derive(serde::Serialize)]
pub(super) struct TypeSizes<'a> {
    pub(super) type_name: &'a str,
    pub(super) before: String,
    pub(super) after: String,
    /// `+16`, or nothing.
    pub(super) change: String,
}

/// The sizes of the type and of all that embed it.
pub(super) fn sizes(suggestion: &Suggestion) -> impl Iterator<Item = TypeSizes<'_>> {
    let own = (suggestion.type_name.as_str(), suggestion.before.size, suggestion.after.size);
    let embedders = suggestion.embedders.iter();
    let rows = embedders.map(|it| (it.type_name.as_str(), it.size_before, it.size_after));
    std::iter::once(own).chain(rows).map(|(type_name, before, after)| {
        let change = match after.cmp(&before) {
            Ordering::Equal => String::new(),
            Ordering::Less => format!("−{}", whole(before - after)),
            Ordering::Greater => format!("+{}", whole(after - before)),
        };
        TypeSizes { type_name, before: whole(before), after: whole(after), change }
    })
}

/// The command that shows more of a type.
pub(super) fn command(report: &Report, type_name: &str) -> String {
    let source = match subject(report) {
        "/sys/kernel/btf/vmlinux" => "--kernel".to_owned(),
        path => quoted(path),
    };
    format!("tenure layout {source} {} --suggest", quoted(type_name))
}

/// Whether a type belongs to the standard library of C++ or Rust. What Rust keeps in an `ArcInner` is the program's.
pub(super) fn is_of_a_standard_library(type_name: &str) -> bool {
    const PATHS: [&str; 4] = ["std::", "core::", "alloc::", "__gnu_cxx::"];
    PATHS.iter().any(|path| type_name.starts_with(path)) && !type_name.contains("ArcInner<")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |each: char| each.is_alphanumeric() || "/._-+:@%,=".contains(each);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// An access in words: `compare-exchange`.
pub(crate) fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Load => "load",
        Access::Store => "store",
        Access::Add => "add",
        Access::Exchange => "exchange",
        Access::CompareExchange | Access::Failed => "compare-exchange",
        Access::Lock | Access::Unlock => "lock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn how_they_share_a_line_is_told_in_words() {
        let (route, places) = (fixtures::route(), fixtures::places());
        assert_eq!(sharing(&route.findings[0]), "within the type");
        assert_eq!(sharing(&route.findings[1]), "through dst (dst_entry) at 0");
        assert_eq!(
            sharing(&places.findings[0]),
            "across elements of server.workers: 192 of 24 bytes"
        );
        assert_eq!(sharing(&places.findings[1]), "between variables of .bss, at 0x4c1d40");
    }

    #[test]
    fn a_placement_of_less_than_all_is_told() {
        let report = fixtures::route();
        assert_eq!(confidence(&report.findings[0].confidence), "medium (75 %)");
        assert_eq!(confidence(&fixtures::places().findings[1].confidence), "high");
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        let report = fixtures::empty();
        assert_eq!(command(&report, "dst_entry"), "tenure layout --kernel dst_entry --suggest");
        assert!(command(&report, "Vec<it's>").ends_with(r"'Vec<it'\''s>' --suggest"));
    }

    #[test]
    fn what_moved_is_told_with_both_offsets() {
        let change = Change {
            change: Difference::Moved,
            finding: "dst_entry: __refcnt".to_owned(),
            before: Some(64.0),
            after: Some(128.0),
        };
        assert_eq!(measures(&fixtures::route(), &change), "at 64 → 128");
    }

    #[test]
    fn checks_are_summed_up() {
        let report = fixtures::checked();
        assert_eq!(checks(&report.checks), "3 of 17 checks failed.");
        assert_eq!(checks(&report.checks[..0]), "All 0 checks hold.");
        assert!(!ordered(&report.checks).next().unwrap().passed);
    }
}
