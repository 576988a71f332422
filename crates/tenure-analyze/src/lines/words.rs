//! The words of a finding: which bytes are used together, and whether they are elements of an array.

use std::collections::{BTreeMap, BTreeSet};

use super::frequent::frequent;
use super::{CodeUse, Elements, Meaning, UsedWord};
use tenure_model::Access;
use tenure_model::recording::{Entry, Process};

/// Instructions with less than this part of all accesses are how objects are made and freed, or how results are read.
const SIGNIFICANT: f64 = 0.005;

/// The words of these lines, by offset in their objects, or by address.
pub(super) fn words(process: &Process, lines: &[usize]) -> Vec<UsedWord> {
    /// Offset, size, access and code.
    type Key = (i64, u64, Access, u64);
    let mut uses: BTreeMap<Key, CodeUse> = BTreeMap::new();
    let lines_used = lines.iter().map(|&line| &process.lines[line]);
    // Of all words together: in a large array no single word has much.
    let frequent = frequent(lines_used.clone(), SIGNIFICANT);
    for line in lines_used {
        let is_frequent = |entry: &&Entry| frequent.contains(&(entry.access, entry.code));
        for entry in line.entries.iter().filter(is_frequent) {
            let key = (
                line.start() + i64::from(entry.offset),
                entry.size.max(1).into(),
                entry.access,
                entry.code,
            );
            uses.entry(key).or_insert_with(|| CodeUse::new(entry)).add(entry);
        }
    }
    let mut ranges: Vec<(i64, u64)> =
        uses.keys().map(|&(offset, size, ..)| (offset, size)).collect();
    // The smallest first: an access to several words, such as a copy of a struct, does not make them one.
    ranges.sort_by_key(|&(offset, size)| (size, offset));
    ranges.dedup();
    let mut words = Disjoint::default();
    for (offset, size) in ranges {
        match words.met(offset, size)[..] {
            [] => words.add(offset, offset + size.cast_signed()),
            [start] => words.widen(start, offset, offset + size.cast_signed()),
            _ => {}
        }
    }
    for ((offset, size, ..), mut use_) in uses {
        for start in words.met(offset, size) {
            words.at(start).uses.push(use_.clone());
            // After an access to several words the thread is away once.
            use_.gaps.values_mut().for_each(|gaps| gaps.nanoseconds = 0);
        }
    }
    let shared = shared(process, lines);
    let mut words: Vec<UsedWord> = words.0.into_values().collect();
    for word in &mut words {
        word.is_owned = shared.range(word.offset..word.end()).next().is_none();
    }
    sort(&mut words);
    words
}

/// The offsets at which several threads write the same object, or bytes at the same address.
fn shared(process: &Process, lines: &[usize]) -> BTreeSet<i64> {
    /// Less is how an object is made and freed.
    const PART: f64 = 0.02;
    let mut shared = BTreeSet::new();
    for &line in lines {
        let line = &process.lines[line];
        let mut writes: BTreeMap<u8, BTreeMap<u32, u64>> = BTreeMap::new();
        for entry in line.entries.iter().filter(|entry| entry.access.writes()) {
            let by_thread = writes.entry(entry.offset).or_default();
            *by_thread.entry(entry.thread).or_default() += entry.count;
        }
        for (offset, by_thread) in writes {
            let all: u64 = by_thread.values().sum();
            if by_thread.values().filter(|count| **count as f64 >= PART * all as f64).count() > 1 {
                shared.insert(line.start() + i64::from(offset));
            }
        }
    }
    shared
}

/// Words that do not overlap, by offset.
#[derive(Default)]
struct Disjoint(BTreeMap<i64, UsedWord>);

impl Disjoint {
    /// The offsets of those that overlap a range.
    fn met(&self, offset: i64, size: u64) -> Vec<i64> {
        let before = self.0.range(..offset + size.cast_signed()).rev();
        let met = before.take_while(|(_, word)| word.end() > offset);
        met.map(|(start, _)| *start).collect()
    }

