//! The words of a finding: which bytes are used together, and whether they are elements of an array.

use std::collections::{BTreeMap, BTreeSet};

use super::{Elements, Use, Word};
use crate::record::Process;

use tenure_probe::segment::Access;

/// What is less than this part of all accesses is how objects are made and freed, and how results are read.
const SIGNIFICANT: f64 = 0.005;

/// The words of these lines, by offset in their objects, or by address.
pub(super) fn words(process: &Process, lines: &[usize]) -> Vec<Word> {
    let mut uses: BTreeMap<(i64, u64, Access, u64), BTreeMap<u32, u64>> = BTreeMap::new();
    for &line in lines {
        let line = &process.lines[line];
        let start = match &line.allocation {
            Some(allocation) => allocation.line_offset,
            None => line.address.cast_signed(),
        };
        for entry in &line.entries {
            let key = (
                start + i64::from(entry.offset),
                entry.size.max(1).into(),
                entry.access,
                entry.code,
            );
            *uses.entry(key).or_default().entry(entry.thread).or_default() += entry.count;
        }
    }
    let total: u64 = uses.values().flat_map(BTreeMap::values).sum();
    uses.retain(|_, threads| threads.values().sum::<u64>() as f64 >= total as f64 * SIGNIFICANT);
    let mut ranges: Vec<(i64, u64)> =
        uses.keys().map(|&(offset, size, ..)| (offset, size)).collect();
    // The smallest first: an access to several words, such as a copy of a struct, does not make them one.
    ranges.sort_by_key(|&(offset, size)| (size, offset));
    ranges.dedup();
    let mut words: Vec<Word> = Vec::new();
    for (offset, size) in ranges {
        let mut met: Vec<_> =
            words.iter_mut().filter(|word| overlaps(word, offset, size)).collect();
        match &mut met[..] {
            [] => words.push(Word { offset, size, uses: Vec::new() }),
            [word] => {
                let end = (word.offset + word.size.cast_signed()).max(offset + size.cast_signed());
                word.offset = word.offset.min(offset);
                word.size = (end - word.offset).cast_unsigned();
            }
            _ => {}
        }
    }
    for ((offset, size, access, code), threads) in uses {
        for word in words.iter_mut().filter(|word| overlaps(word, offset, size)) {
            word.uses.push(Use { access, code, threads: threads.clone() });
        }
    }
    sort(&mut words);
    words
}

fn overlaps(word: &Word, offset: i64, size: u64) -> bool {
    word.offset < offset + size.cast_signed() && offset < word.offset + word.size.cast_signed()
}

fn sort(words: &mut [Word]) {
    words.sort_by_key(|word| word.offset);
    for word in words {
        word.uses.sort_by_key(|use_| std::cmp::Reverse(use_.count()));
    }
}

/// The elements of an array, each of which belongs to a thread: the same code writes them, and one thread each. The
/// size is that of the array's allocation, if one was seen.
pub(super) fn elements(words: &[Word], size: Option<u64>) -> Option<Elements> {
    // An allocation starts with an element. Elsewhere the first word that was seen does.
    let start = if size.is_some() { 0 } else { words.first()?.offset };
    let unknown = Elements { start, stride: 1, count: 0, size };
    let inside: Vec<_> = words.iter().filter(|word| unknown.offset(word).is_some()).collect();
    let stride = stride(&inside)?;
    let seen: BTreeSet<_> =
        inside.iter().map(|word| (word.offset - start).div_euclid(stride)).collect();
    Some(Elements { stride: stride.cast_unsigned(), count: seen.len() as u64, ..unknown })
}

/// The words of one element, and behind them those of other objects.
pub(super) fn folded(words: &[Word], elements: Elements) -> Vec<Word> {
    let mut folded: BTreeMap<(i64, u64), Word> = BTreeMap::new();
    let mut outside = Vec::new();
    for word in words {
        let Some(offset) = elements.offset(word) else {
            outside.push(word.clone());
            continue;
        };
        let empty = Word { offset, size: word.size, uses: Vec::new() };
        let into = folded.entry((offset, word.size)).or_insert(empty);
        for use_ in &word.uses {
            let same = |known: &&mut Use| known.access == use_.access && known.code == use_.code;
            match into.uses.iter_mut().find(same) {
                Some(known) => {
                    for (thread, count) in &use_.threads {
                        *known.threads.entry(*thread).or_default() += count;
                    }
                }
                None => into.uses.push(use_.clone()),
            }
        }
    }
    let mut words: Vec<_> = folded.into_values().collect();
    sort(&mut words);
    words.append(&mut outside);
    words
}

/// The distance of elements that belong to threads.
fn stride(words: &[&Word]) -> Option<i64> {
    /// What writes a word: access and code.
    type Writers = Vec<(Access, u64)>;
    // Offset and owner of each word.
    let mut alike: BTreeMap<Writers, Vec<(i64, u32)>> = BTreeMap::new();
    for word in words {
        let Some(owner) = owner(word) else { continue };
        let mut code: Vec<_> = word
            .uses
            .iter()
            .filter(|use_| use_.access.writes())
            .map(|use_| (use_.access, use_.code))
            .collect();
        code.sort_unstable();
        alike.entry(code).or_default().push((word.offset, owner));
    }
    let several =
        alike.into_values().find(|same| same.iter().any(|(_, owner)| *owner != same[0].1))?;
    let stride = several.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0, gcd);
    (stride > 0).then_some(stride)
}

/// The thread that does nearly all writes to a word.
fn owner(word: &Word) -> Option<u32> {
    let writes = word.by_thread(Access::writes);
    let total: u64 = writes.values().sum();
    let (owner, most) = writes.into_iter().max_by_key(|(_, count)| *count)?;
    (most as f64 >= 0.9 * total as f64).then_some(owner)
}

fn gcd(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { gcd(other, one % other) }
}
