//! Words on lines of their own.

use super::{Rate, Repaired};
use crate::machine::LINE_BYTES;
use crate::pattern::{Copies, Pattern, PatternObject};
use std::collections::HashMap;
use tenure_model::Remedy;

/// A thread that uses one of two words this rarely, against the other, does not need them on one line.
const RARELY: f64 = 0.25;
/// Reads this rare, against writes, may become dearer.
pub(super) const READS_ARE_RARE: f64 = 0.01;
/// Writes this rare, against all accesses, leave a word read mostly.
pub(super) const WRITES_ARE_RARE: f64 = 0.01;

/// Words that different threads write, on lines of their own; elements of threads padded to lines.
pub(super) fn apart(pattern: &Pattern) -> Option<Repaired> {
    let rates = pattern.rates();
    let totals = pattern.totals();
    let (after, bytes) = rearranged(pattern, true, |words| contenders(&rates, &totals, words))?;
    let per_thread = pattern.objects.iter().all(|object| object.copies == Copies::PerThread);
    let words = moved(pattern, &after, &totals);
    Some(Repaired { remedy: Remedy::Apart, pattern: after, bytes, per_thread, words })
}

/// Words that are hardly ever written, away from those that are.
pub(super) fn read_mostly_apart(pattern: &Pattern) -> Option<Repaired> {
    let totals = pattern.totals();
    let (after, bytes) = rearranged(pattern, false, |words| {
        let (written, read) = by_writes(&totals, words);
        vec![written, read]
    })?;
    let words = moved(pattern, &after, &totals);
    let remedy = Remedy::ReadMostlyApart;
    Some(Repaired { remedy, pattern: after, bytes, per_thread: false, words })
}

/// The words that leave their neighbours; of copies that are padded, those that are written.
fn moved(before: &Pattern, after: &Pattern, totals: &[Rate]) -> Vec<usize> {
    let place = |pattern: &Pattern, word: usize| {
        let at = &pattern.words[word];
        (pattern.objects[at.object].phase + at.offset) / LINE_BYTES
    };
    let all = || 0..before.words.len();
    let moved: Vec<usize> =
        all().filter(|&word| place(before, word) != place(after, word)).collect();
    match moved.is_empty() {
        true => all().filter(|&word| totals[word].writes() > 0.0).collect(),
        false => moved,
    }
}

/// The words of a line in groups that are better off on lines of their own.
fn contenders(rates: &[Vec<Rate>], totals: &[Rate], words: &[usize]) -> Vec<Vec<usize>> {
    let (written, read) = by_writes(totals, words);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for word in written {
        // A word joins every group that has one to stay with; those groups become one.
        let (near, far): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.iter().any(|&other| !are_rivals(rates, word, other)));
        groups = far;
        groups.push(near.into_iter().flatten().chain([word]).collect());
    }
    groups.push(read);
    groups
}

/// The words that are written, and those that are hardly ever.
fn by_writes(totals: &[Rate], words: &[usize]) -> (Vec<usize>, Vec<usize>) {
    words.iter().partition(|&&word| totals[word].writes() > WRITES_ARE_RARE * totals[word].all())
}

/// Whether some threads want one of two words and others the other, and none wants both.
fn are_rivals(rates: &[Vec<Rate>], one: usize, other: usize) -> bool {
    let uses = |role: &[Rate]| (role[one].all(), role[other].all());
    let mainly = |(much, little): (f64, f64)| much > 0.0 && little <= RARELY * much;
    let wants_both = |it: (f64, f64)| !mainly(it) && !mainly((it.1, it.0)) && it.0 > 0.0;
    let any = |check: &dyn Fn((f64, f64)) -> bool| rates.iter().any(|role| check(uses(role)));
    any(&|it| mainly(it)) && any(&|it| mainly((it.1, it.0))) && !any(&wants_both)
}

/// Moves all groups of a line's accessed words but the last to new lines at the object's end, and pads copies to lines
/// where `pads`. Returns the most bytes that a copy of an object grows by; `None` if nothing changes.
fn rearranged(
    pattern: &Pattern,
    pads: bool,
    groups: impl Fn(&[usize]) -> Vec<Vec<usize>>,
) -> Option<(Pattern, usize)> {
    let totals = pattern.totals();
    let mut after = pattern.clone();
    let mut most = None;
    for (at, object) in pattern.objects.iter().enumerate() {
        let is_its = |&word: &usize| pattern.words[word].object == at && totals[word].all() > 0.0;
        let words: Vec<usize> = (0..pattern.words.len()).filter(is_its).collect();
        let written: f64 = words.iter().map(|&word| totals[word].writes()).sum();
        let summed: f64 = words.iter().map(|&word| totals[word].sums).sum();
        let is_packed = !object.stride.is_multiple_of(LINE_BYTES);
        let meet = || copies_meet(pattern, at, &words);
        let (splits, pads) = match object.copies {
            Copies::Once => (true, false),
            // A thread has its copy to itself.
            Copies::PerThread => (false, pads && meet()),
            Copies::Random(_) => (true, pads && meet()),
            // A thread that goes from one to the next wants them on one line.
            Copies::InTurn(_) => (!is_packed, false),
        };
        if written == 0.0 || summed > READS_ARE_RARE * written {
            continue;
        }
        let place = |word: usize| object.phase + pattern.words[word].offset;
        let away: Vec<Vec<usize>> = if splits {
            let lines = chunks(words, |word| place(word) / LINE_BYTES);
            lines.iter().flat_map(|on| all_but_last(groups(on))).collect()
        } else {
            Vec::new()
        };
        if away.is_empty() && !pads {
            continue;
        }
        let size = pattern.extent(at);
        // Copies that are padded begin at a line. Words that stay keep their places on lines.
        let phase = if away.is_empty() { 0 } else { object.phase };
        let before = (phase + size).next_multiple_of(LINE_BYTES);
        let mut end = before;
        after.objects[at].phase = 0;
        for word in after.words.iter_mut().filter(|word| word.object == at) {
            word.offset += phase;
        }
        for group in away {
            let first = end;
            for word in group {
                let word = &mut after.words[word];
                word.offset = first + word.offset % LINE_BYTES;
                end = end.max((word.offset + word.bytes).next_multiple_of(LINE_BYTES));
            }
        }
        if object.copies == Copies::Once {
            most = most.max(Some(end - before));
        } else {
            after.objects[at].stride = end;
            most = most.max(Some(end - size));
        }
    }
    most.map(|bytes| (after, bytes))
}

/// The groups that have words, without the last of them.
fn all_but_last(mut groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    groups.retain(|group| !group.is_empty());
    groups.pop();
    groups
}

/// Whether a line has words of two copies.
fn copies_meet(pattern: &Pattern, object: usize, words: &[usize]) -> bool {
    // Then the places on lines repeat.
    let copies = pattern.copies(object, LINE_BYTES).min(LINE_BYTES);
    let mut owners = HashMap::new();
    for copy in 0..copies {
        for word in words.iter().map(|&word| &pattern.words[word]) {
            let PatternObject { stride, phase, .. } = pattern.objects[object];
            let first = phase + copy * stride + word.offset;
            for line in first / LINE_BYTES..=(first + word.bytes - 1) / LINE_BYTES {
                if owners.insert(line, copy).is_some_and(|other| other != copy) {
                    return true;
                }
            }
        }
    }
    false
}

/// The words that are alike by `key`, ascending.
fn chunks(mut words: Vec<usize>, key: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    words.sort_by_key(|&word| key(word));
    words.chunk_by(|&one, &other| key(one) == key(other)).map(<[usize]>::to_vec).collect()
}