    fn add(&mut self, offset: i64, end: i64) {
        let size = (end - offset).cast_unsigned();
        let word = UsedWord {
            offset,
            size,
            uses: Vec::new(),
            meaning: Meaning::default(),
            is_owned: false,
        };
        self.0.insert(offset, word);
    }

    /// Has a word without uses include a range that overlaps no other.
    fn widen(&mut self, word: i64, offset: i64, end: i64) {
        let end = self.at(word).end().max(end);
        self.0.remove(&word);
        self.add(word.min(offset), end);
    }

    fn at(&mut self, start: i64) -> &mut UsedWord {
        self.0.get_mut(&start).expect("one of `met`")
    }
}

fn sort(words: &mut [UsedWord]) {
    words.sort_by_key(|word| word.offset);
    for word in words {
        word.uses.sort_by_key(|use_| std::cmp::Reverse(use_.count()));
    }
}

/// The elements of an array: the same code writes them. The size is that of the array's allocation, if one was seen.
pub(super) fn elements(words: &[UsedWord], size: Option<u64>) -> Option<Elements> {
    // An allocation starts with an element. Elsewhere the first word that was seen does.
    let start = if size.is_some() { 0 } else { words.first()?.offset };
    let unknown = Elements { start, stride: 1, count: 0, size, owned: true };
    let inside: Vec<_> = words.iter().filter(|word| unknown.offset(word).is_some()).collect();
    let (stride, owned) = stride(&inside)?;
    let seen: BTreeSet<_> =
        inside.iter().map(|word| (word.offset - start).div_euclid(stride)).collect();
    let (stride, count) = (stride.cast_unsigned(), seen.len() as u64);
    Some(Elements { stride, count, owned, ..unknown })
}

/// The elements of an array whose type is known, in place of those that the words seem to be; `None` if the words
/// are no such elements.
pub(super) fn named(
    words: &[UsedWord],
    named: Elements,
    seen: Option<Elements>,
) -> Option<Elements> {
    let inside: Vec<_> =
        words.iter().filter_map(|word| Some((word, named.offset(word)?.cast_unsigned()))).collect();
    // Memory that is divided by hand is an array of bytes.
    if inside.iter().any(|(word, offset)| offset + word.size > named.stride) {
        return None;
    }
    let places: BTreeSet<_> = inside.iter().map(|(word, offset)| (offset, word.size)).collect();
    let index =
        |word: &UsedWord| (word.offset - named.start).div_euclid(named.stride.cast_signed());
    let count = inside.iter().map(|(word, _)| index(word)).collect::<BTreeSet<_>>().len() as u64;
    let (is_array, owned) = match seen {
        Some(seen) => {
            let (one, other) = (seen.stride, named.stride);
            (one.is_multiple_of(other) || other.is_multiple_of(one), seen.owned)
        }
        // A few words with names of their own say more than a place in any element.
        None => (words.len() > MAX_MEMBER_WORDS && places.len() * 3 <= words.len() * 2, false),
    };
    (is_array && count > 1).then_some(Elements { count, owned, ..named })
}

/// The words of one element, and after them those of other objects.
pub(super) fn folded(words: &[UsedWord], elements: Elements) -> Vec<UsedWord> {
    let mut folded: BTreeMap<(i64, u64), UsedWord> = BTreeMap::new();
    let mut outside = Vec::new();
    for word in words {
        let Some(offset) = elements.offset(word) else {
            outside.push(word.clone());
            continue;
        };
        let empty = UsedWord { offset, uses: Vec::new(), ..*word };
        let into = folded.entry((offset, word.size)).or_insert(empty);
        word.uses.iter().for_each(|use_| add(into, use_));
    }
    let mut words: Vec<UsedWord> = Vec::new();
    for word in folded.into_values() {
        // Elements of several shapes, such as an enum's variants, have words at the same bytes.
        match words.last_mut().filter(|last| last.end() > word.offset) {
            Some(last) => {
                last.size = (last.end().max(word.end()) - last.offset).cast_unsigned();
                word.uses.iter().for_each(|use_| add(last, use_));
            }
            None => words.push(word),
        }
    }
    sort(&mut words);
    words.append(&mut outside);
    words
}

