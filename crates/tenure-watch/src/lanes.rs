//! Threads that follow each other on the words of a line, and count as one there.
//!
//! A thread that lives for milliseconds leaves its stack and its objects to the next. Counted apart, the two would share each
//! word that both used. So a thread takes the place of one that had ended before it began, by preference of one that used
//! the same words.

use rustc_hash::FxHashMap;
use tenure_contend::record::Entry;

/// When a thread was seen, and for how long it ran, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Life {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) ran: u64,
}

/// Threads of which the first stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The first one's number.
    pub(crate) thread: u32,
    /// When it was seen first.
    pub(crate) first: u64,
    /// When the last one was seen last, and for how long all ran.
    pub(crate) last: u64,
    pub(crate) ran: u64,
    words: u64,
}

/// Has each lane's first thread do what its successors did. The lanes come back in the order of their beginnings.
pub(crate) fn merge(entries: &mut Vec<Entry>, lives: &FxHashMap<u32, Life>) -> Vec<Lane> {
    let mut words: FxHashMap<u32, u64> = FxHashMap::default();
    for entry in entries.iter() {
        *words.entry(entry.thread).or_default() |= 1 << (entry.offset / 8);
    }
    let life = |thread: &u32| lives.get(thread).copied().unwrap_or_default();
    let mut threads: Vec<u32> = words.keys().copied().collect();
    threads.sort_by_key(|thread| (life(thread).first, *thread));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    for thread in threads {
        let (Life { first, last, ran }, words) = (life(&thread), words[&thread]);
        let ended = lanes.iter().enumerate().filter(|(_, lane)| lane.last < first);
        let place = ended.max_by_key(|(place, lane)| {
            ((lane.words & words).count_ones(), std::cmp::Reverse(*place))
        });
        let place = place.map(|(place, _)| place).unwrap_or(lanes.len());
        match lanes.get_mut(place) {
            Some(lane) => {
                lane.last = last;
                lane.ran += ran;
                lane.words |= words;
            }
            None => lanes.push(Lane { thread, first, last, ran, words }),
        }
        places.insert(thread, place);
    }
    for entry in entries.iter_mut() {
        entry.thread = lanes[places[&entry.thread]].thread;
    }
    let key = |it: &Entry| (it.thread, it.offset, it.size, it.access, it.code);
    entries.sort_by_key(key);
    entries.dedup_by(|other, one| {
        let is_same = key(one) == key(other);
        one.count += if is_same { other.count } else { 0 };
        is_same
    });
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_contend::record::Access::Write;

    fn merged(uses: &[(u32, u8)], lives: &[(u32, u64, u64)]) -> (Vec<(u32, u8, u64)>, usize) {
        let entry = |&(thread, offset): &(u32, u8)| Entry {
            thread,
            offset,
            size: 8,
            access: Write,
            code: 1,
            count: 10,
        };
        let mut entries: Vec<Entry> = uses.iter().map(entry).collect();
        let life =
            |&(thread, first, last): &(u32, u64, u64)| (thread, Life { first, last, ran: 1 });
        let lanes = merge(&mut entries, &lives.iter().map(life).collect());
        (entries.iter().map(|it| (it.thread, it.offset, it.count)).collect(), lanes.len())
    }

    #[test]
    fn threads_that_follow_each_other_are_one() {
        let lives = [(1, 0, 5), (2, 6, 9), (3, 10, 12)];
        assert_eq!(merged(&[(1, 0), (2, 0), (3, 8)], &lives), (vec![(1, 0, 20), (1, 8, 10)], 1));
    }

    #[test]
    fn threads_that_meet_stay_apart() {
        assert_eq!(
            merged(&[(1, 0), (2, 0)], &[(1, 0, 5), (2, 5, 9)]),
            (vec![(1, 0, 10), (2, 0, 10)], 2)
        );
    }

    #[test]
    fn a_successor_takes_the_place_of_the_one_whose_word_it_has() {
        let lives = [(1, 0, 5), (2, 1, 5), (3, 7, 9), (4, 8, 9)];
        assert_eq!(
            merged(&[(1, 0), (2, 8), (3, 8), (4, 0)], &lives),
            (vec![(1, 0, 20), (2, 8, 20)], 2)
        );
    }
}
