//! Which findings a reader asked for.

use wildmatch::WildMatchPattern;

use tenure_model::{Finding, Origin, Report, Source, Storage, short_path};
use tenure_report::numbers::counted;

use crate::answer::answer;

/// Findings in some part of the program, or of some types. Every pattern has to fit; `*` in one stands for anything.
#[derive(Debug, Clone, Default)]
pub struct FindingFilter {
    /// A module or function (`server::session`), or a file or folder (`src/session.rs`) that the line is declared, allocated or
    /// used in.
    pub within: Option<String>,
    /// The type of the object, with or without its modules.
    pub type_name: Option<String>,
    /// Whether only lines count that the program's own code declares or uses most.
    pub yours: bool,
}

impl FindingFilter {
    /// Leaves out all other findings, and says in the report how many.
    pub fn apply(&self, report: &mut Report) {
        let before = report.findings.len();
        report.findings.retain(|finding| self.takes(finding));
        let left_out = before - report.findings.len();
        if left_out > 0 {
            let said = counted(left_out, "more finding");
            let said = format!("{said} did not fit --in, --type or --yours.");
            note_left_out(report, left_out, [said]);
        }
    }

    fn takes(&self, finding: &Finding) -> bool {
        let of_type = self.type_name.as_ref().is_none_or(|wanted| {
            let pattern: WildMatchPattern<'*', '\0'> = WildMatchPattern::new(wanted);
            let name = &finding.type_name;
            pattern.matches(name) || pattern.matches(&short_path(name, 1))
        });
        let within = self.within.as_ref().is_none_or(|wanted| {
            // It begins with a name: `server.rs` is not `observer.rs`.
            let patterns = ["", "*/", "*::"].map(|before| format!("{before}{wanted}*"));
            let patterns = patterns.map(|it| WildMatchPattern::<'*', '\0'>::new(&it));
            let fits = |place: &str| patterns.iter().any(|pattern| pattern.matches(place));
            places(finding).into_iter().any(fits)
        });
        of_type && within && (!self.yours || finding.origin == Origin::Yours)
    }
}

/// Counts the findings that are left in the report of a run, answers by them, and says what was left out: so many lines.
pub(crate) fn note_left_out(
    report: &mut Report,
    lines: usize,
    said: impl IntoIterator<Item = String>,
) {
    report.scope.findings = report.findings.len() as u64;
    if let Source::Run(run) = &mut report.source {
        run.left_out += lines as u64;
        run.missing.extend(said);
        report.answer = Some(answer(report, None));
    }
}

/// The functions and lines of a finding.
fn places(finding: &Finding) -> Vec<&str> {
    let uses = finding.words().into_iter().flat_map(|word| &word.uses);
    let used = uses.flat_map(|it| it.code.iter().chain(&it.callers));
    let allocated = match finding.observed.as_ref().map(|observed| &observed.storage) {
        Some(Storage::Heap { allocated, .. }) => allocated.as_ref(),
        _ => None,
    };
    let code = used.chain(allocated);
    let places = code.flat_map(|code| [Some(&*code.function), code.line.as_deref()]);
    places.flatten().chain(finding.declared.as_deref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn findings_are_filtered_by_place_and_by_type_and_the_others_are_counted() {
        let left = |within: Option<&str>, type_name: Option<&str>| {
            let mut report = fixtures::run();
            report.findings[2].origin = Origin::Dependency;
            let [within, type_name] = [within, type_name].map(|it| it.map(str::to_owned));
            let yours = within.as_deref() == Some("*");
            FindingFilter { within, type_name, yours }.apply(&mut report);
            let Source::Run(run) = report.source else { panic!("{:?}", report.source) };
            assert_eq!(run.left_out, 4 - report.findings.len() as u64);
            let ranks: Vec<u64> = report.findings.iter().map(|finding| finding.rank).collect();
            (ranks, run.missing.last().is_some_and(|said| said.ends_with("--yours.")))
        };
        assert_eq!(left(None, None), (vec![1, 2, 3, 4], false));
        assert_eq!(left(Some("server.rs"), None), (vec![1], true));
        assert_eq!(left(Some("erver.rs"), None), (vec![], true));
        assert_eq!(left(Some("server::count"), None), (vec![2], true));
        assert_eq!(left(Some("src/*.rs"), None).0, [1, 2]);
        assert_eq!(
            left(Some("*"), None).0,
            [1, 2],
            "the third is a dependency's, the fourth nowhere"
        );
        assert_eq!(left(None, Some("Session")).0, [1]);
        assert_eq!(left(None, Some("*Session")).0, [1]);
        assert_eq!(left(Some("stats.rs"), Some("Session")).0, [0_u64; 0]);
    }
}
