//! A budget: which lines a program may contend for.
//!
//! A run in CI is checked against a TOML file. Every contended line needs an entry, so that a new one fails:
//!
//! ```toml
//! # Lines with a smaller share of the accesses to contended lines need no entry. This is the default.
//! below = 0.01
//!
//! [[allow]]
//! member = "Session.refs"      # a word of the line: type.member
//! share = 0.5                  # optional: the largest share of the accesses to contended lines
//! rate = 2e6                   # optional: the most changes of owner per second that are possible
//!
//! [[allow]]
//! static = "server::STATS"     # a variable
//! kind = "false_sharing"       # false_sharing, beside_read_mostly, hot_word or lock
//!
//! [[allow]]
//! code = "queue.rs:52"         # a line of code that uses a word of the line
//!
//! # What is no fault, or not ours to fix: left out of the report, and counted there.
//! [[suppress]]
//! code = "vendor/*"
//! reason = "fixed in their next release"
//! ```
//!
//! An entry covers a line if all that it says holds. In names `*` stands for anything, and the modules before a name
//! may be left out.
//!
//! ```
//! # let report = tenure_model::Report::new(
//! #     tenure_model::Source::Types(tenure_model::Types {
//! #         path: String::new(), format: String::new(), units: 0, composites: 0, contended: 0, statics: 0, code: None, recorded: None,
//! #         skipped: Vec::new(),
//! #     }), 64, Vec::new());
//! let budget = tenure_analyze::Budget::parse("[[allow]]\nmember = 'Session.refs'", "budget.toml")?;
//! let checks = budget.check(&report);
//! let passed = checks.iter().all(|check| check.passed);
//! # assert!(passed);
//! # Ok::<(), tenure_analyze::InputError>(())
//! ```

use std::path::Path;

use serde::Deserialize;
use wildmatch::WildMatchPattern;

use crate::InputError;
use crate::filter::note_left_out;
use tenure_model::{Check, Finding, Kind, Report, Sharing, Storage, short_path};
use tenure_report::numbers::{counted, scaled, share};

/// Which lines a program may contend for: see the [module](self).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    #[serde(default = "one_percent")]
    below: f64,
    #[serde(default)]
    allow: Vec<Allowed>,
    #[serde(default)]
    suppress: Vec<Suppressed>,
}

/// Lines that are not reported. A reader has to learn why.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppressed {
    member: Option<String>,
    #[serde(rename = "static")]
    variable: Option<String>,
    code: Option<String>,
    kind: Option<Kind>,
    reason: String,
}

impl Suppressed {
    /// The lines that it is for, as an entry of the budget.
    fn entry(&self) -> Allowed {
        let Self { member, variable, code, kind, .. } = self.clone();
        Allowed { member, variable, code, kind, share: None, rate: None }
    }
}

/// A name of debugging information may have a question mark, but no NUL.
type NamePattern = WildMatchPattern<'*', '\0'>;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    member: Option<String>,
    #[serde(rename = "static")]
    variable: Option<String>,
    code: Option<String>,
    kind: Option<Kind>,
    share: Option<f64>,
    rate: Option<f64>,
}

fn one_percent() -> f64 {
    0.01
}

