//! Objects on lines that were watched, by what the code there says of them: nothing was seen being allocated.
//!
//! Each access whose base register is a known pointer votes for an object: its type, and where it starts. One access
//! that is typed gives names to all words of the line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use tenure_code::MachineCode;
use tenure_debuginfo::program::Object;

use super::names::ProcessNames;
use tenure_model::recording::{Allocation, Line, Thread};

/// An access with less than this part of the votes is no opinion.
const SIGNIFICANT: f64 = 0.02;

/// An allocation may have so many bytes less than its block has room for.
const ROUNDED: u64 = 15;

/// Notes in lines, and in the names, which objects they are parts of.
pub(crate) fn note_objects(lines: &mut [Line], threads: &[Thread], names: &mut ProcessNames<'_>) {
    let stacks: Vec<_> = threads.iter().map(|thread| thread.stack.clone()).collect();
    for line in lines {
        let is_traced = line.allocation.as_ref().is_some_and(|it| !it.stack.is_empty());
        let is_on_stack = || stacks.iter().any(|stack| stack.contains(&line.address));
        if line.watched.is_none() || is_traced || names.is_static(line.address) || is_on_stack() {
            continue;
        }
        let Some(found) = best(line, names) else { continue };
        line.allocation = Some(Allocation {
            size: found.object.size,
            line_offset: line.address.wrapping_sub(found.start).cast_signed(),
            stack: Vec::new(),
            objects: 1,
            type_name: Some(found.object.type_name.clone()),
        });
        names.known.insert(line.address, (found.program, found.object));
    }
}

/// An object that accesses voted for.
struct ObjectCandidate {
    program: Rc<MachineCode>,
    object: Object,
    start: u64,
    votes: u64,
}

impl ObjectCandidate {
    /// Accesses to it, whether they know what it is or not.
    fn covered(&self, line: &Line) -> u64 {
        let holds = |address: u64| address.wrapping_sub(self.start) < self.object.size;
        let inside =
            line.entries.iter().filter(|entry| holds(line.address + u64::from(entry.offset)));
        inside.map(|entry| entry.count).sum()
    }
}

fn best(line: &Line, names: &ProcessNames<'_>) -> Option<ObjectCandidate> {
    let mut all: BTreeMap<(String, u64, u64), ObjectCandidate> = BTreeMap::new();
    // A function that is called touches what its argument points to first: a lock's other words follow.
    let mut first: HashMap<u64, u8> = HashMap::new();
    for entry in &line.entries {
        let known = first.entry(entry.code).or_insert(entry.offset);
        *known = entry.offset.min(*known);
    }
    for entry in &line.entries {
        let address = line.address + u64::from(entry.offset);
        let Some((program, pointed)) = names.pointed(entry.code) else { continue };
        let is_first = first[&entry.code] == entry.offset;
        for one in pointed.iter().filter(|one| is_first || !one.is_argument) {
            let Some(start) = address.checked_sub(one.offset) else { continue };
            let key = (one.object.type_name.clone(), one.object.size, start);
            let new = || ObjectCandidate {
                program: Rc::clone(&program),
                object: one.object.clone(),
                start,
                votes: 0,
            };
            all.entry(key).or_insert_with(new).votes += entry.count;
        }
    }
    let total: u64 = all.values().map(|candidate| candidate.votes).sum();
    all.retain(|_, candidate| candidate.votes as f64 >= SIGNIFICANT * total as f64);
    let rows = rows(&all, line.allocation.as_ref().map(|it| (line.address, it)));
    let all = all.into_values().chain(rows);
    // Of those that explain as much the smallest: what is around it may be anything.
    all.max_by_key(|it| (it.covered(line), it.votes, u64::MAX - it.object.size))
}

/// Objects of one type without a gap between them are an array, as are those in a block that they would fill.
fn rows(
    all: &BTreeMap<(String, u64, u64), ObjectCandidate>,
    block: Option<(u64, &Allocation)>,
) -> Vec<ObjectCandidate> {
    let mut starts: BTreeMap<(&str, u64), BTreeSet<u64>> = BTreeMap::new();
    for (name, size, start) in all.keys() {
        starts.entry((name, *size)).or_default().insert(*start);
    }
    let block =
        block.map(|(address, it)| (address.wrapping_sub(it.line_offset.cast_unsigned()), it.size));
    let row = |((name, size), starts): ((&str, u64), BTreeSet<u64>)| {
        let first = *starts.first()?;
        let (start, count) = extent(&starts, size, block)?;
        let votes = all
            .iter()
            .filter(|((known, bytes, _), _)| known == name && *bytes == size)
            .map(|(_, candidate)| candidate.votes)
            .sum();
        let one = all.get(&(name.to_owned(), size, first))?;
        let object = one.program.program().row(&one.object, count);
        Some(ObjectCandidate { program: Rc::clone(&one.program), object, start, votes })
    };
    starts.into_iter().filter_map(row).collect()
}

/// Where an array of objects that were seen begins, and how many it has; `block` is the start and the room of theirs.
fn extent(starts: &BTreeSet<u64>, size: u64, block: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let (first, last) = (*starts.first()?, *starts.last()?);
    // One object fits into many blocks by chance.
    if first == last || !starts.iter().all(|start| (start - first).is_multiple_of(size)) {
        return None;
    }
    let are_next = || starts.iter().any(|start| starts.contains(&(start + size)));
    match block {
        Some((start, room))
            if start <= first
                && (first - start).is_multiple_of(size)
                && last < start + room
                && room.saturating_sub(ROUNDED) >= 2 * size =>
        {
            Some((start, room / size))
        }
        _ => are_next().then(|| (first, (last - first) / size + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_one_type_are_an_array_if_several_were_seen() {
        for (about, starts, block, expected) in [
            ("one after the other", &[0x1000, 0x1018, 0x1030][..], None, Some((0x1000, 3))),
            ("with a gap", &[0x1000, 0x1030], None, None),
            ("with a gap, in a block", &[0x1018, 0x1048], Some((0x1000, 168)), Some((0x1000, 7))),
            ("one, in a block that seven would fill", &[0x1090], Some((0x1000, 168)), None),
            ("behind a head", &[0x1010, 0x1028], Some((0x1000, 168)), Some((0x1010, 2))),
            ("not a multiple apart", &[0x1000, 0x1020, 0x1038], None, None),
        ] {
            let starts = starts.iter().copied().collect();
            assert_eq!(extent(&starts, 24, block), expected, "{about}");
        }
    }
}
