use std::fmt;

use super::path::MemberPath;
use tenure_render::glob::Glob;

/// Displays as the sentence that has to be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckRule {
    Apart(Apart),
    Group(GroupRule),
    Within(Within),
}

/// Members that must not share a line with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Apart {
    pub(crate) types: Vec<Glob>,
    pub(crate) members: Vec<MemberPath>,
    pub(crate) from: Vec<MemberPath>,
    pub(crate) any_placement: bool,
}

/// Members that have to fit into few lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupRule {
    pub(crate) types: Vec<Glob>,
    /// Of the kernel's markers, if there are no [`members`](Self::members).
    pub(crate) name: String,
    pub(crate) members: Vec<MemberPath>,
    pub(crate) lines: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) any_placement: bool,
}

/// Members that have to lie in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Within {
    pub(crate) types: Vec<Glob>,
    pub(crate) group: String,
    pub(crate) members: Vec<MemberPath>,
    /// The group's members; none for what lies between the kernel's markers.
    pub(crate) of: Vec<MemberPath>,
}

impl CheckRule {
    pub(crate) fn types(&self) -> &[Glob] {
        match self {
            Self::Apart(Apart { types, .. })
            | Self::Group(GroupRule { types, .. })
            | Self::Within(Within { types, .. }) => types,
        }
    }

    pub(crate) fn of_type(&self, ty: &str) -> String {
        match self {
            Self::Apart(Apart { members, from, any_placement, .. }) => {
                let (members, from) = (joined(ty, members), joined(ty, from));
                let anywhere = if *any_placement { ", wherever it begins" } else { "" };
                format!("{members} must not share a line with {from}{anywhere}")
            }
            Self::Group(GroupRule { name, lines, bytes, any_placement, .. }) => {
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