impl Budget {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no budget. The error is one line that says where and what.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        Self::parse(&InputError::text_of(path)?, &path.display().to_string())
    }

    /// Reads the text of `file`, whose name is for errors.
    ///
    /// # Errors
    ///
    /// The text is no budget.
    pub fn parse(text: &str, file: &str) -> Result<Self, InputError> {
        let budget: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let before = text.get(..at).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            InputError::new(&format!("{file}:{line}: {}", error.message()))
        })?;
        let wrong = |what: &str| Err(InputError::new(&format!("{file}: {what}")));
        if !(0.0..=1.0).contains(&budget.below) {
            return wrong("`below` is a share: from 0 to 1");
        }
        for (at, entry) in (1..).zip(&budget.allow) {
            let wrong = |what: &str| wrong(&format!("entry {at}: {what}"));
            if entry.names().is_empty() && entry.kind.is_none() {
                return wrong(
                    "it says nothing of the line; give `member`, `static`, `code` or `kind`",
                );
            }
            if entry.share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return wrong("`share` is from 0 to 1");
            }
            if entry.rate.is_some_and(|rate| rate.is_nan() || rate < 0.0) {
                return wrong("`rate` is changes per second: 0 or more");
            }
        }
        for (at, suppressed) in (1..).zip(&budget.suppress) {
            let wrong = |what: &str| wrong(&format!("suppression {at}: {what}"));
            if suppressed.entry().names().is_empty() && suppressed.kind.is_none() {
                return wrong(
                    "it says nothing of the line; give `member`, `static`, `code` or `kind`",
                );
            }
            if suppressed.reason.trim().is_empty() {
                return wrong("`reason` is empty; say why the line is not reported");
            }
        }
        Ok(budget)
    }

    /// Leaves suppressed findings out of a report of a run, and says so there: how many and why, and which suppressions are
    /// for none.
    pub fn suppress(&self, report: &mut Report) {
        let mut said = Vec::new();
        let all = report.findings.len();
        for suppressed in &self.suppress {
            let entry = suppressed.entry();
            let before = report.findings.len();
            report.findings.retain(|finding| !entry.covers(finding));
            said.push(match before - report.findings.len() {
                0 => format!("No finding has {}: its suppression can go.", entry.described()),
                count => {
                    let (left_out, reason) = (counted(count, "finding"), &suppressed.reason);
                    format!("{left_out} with {} left out: {reason}.", entry.described())
                }
            });
        }
        note_left_out(report, all - report.findings.len(), said);
    }

    /// What the budget says of a report: a check for each line that needs an entry, and for each entry without a line.
    #[must_use]
    pub fn check(&self, report: &Report) -> Vec<Check> {
        let mut used = vec![false; self.allow.len()];
        let mut checks = Vec::new();
        for finding in &report.findings {
            let covering: Vec<(usize, &Allowed)> =
                self.allow.iter().enumerate().filter(|(_, entry)| entry.covers(finding)).collect();
            for (at, _) in &covering {
                used[*at] = true;
            }
            if finding.score / 100.0 >= self.below {
                checks.push(judged(report, finding, &covering));
            }
        }
        let unused = self.allow.iter().zip(used).filter(|(_, used)| !used);
        checks.extend(unused.map(|(entry, _)| Check {
            rule: format!("no contended line has {}: its entry can go", entry.described()),
            passed: true,
            found: "nothing".to_owned(),
        }));
        checks
    }
}

fn judged(report: &Report, finding: &Finding, covering: &[(usize, &Allowed)]) -> Check {
    let name = finding.title();
    let found = format!(
        "{}, {} of the accesses to contended lines, up to {} changes of owner/s",
        finding.fault(),
        share(finding.score / 100.0),
        scaled(report.rate(finding).unwrap_or(0.0)),
    );
    match covering {
        [] => Check {
            rule: format!("{name} must not be contended: no entry of the budget has it"),
            passed: false,
            found,
        },
        [(_, first), ..] => {
            let best = covering.iter().find(|(_, entry)| entry.suffices(report, finding));
            let entry = best.map_or(*first, |(_, entry)| *entry);
            Check {
                rule: format!("{name} may be contended{}", entry.limits()),
                passed: best.is_some(),
                found,
            }
        }
    }
}

impl Allowed {
    fn names(&self) -> Vec<&str> {
        [&self.member, &self.variable, &self.code]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect()
    }

    fn described(&self) -> String {
        let kind = self.kind.map(Kind::name);
        self.names().into_iter().chain(kind).collect::<Vec<_>>().join(" and ")
    }

    fn limits(&self) -> String {
        let share = self.share.map(|most| format!(", by at most {} of the accesses", share(most)));
        let rate = self.rate.map(|most| format!(", at most {} times a second", scaled(most)));
        [share, rate].into_iter().flatten().collect()
    }

