//! What a rules file asks to be checked.

use std::fmt;

use super::glob::Glob;
use super::path::Path;

/// A check of a rules file. Shows as the sentence that has to be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckRule {
    /// `[[apart]]`.
    Apart(Apart),
    /// `[[group]]`.
    Group(Group),
    /// `[[within]]`.
    Within(Within),
}

/// Members that must not share a line with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// The types.
    pub types: Vec<Glob>,
    /// Those that suffer.
    pub members: Vec<Path>,
    /// Those that many CPUs write.
    pub from: Vec<Path>,
    /// Whether this has to hold wherever the type's alignment lets it begin.
    pub any_placement: bool,
}

/// Members that have to fit into few lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The types.
    pub types: Vec<Glob>,
    /// Its name: of the kernel's markers if there are no [`members`](Self::members).
    pub name: String,
    /// Its members; none for those between the markers.
    pub members: Vec<Path>,
    /// How many lines, from 1.
    pub lines: Option<u64>,
    /// How many bytes from the first to the last.
    pub bytes: Option<u64>,
    /// Whether this has to hold wherever the type's alignment lets it begin.
    pub any_placement: bool,
}

/// Members that have to lie in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// The types.
    pub types: Vec<Glob>,
    /// The group's name.
    pub group: String,
    /// The members.
    pub members: Vec<Path>,
    /// The members that make the group; none for those between the kernel's markers.
    pub of: Vec<Path>,
}

impl CheckRule {
    /// The patterns of the types that it speaks of.
    #[must_use]
    pub fn types(&self) -> &[Glob] {
        match self {
            Self::Apart(Apart { types, .. })
            | Self::Group(Group { types, .. })
            | Self::Within(Within { types, .. }) => types,
        }
    }

    /// The check in words, for one type: `dst_entry.lwtstate must not share a line with
    /// dst_entry.__refcnt`.
    #[must_use]
    pub fn of_type(&self, ty: &str) -> String {
        match self {
            Self::Apart(Apart { members, from, any_placement, .. }) => {
                let (members, from) = (joined(ty, members), joined(ty, from));
                let anywhere = if *any_placement { ", wherever it begins" } else { "" };
                format!("{members} must not share a line with {from}{anywhere}")
            }
            Self::Group(Group { name, lines, bytes, any_placement, .. }) => {
                let lines = lines.map(|lines| counted(lines, "line"));
                let bytes = bytes.map(|bytes| counted(bytes, "byte"));
                let most: Vec<_> = lines.into_iter().chain(bytes).collect();
                let anywhere = if *any_placement { ", wherever it begins" } else { "" };
                format!("group {name} of {ty} must fit in {}{anywhere}", most.join(" and "))
            }
            Self::Within(Within { group, members, .. }) => {
                format!("{} must lie within group {group}", joined(ty, members))
            }
        }
    }
}

impl fmt::Display for CheckRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of_type(&listed(self.types())))
    }
}

/// `2 lines`, `1 line`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn joined(ty: &str, paths: &[Path]) -> String {
    format!("{ty}.{}", listed(paths))
}

/// `a`, or `{a, b}`.
fn listed<T: fmt::Display>(all: &[T]) -> String {
    match all {
        [one] => one.to_string(),
        _ => {
            let all: Vec<_> = all.iter().map(ToString::to_string).collect();
            format!("{{{}}}", all.join(", "))
        }
    }
}
