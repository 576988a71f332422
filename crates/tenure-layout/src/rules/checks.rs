use std::fmt;

use super::glob::Glob;
use super::path::MemberPath;
use tenure_report::numbers::counted;

/// Displays as the sentence that has to be true.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckRule {
    pub(crate) types: Vec<Glob>,
    /// None for a group between the kernel's markers.
    pub(crate) members: Vec<MemberPath>,
    /// Whether it has to be true wherever the type may begin.
    pub(crate) any_placement: bool,
    pub(crate) claim: Assertion,
}

/// What is said of the members.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Assertion {
    /// They must not share a line with others.
    Apart { from: Vec<MemberPath> },
    /// They have to fit into few lines.
    Fits { group: String, lines: Option<u64>, bytes: Option<u64> },
    /// They have to lie in a group: of these members or, if there are none, between the kernel's markers.
    Within { group: String, of: Vec<MemberPath> },
}

impl CheckRule {
    pub(crate) fn of_type(&self, ty: &str) -> String {
        let anywhere = if self.any_placement { ", wherever it begins" } else { "" };
        let members = joined(ty, &self.members);
        match &self.claim {
            Assertion::Apart { from } => {
                format!("{members} must not share a line with {}{anywhere}", joined(ty, from))
            }
            Assertion::Fits { group, lines, bytes } => {
                let lines = lines.map(|lines| counted(lines, "line"));
                let bytes = bytes.map(|bytes| counted(bytes, "byte"));
                let most: Vec<_> = lines.into_iter().chain(bytes).collect();
                format!("group {group} of {ty} must fit in {}{anywhere}", most.join(" and "))
            }
            Assertion::Within { group, .. } => format!("{members} must lie within group {group}"),
        }
    }
}

impl fmt::Display for CheckRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of_type(&listed(&self.types)))
    }
}

fn joined(ty: &str, paths: &[MemberPath]) -> String {
    format!("{ty}.{}", listed(paths))
}

fn listed<T: fmt::Display>(all: &[T]) -> String {
    match all {
        [one] => one.to_string(),
        _ => {
            let all: Vec<_> = all.iter().map(ToString::to_string).collect();
            format!("{{{}}}", all.join(", "))
        }
    }
}
