//! Choosing scenarios by name.

use super::BenchGroup;
use std::fmt;

/// A name that is neither a group's nor a scenario's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The groups there are.
    pub groups: Vec<&'static str>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, groups } = self;
        write!(
            f,
            "there is no group or scenario '{name}'; the groups are {}; --list names their scenarios",
            groups.join(", ")
        )
    }
}

impl std::error::Error for Unknown {}

/// The groups and scenarios that `names` names; all for none. Fails with the first that is neither.
pub(crate) fn chosen(
    mut groups: Vec<BenchGroup>,
    names: &[String],
) -> Result<Vec<BenchGroup>, Unknown> {
    let is_known = |name: &str| {
        let ids = groups.iter().flat_map(|group| group.scenarios.iter().map(|it| it.id));
        groups.iter().map(|group| group.name).chain(ids).any(|known| known == name)
    };
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        let groups = groups.iter().map(|group| group.name).collect();
        return Err(Unknown { name: name.clone(), groups });
    }
    let is_asked_for = |known: &str| names.iter().any(|name| name == known);
    for group in &mut groups {
        if !names.is_empty() && !is_asked_for(group.name) {
            group.scenarios.retain(|scenario| is_asked_for(scenario.id));
        }
    }
    groups.retain(|group| !group.scenarios.is_empty());
    Ok(groups)
}

/// A group, for listings.
#[derive(Debug, Clone)]
pub struct GroupInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    /// Identifiers and headings.
    pub scenarios: Vec<(String, String)>,
}

pub(crate) fn listed(groups: Vec<BenchGroup>) -> Vec<GroupInfo> {
    let scenarios = |group: &BenchGroup| {
        group.scenarios.iter().map(|it| (it.id.to_owned(), it.title.to_owned())).collect()
    };
    let info = |group: BenchGroup| GroupInfo {
        name: group.name,
        about: group.about,
        scenarios: scenarios(&group),
    };
    groups.into_iter().map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::native;

    #[test]
    fn a_group_stands_for_its_scenarios_and_a_scenario_for_itself() {
        let ids = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let groups = chosen(native(), &names).unwrap();
            groups.iter().flat_map(|group| &group.scenarios).map(|it| it.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&["dst"]), ["dst/cells", "dst/packet"]);
        assert_eq!(ids(&["dst/packet", "refs/get"]), ["refs/get", "dst/packet"]);
        assert_eq!(ids(&["dst", "dst/cells"]), ["dst/cells", "dst/packet"]);
        assert_eq!(ids(&["pool/churn"]), ["pool/churn"]);
        assert_eq!(ids(&[]).len(), 33);
    }

    #[test]
    fn a_name_that_nobody_has_is_told_with_those_there_are() {
        let error = chosen(native(), &["refs".into(), "nope".into()]).unwrap_err();
        let said = "there is no group or scenario 'nope'; the groups are refs, dst, pool, revocable, owner, registry; \
                    --list names their scenarios";
        assert_eq!(error.to_string(), said);
    }
}
