//! The list of findings: instances of one generic type folded into one, and whose each is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::lines::LayoutModel;
use crate::origin::TypeOrigins;
use crate::sharing::{self, RawFinding};
use tenure_debuginfo::names;
use tenure_model::{Finding, Origin};

#[derive(Debug, Clone, Copy)]
pub(crate) struct RankedFinding<'f> {
    /// The place among all, from 1.
    pub(crate) rank: usize,
    pub(crate) found: &'f RawFinding,
    pub(crate) instances: u64,
    pub(crate) origin: Origin,
}

/// All findings by rank.
pub(crate) fn list<'f>(
    layouts: &LayoutModel<'_>,
    origins: &TypeOrigins<'_>,
    found: &'f [RawFinding],
) -> Vec<RankedFinding<'f>> {
    let mut listed: Vec<RankedFinding<'f>> = Vec::new();
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
        listed.push(RankedFinding { rank: listed.len() + 1, found: one, instances: 1, origin });
    }
    listed
}

pub(crate) fn finding(layouts: &LayoutModel<'_>, one: &RankedFinding<'_>) -> Finding {
    let finding = sharing::finding(layouts, one.rank, one.found);
    Finding { origin: one.origin, instances: one.instances, ..finding }
}