    fn covers(&self, finding: &Finding) -> bool {
        let any = |pattern: &Option<String>, names: &dyn Fn() -> Vec<String>| {
            pattern.as_ref().is_none_or(|pattern| {
                let pattern = NamePattern::new(pattern);
                names()
                    .iter()
                    .any(|name| pattern.matches(name) || pattern.matches(&short_path(name, 1)))
            })
        };
        let code = self.code.as_ref().is_none_or(|pattern| {
            let (whole, end) =
                (NamePattern::new(pattern), NamePattern::new(&format!("*/{pattern}")));
            lines(finding).any(|line| whole.matches(line) || end.matches(line))
        });
        self.kind.is_none_or(|kind| kind == finding.kind)
            && any(&self.member, &|| members(finding))
            && any(&self.variable, &|| variables(finding))
            && code
    }

    fn suffices(&self, report: &Report, finding: &Finding) -> bool {
        self.share.is_none_or(|most| finding.score / 100.0 <= most)
            && self.rate.is_none_or(|most| report.rate(finding).unwrap_or(0.0) <= most)
    }
}

/// `type.member` of every word; of an element of an array, with and without the element.
fn members(finding: &Finding) -> Vec<String> {
    let array = match &finding.sharing {
        Sharing::Elements { array, .. } => Some(array),
        _ => None,
    };
    let of = |path: &str| {
        let dotted = |owner: &str, path: &str| match path.starts_with('[') {
            true => format!("{owner}{path}"),
            false => format!("{owner}.{path}"),
        };
        let inner = path.split_once("].").map(|(_, inner)| dotted(&finding.type_name, inner));
        [Some(dotted(array.unwrap_or(&finding.type_name), path)), inner]
    };
    let paths = finding.words().into_iter().map(|word| &*word.path).filter(|path| !path.is_empty());
    paths.flat_map(of).flatten().collect()
}

fn variables(finding: &Finding) -> Vec<String> {
    let storage = finding.observed.as_ref().map(|observed| &observed.storage);
    match (&finding.sharing, storage) {
        (Sharing::Statics { .. }, _) => {
            let words = finding.words().into_iter();
            // A variable, or a member of one.
            words
                .flat_map(|word| [&*word.path, word.path.split('.').next().unwrap_or("")])
                .map(str::to_owned)
                .collect()
        }
        (_, Some(Storage::Static { name })) => vec![name.clone()],
        (Sharing::Elements { array, .. }, None) => vec![array.clone()],
        _ => Vec::new(),
    }
}