/// Counts a use as the word's.
fn add(word: &mut UsedWord, use_: &CodeUse) {
    let same = |known: &&mut CodeUse| known.access == use_.access && known.code == use_.code;
    let Some(known) = word.uses.iter_mut().find(same) else {
        return word.uses.push(use_.clone());
    };
    for (thread, count) in &use_.threads {
        *known.threads.entry(*thread).or_default() += count;
    }
    for (caller, count) in &use_.callers {
        *known.callers.entry(*caller).or_default() += count;
    }
    for (thread, gaps) in &use_.gaps {
        known.gaps.entry(*thread).or_default().add(*gaps);
    }
}

/// At least this many words that the same code writes are an array, even if no element belongs to a thread. By judgement.
const MIN_ARRAY_WORDS: usize = 8;

/// Up to this many words may be the members of elements, whatever the threads do to each. By judgement.
const MAX_MEMBER_WORDS: usize = 8;

/// The distance of elements, and whether they belong to threads.
fn stride(words: &[&UsedWord]) -> Option<(i64, bool)> {
    /// What writes a word: access and code.
    type Writers = Vec<(Access, u64)>;
    // Offset and owner of each word.
    let mut alike: BTreeMap<Writers, Vec<(i64, Option<u32>)>> = BTreeMap::new();
    for word in words {
        let mut code: Vec<_> = word
            .uses
            .iter()
            .filter(|use_| use_.access.writes())
            .map(|use_| (use_.access, use_.code))
            .collect();
        code.sort_unstable();
        if !code.is_empty() {
            alike.entry(code).or_default().push((word.offset, owner(word)));
        }
    }
    let distance = |offsets: &[i64]| offsets.windows(2).map(|pair| pair[1] - pair[0]).fold(0, gcd);
    // Of an array the words lie at a few places of its elements.
    let places = |stride: i64| {
        let places = words.iter().map(|word| word.offset.rem_euclid(stride));
        places.collect::<BTreeSet<_>>().len()
    };
    // No word is larger than an element: words at odd places have a common divisor too.
    let largest = words.iter().map(|word| word.size.cast_signed()).max().unwrap_or(0);
    for same in alike.values() {
        let (offsets, owners): (Vec<_>, BTreeSet<_>) =
            same.iter().filter_map(|&(offset, owner)| Some((offset, owner?))).unzip();
        let stride = distance(&offsets);
        // Elements that are all different are none: two of many objects in memory that the program divides itself.
        if owners.len() > 1
            && stride >= largest
            && (places(stride) <= MAX_MEMBER_WORDS || places(stride) * 3 <= words.len() * 2)
        {
            return Some((stride, true));
        }
    }
    let mut many: Vec<_> = alike.values().filter(|same| same.len() >= MIN_ARRAY_WORDS).collect();
    many.sort_by_key(|same| std::cmp::Reverse(same.len()));
    let strides = many.into_iter().map(|same| {
        let offsets: Vec<_> = same.iter().map(|(offset, _)| *offset).collect();
        distance(&offsets)
    });
    let mut strides = strides.filter(|stride| *stride >= largest);
    let stride = strides.find(|stride| places(*stride) * MIN_ARRAY_WORDS / 2 <= words.len())?;
    Some((stride, false))
}

/// The thread that does nearly all writes to a word.
pub(super) fn owner(word: &UsedWord) -> Option<u32> {
    word.main_writer(0.9)
}

fn gcd(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { gcd(other, one % other) }
}
