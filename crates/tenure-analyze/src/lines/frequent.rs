//! Which instructions say something of lines, since they are not rare.
//!
//! Rare ones make objects and free them, or read results at the end. But a compiler also makes many instructions of one:
//! it unrolls a loop, and copies a function to each of its callers. So rare instructions that do the same to the same
//! bytes count as one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tenure_model::Access;
use tenure_model::recording::Line;

use super::sets::Sets;

/// What is done, and the address after the instruction.
pub(super) type AccessByCode = (Access, u64);

/// The instructions that do at least this part of all accesses to the lines, alone or as one with others.
pub(super) fn frequent<'a>(
    lines: impl Iterator<Item = &'a Line> + Clone,
    part: f64,
) -> BTreeSet<AccessByCode> {
    let entries = lines.flat_map(|line| line.entries.iter().map(move |entry| (line, entry)));
    let mut counts: BTreeMap<AccessByCode, u64> = BTreeMap::new();
    for (_, entry) in entries.clone() {
        *counts.entry((entry.access, entry.code)).or_default() += entry.count;
    }
    let least = part * counts.values().sum::<u64>() as f64;
    // A frequent one is not joined to the rare ones: beside it they are how an object is made.
    let (mut frequent, rare): (BTreeMap<_, _>, BTreeMap<_, _>) =
        counts.into_iter().partition(|(_, count)| *count as f64 >= least);
    let (rare, counts): (Vec<AccessByCode>, Vec<u64>) = rare.into_iter().unzip();
    let mut sets = Sets::new(rare.len());
    let mut by_bytes = HashMap::new();
    for (line, entry) in entries {
        if let Ok(at) = rare.binary_search(&(entry.access, entry.code)) {
            let offset = line.start() + i64::from(entry.offset);
            sets.join(at, &mut by_bytes, (offset, entry.size, entry.access));
        }
    }
    let mut together = vec![0_u64; rare.len()];
    for (at, count) in counts.iter().enumerate() {
        together[sets.root(at)] += count;
    }
    let joined = (0..rare.len()).filter(|&at| together[sets.root(at)] as f64 >= least);
    frequent.extend(joined.map(|at| (rare[at], counts[at])));
    frequent.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::super::contended;
    use super::super::tests::{Did, line, process};
    use super::*;
    use tenure_model::Kind;

    /// What a thread does to bytes at an offset in a loop that is unrolled so many times.
    fn unrolled(thread: u32, offset: u8, code: u64, times: u64) -> impl Iterator<Item = Did> {
        (0..times).map(move |at| (thread, offset, Access::Add, code + 7 * at))
    }

    fn of(did: &[Did]) -> Vec<u64> {
        let line = line(0x1000, None, did);
        frequent(std::iter::once(&line), 0.005).into_iter().map(|(_, code)| code).collect()
    }

    #[test]
    fn false_sharing_is_found_however_often_the_loop_is_unrolled() {
        for times in [1, 100, 1000] {
            let did: Vec<_> =
                unrolled(1, 0, 0x1000, times).chain(unrolled(2, 8, 0x9000, times)).collect();
            let process = process(vec![line(0x1000, Some((16, 0)), &did)]);
            let found = &contended(&process)[0];
            assert_eq!(found.kind(&process), Some(Kind::FalseSharing), "{times}");
            let counts: Vec<u64> = found.words.iter().map(|word| word.count(|_| true)).collect();
            assert_eq!(counts, [times * 1_000_000; 2], "{times}");
        }
    }

    #[test]
    fn objects_of_one_origin_are_one_finding_however_often_the_loop_is_unrolled() {
        let did: Vec<_> = unrolled(1, 0, 1, 100).chain(unrolled(2, 8, 0x9000, 100)).collect();
        let at = |address| line(address, Some((64, 0)), &did);
        assert_eq!(contended(&process(vec![at(0x1000), at(0x5000)])).len(), 1);
    }

    #[test]
    fn rare_instructions_count_as_one_only_if_they_do_the_same_to_the_same_bytes() {
        // Each copy adds to each element of an array, which no copy uses often, nor any element.
        let array: Vec<_> = (0..64).flat_map(|element| unrolled(1, element, 1, 300)).collect();
        assert_eq!(of(&array).len(), 300);
        // Each instruction writes one member of new objects.
        let made =
            |thread| (0..64).map(move |at| (thread, at, Access::Write, 0x9000 + u64::from(at)));
        assert_eq!(of(&[array, made(1).collect(), made(2).collect()].concat()).len(), 300);
    }

    #[test]
    fn a_rare_instruction_stays_rare_beside_a_frequent_one() {
        let mut did = vec![(1, 0, Access::Add, 1); 300];
        did.push((2, 0, Access::Add, 2));
        assert_eq!(of(&did), [1]);
    }
}