fn lines(finding: &Finding) -> impl Iterator<Item = &str> {
    let uses = finding.words().into_iter().flat_map(|word| &word.uses);
    uses.filter_map(|it| it.code.as_ref()?.line.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    /// What a budget says of the fixture's run, failures first.
    fn failures(text: &str) -> Vec<String> {
        let checks = Budget::parse(text, "budget.toml").unwrap().check(&fixtures::run());
        checks.into_iter().filter(|check| !check.passed).map(|check| check.rule).collect()
    }

    const ALL: &str = "[[allow]]\nmember = 'Session.refs'\n[[allow]]\nstatic = 'STATS'\n[[allow]]\nkind = 'lock'\n";

    #[test]
    fn a_line_without_an_entry_fails_and_a_small_one_needs_none() {
        assert_eq!(failures(ALL), [""; 0]);
        assert_eq!(failures(&format!("below = 0.0\n{ALL}")).len(), 1);
        let missing = failures("[[allow]]\nkind = 'lock'");
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].starts_with("Session.refs and Session.limits must not"), "{missing:?}");
    }

    #[test]
    fn an_entry_names_a_line_in_any_of_four_ways() {
        for (entry, failed) in [
            ("member = 'server::Session.limits'", 2),
            ("member = 'Session.*'", 2),
            ("member = 'STATS[*].served'", 2),
            ("member = 'Stats.served'", 2),
            ("member = 'Session'", 3),
            ("static = 'server::STATS'", 2),
            ("code = 'server.rs:52'", 2),
            ("code = 'src/server.rs:*'", 2),
            ("code = 'erver.rs:52'", 3),
            ("kind = 'beside_read_mostly'", 2),
            ("kind = 'lock'\nmember = 'Session.refs'", 3),
            ("member = '*'", 1),
        ] {
            assert_eq!(failures(&format!("[[allow]]\n{entry}")).len(), failed, "{entry}");
        }
    }

    #[test]
    fn a_line_beyond_its_limits_fails_and_one_entry_that_suffices_is_enough() {
        let session =
            |limit: &str| failures(&format!("{ALL}\n[[allow]]\ncode = 'server.rs:52'\n{limit}"));
        assert_eq!(session("share = 0.1").len(), 0);
        let own = |limit: &str| failures(&ALL.replacen("refs'", &format!("refs'\n{limit}"), 1));
        assert_eq!(own("share = 0.42").len() + own("rate = 400e3").len(), 0);
        assert_eq!(
            own("share = 0.4"),
            ["Session.refs and Session.limits may be contended, by at most 40 % of the accesses"]
        );
        assert_eq!(own("rate = 1000").len(), 1);
    }

    #[test]
    fn an_entry_that_nothing_uses_is_mentioned_and_does_not_fail() {
        let budget = Budget::parse(&format!("{ALL}[[allow]]\nmember = 'Old.refs'"), "b").unwrap();
        let checks = budget.check(&fixtures::run());
        let last = checks.last().unwrap();
        assert!(last.passed && last.rule.contains("Old.refs"), "{last:?}");
    }

    #[test]
    fn a_suppressed_line_is_left_out_with_its_reason_and_an_unused_suppression_is_said() {
        let text = "[[suppress]]\nmember = 'Session.refs'\nreason = 'known'\n\
                    [[suppress]]\ncode = 'old.rs:*'\nreason = 'gone'";
        let budget = Budget::parse(text, "b").unwrap();
        let mut report = fixtures::run();
        budget.suppress(&mut report);
        assert!(report.findings.iter().all(|finding| finding.rank != 1));
        assert_eq!(report.scope.findings, report.findings.len() as u64);
        let tenure_model::Source::Run(run) = report.source else { panic!("{:?}", report.source) };
        assert_eq!(run.left_out, 1, "{:?}", run.missing);
        let [.., left_out, unused] = &run.missing[..] else { panic!("{:?}", run.missing) };
        assert_eq!(left_out, "1 finding with Session.refs left out: known.");
        assert_eq!(unused, "No finding has old.rs:*: its suppression can go.");
    }

    #[test]
    fn what_is_wrong_with_a_budget_is_said_in_a_line() {
        for (text, said) in [
            ("below = 2", "budget.toml: `below` is a share"),
            ("\n[[allow]]\nmembr = 'x'", "budget.toml:3: unknown field `membr`"),
            ("[[allow]]", "budget.toml: entry 1: it says nothing"),
            ("[[allow]]\nkind = 'odd'", "budget.toml:2: unknown variant `odd`"),
            ("[[allow]]\nkind = 'lock'\nshare = 3", "budget.toml: entry 1: `share`"),
            ("[[allow]]\nkind = 'lock'\nrate = nan", "budget.toml: entry 1: `rate`"),
            ("[[suppress]]\nkind = 'lock'", "budget.toml:1: missing field `reason`"),
            ("[[suppress]]\nreason = 'x'", "budget.toml: suppression 1: it says nothing"),
            ("[[suppress]]\nkind = 'lock'\nreason = ' '", "budget.toml: suppression 1: `reason`"),
            ("[[allow", "budget.toml:1: "),
            ("a = \"\u{1b}[2J", "budget.toml:1: "),
        ] {
            let error = Budget::parse(text, "budget.toml").unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
        let error = Budget::read(Path::new("no/such/file")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read no/such/file: "), "{error}");
    }
}
