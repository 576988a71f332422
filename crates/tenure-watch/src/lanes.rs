//! Threads that follow each other on the words of a line, and count as one there.
//!
//! A thread that lives for milliseconds leaves its stack and its objects to the next. Counted apart, the two would share each
//! word that both used. So a thread takes the place of one that used the same words and had ended before it began. Then
//! those that have never met count as one, too. Not at once: a thread is rarely seen on a busy machine, so one that lives
//! beside it on other words may seem to come after it.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use tenure_model::recording::Entry;

/// When a thread was seen, and for how long it ran, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Life {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) ran_ns: u64,
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
    pub(crate) ran_ns: u64,
    words: u64,
    /// When each of its threads was seen first and last, in that order.
    seen: Vec<(u64, u64)>,
}

impl Lane {
    /// Whether threads of both were there at a time.
    fn meets(&self, other: &Self) -> bool {
        let (mut ours, mut theirs) = (self.seen.iter().peekable(), other.seen.iter().peekable());
        while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
            if our.1 < their.0 {
                ours.next();
            } else if their.1 < our.0 {
                theirs.next();
            } else {
                return true;
            }
        }
        false
    }

    /// Has this one, which began earlier, stand for another one's threads, too.
    fn join(&mut self, other: Self) {
        self.last = self.last.max(other.last);
        self.ran_ns += other.ran_ns;
        self.words |= other.words;
        self.seen.extend(other.seen);
        self.seen.sort_unstable();
    }
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
        let (Life { first, last, ran_ns }, words) = (life(&thread), words[&thread]);
        let common = |lane: &Lane| (lane.words & words).count_ones();
        let ended = lanes.iter().enumerate();
        let ended = ended.filter(|(_, lane)| lane.last < first && common(lane) > 0);
        let place = ended.max_by_key(|(place, lane)| (common(lane), Reverse(*place)));
        let place = place.map_or(lanes.len(), |(place, _)| place);
        let lane = Lane { thread, first, last, ran_ns, words, seen: vec![(first, last)] };
        match lanes.get_mut(place) {
            Some(before) => before.join(lane),
            None => lanes.push(lane),
        }
        places.insert(thread, place);
    }
    let mut apart: Vec<Lane> = Vec::new();
    let mut stands = Vec::new();
    for lane in lanes {
        let place = apart.iter().position(|other| !other.meets(&lane)).unwrap_or(apart.len());
        match apart.get_mut(place) {
            Some(before) => before.join(lane),
            None => apart.push(lane),
        }
        stands.push(place);
    }
    for entry in entries.iter_mut() {
        entry.thread = apart[stands[places[&entry.thread]]].thread;
    }
    let key = |it: &Entry| (it.thread, it.offset, it.size, it.access, it.code, it.callers);
    entries.sort_by_key(key);
    entries.dedup_by(|other, one| {
        let is_same = key(one) == key(other);
        one.count += if is_same { other.count } else { 0 };
        is_same
    });
    apart
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_model::Access::Write;
    use tenure_model::recording::Gaps;

    fn merged(uses: &[(u32, u8)], lives: &[(u32, u64, u64)]) -> (Vec<(u32, u8, u64)>, usize) {
        let entry = |&(thread, offset): &(u32, u8)| Entry {
            thread,
            offset,
            size: 8,
            access: Write,
            code: 1,
            callers: [0; 2],
            count: 10,
            gaps: Gaps::default(),
        };
        let mut entries: Vec<Entry> = uses.iter().map(entry).collect();
        let life =
            |&(thread, first, last): &(u32, u64, u64)| (thread, Life { first, last, ran_ns: 1 });
        let lanes = merge(&mut entries, &lives.iter().map(life).collect());
        (entries.iter().map(|it| (it.thread, it.offset, it.count)).collect(), lanes.len())
    }

    #[test]
    fn threads_that_follow_each_other_are_one() {
        let lives = [(1, 0, 5), (2, 6, 9), (3, 10, 12)];
        assert_eq!(merged(&[(1, 0), (2, 0), (3, 8)], &lives), (vec![(1, 0, 20), (1, 8, 10)], 1));
    }

    #[test]
    fn what_threads_do_that_count_as_one_stays_apart_by_its_callers() {
        let entry = |thread, caller| Entry {
            thread,
            offset: 0,
            size: 8,
            access: Write,
            code: 1,
            callers: [caller, 0],
            count: 10,
            gaps: Gaps::default(),
        };
        let mut entries = vec![entry(1, 8), entry(2, 9), entry(3, 8)];
        let lives = [(1, 0), (2, 2), (3, 4)];
        let life = |first| Life { first, last: first + 1, ran_ns: 1 };
        merge(&mut entries, &lives.map(|(id, first)| (id, life(first))).into_iter().collect());
        let counts: Vec<_> =
            entries.iter().map(|it| (it.thread, it.callers[0], it.count)).collect();
        assert_eq!(counts, [(1, 8, 20), (1, 9, 10)]);
    }

    #[test]
    fn threads_that_meet_stay_apart() {
        assert_eq!(
            merged(&[(1, 0), (2, 0)], &[(1, 0, 5), (2, 5, 9)]),
            (vec![(1, 0, 10), (2, 0, 10)], 2)
        );
    }

    #[test]
    fn threads_in_turn_on_two_words_are_one() {
        let lives = [(1, 0, 1), (2, 2, 3), (3, 4, 5), (4, 6, 7)];
        assert_eq!(
            merged(&[(1, 0), (2, 8), (3, 0), (4, 8)], &lives),
            (vec![(1, 0, 20), (1, 8, 20)], 1)
        );
    }

    #[test]
    fn a_thread_that_seems_to_follow_one_on_another_word_takes_no_place_of_its_row() {
        let lives = [(1, 0, 1), (2, 2, 5), (3, 4, 9), (4, 6, 7)];
        assert_eq!(
            merged(&[(1, 0), (2, 8), (3, 0), (4, 8)], &lives),
            (vec![(1, 0, 20), (2, 8, 20)], 2)
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
