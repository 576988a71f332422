//! Which contended lines are one finding: those of objects from one call stack at the same members, neighbouring
//! elements of one array, and statics next to each other that the same code uses.

use std::collections::{BTreeMap, HashMap};

use tenure_model::recording::{Line, Process};

use super::frequent::frequent;
use super::sets::Sets;

/// Instructions count if they do at least this part of a line's accesses.
const SIGNIFICANT: f64 = 0.02;

/// A place in objects of one origin: its call stack or type, the object's size, and the offset.
type OriginPlace<'a> = (&'a [u64], Option<&'a str>, u64, i64);

/// The lines with possible changes, by finding, the worst line of each first.
pub(super) fn merged(process: &Process) -> Vec<Vec<usize>> {
    let lines: Vec<usize> =
        (0..process.lines.len()).filter(|&line| process.lines[line].possible.changes > 0).collect();
    let mut sets = Sets::new(process.lines.len());
    // Objects of one origin: the same place in each. Arrays: the same code at different places of one object.
    let mut by_member: HashMap<OriginPlace<'_>, usize> = HashMap::new();
    let mut by_object: HashMap<(u64, u64), usize> = HashMap::new();
    for &index in &lines {
        let line = &process.lines[index];
        for entry in significant(line).filter(|entry| entry.access.writes()) {
            if let (Some(allocation), Some(object)) = (&line.allocation, line.object()) {
                let offset = line.start() + i64::from(entry.offset);
                let origin = (&*allocation.stack, allocation.type_name.as_deref());
                if origin != (&[], None) {
                    let key = (origin.0, origin.1, allocation.size, offset);
                    sets.join(index, &mut by_member, key);
                }
                sets.join(index, &mut by_object, (object, entry.code));
            }
        }
    }
    join_neighbours(process, &lines, &mut sets);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in lines {
        groups.entry(sets.root(index)).or_default().push(index);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|&line| std::cmp::Reverse(process.lines[line].possible.capped));
    }
    groups
}

/// Lines of memory that was not seen being allocated.
fn join_neighbours(process: &Process, lines: &[usize], sets: &mut Sets) {
    let mut lines: Vec<_> =
        lines.iter().filter(|&&index| process.lines[index].allocation.is_none()).collect();
    lines.sort_by_key(|&&index| process.lines[index].address);
    for pair in lines.windows(2) {
        let (one, other) = (&process.lines[*pair[0]], &process.lines[*pair[1]]);
        let is_next = other.address - one.address == u64::from(process.line_bytes);
        let is_same_code =
            || significant(one).any(|entry| significant(other).any(|next| next.code == entry.code));
        if is_next && is_same_code() {
            sets.unite(*pair[0], *pair[1]);
        }
    }
}

fn significant(line: &Line) -> impl Iterator<Item = &tenure_model::recording::Entry> {
    let frequent = frequent(std::iter::once(line), SIGNIFICANT);
    line.entries.iter().filter(move |entry| frequent.contains(&(entry.access, entry.code)))
}
