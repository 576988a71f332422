//! The list of findings: instances of one generic type folded into one, and whose each is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::lines::Layouts;
use crate::names;
use crate::origin::Origins;
use crate::sharing::{self, Found};
use tenure_model::{Finding, Origin};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'f> {
    /// From 1, among all.
    pub(crate) rank: usize,
    pub(crate) found: &'f Found,
    pub(crate) instances: u64,
    pub(crate) origin: Origin,
}

/// By rank.
pub(crate) fn list<'f>(
    layouts: &Layouts<'_>,
    origins: &Origins<'_>,
    found: &'f [Found],
) -> Vec<Listed<'f>> {
    let mut listed: Vec<Listed<'f>> = Vec::new();
    let mut first = HashMap::new();
    for one in found {
        let (name, declared) = one.subject(layouts);
        // A closure or an async block has a name of its own in each instance.
        if name.contains(['<', '{']) {
            match first.entry((names::generic(name), one.kind(layouts))) {
                Entry::Vacant(entry) => {
                    entry.insert(listed.len());
                }
                Entry::Occupied(entry) => {
                    listed[*entry.get()].instances += 1;
                    continue;
                }
            }
        }
        let origin = origins.origin(name, declared);
        listed.push(Listed { rank: listed.len() + 1, found: one, instances: 1, origin });
    }
    listed
}

pub(crate) fn finding(layouts: &Layouts<'_>, one: &Listed<'_>) -> Finding {
    let mut findings = sharing::findings(layouts, &[(one.rank, one.found)]);
    Finding { origin: one.origin, instances: one.instances, ..findings.remove(0) }
}
