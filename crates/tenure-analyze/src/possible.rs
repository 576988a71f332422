//! How often a line could have changed hands within a bucket of time.
//!
//! In which order threads happened to run says little: two busy threads on one CPU change hands once per time slice,
//! and on two CPUs a million times a second. So the figure is that of the worst order. A write needs the line from
//! every other thread, a read from a thread that wrote. A thread that only reads can miss at most once per write of
//! another thread.

use rustc_hash::FxHashMap;
use tenure_model::recording::Possible;

/// The time that a line takes from one core's cache to another's, at best: 25 nanoseconds. It bounds what is possible.
const TRANSFER_NANOSECONDS: u64 = 25;

/// What a thread did to some bytes of a line within a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its number.
    pub thread: u32,
    /// Offset in the line, in bytes.
    pub offset: u8,
    /// Bytes.
    pub size: u8,
    /// Whether it wrote them.
    pub writes: bool,
    /// How often.
    pub count: u64,
}

impl Share {
    /// One bit for each byte.
    fn bytes(&self) -> u128 {
        let ones = match self.size {
            0 => 1,
            size if size < 128 => (1 << size) - 1,
            _ => u128::MAX,
        };
        ones.checked_shl(u32::from(self.offset)).unwrap_or(0)
    }
}

/// Adds a bucket that took this time.
pub fn add(possible: &mut Possible, shares: &[Share], nanoseconds: u64) {
    let changes = changes(shares.iter());
    if changes == 0 {
        return;
    }
    possible.changes += changes;
    possible.same_word += changes_of_words(shares);
    possible.capped += changes.min(nanoseconds / TRANSFER_NANOSECONDS);
    possible.buckets += 1;
}

/// The most changes of ownership that these accesses to one line can cause.
fn changes<'a>(shares: impl Iterator<Item = &'a Share>) -> u64 {
    let mut threads: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
    let mut writes = 0_u64;
    for share in shares {
        let (read, written) = threads.entry(share.thread).or_default();
        *if share.writes { written } else { read } += share.count;
        if share.writes {
            writes += share.count;
        }
    }
    let (mut total, mut largest) = (0_u64, 0);
    for &(read, written) in threads.values() {
        // Between two writes of others only the first read can miss.
        let share = written + read.min(writes - written);
        total += share;
        largest = largest.max(share);
    }
    // Either all alternate, or the thread with the most accesses has each of the others between two of its own.
    total.saturating_sub(1).min(2 * (total - largest))
}

/// The same, of accesses to bytes that another thread uses as well: these would meet on any layout.
fn changes_of_words(shares: &[Share]) -> u64 {
    let (read, written) = (Users::of(shares, |_| true), Users::of(shares, |share| share.writes));
    changes(shares.iter().filter(|share| {
        let others = if share.writes { &read } else { &written };
        others.but(share.thread) & share.bytes() != 0
    }))
}

/// Which bytes are used, and which by one thread alone.
struct Users {
    any: u128,
    alone: FxHashMap<u32, u128>,
}

impl Users {
    fn of(shares: &[Share], wanted: impl Fn(&Share) -> bool) -> Self {
        let mut of_thread: FxHashMap<u32, u128> = FxHashMap::default();
        for share in shares.iter().filter(|share| wanted(share)) {
            *of_thread.entry(share.thread).or_default() |= share.bytes();
        }
        let (mut any, mut several) = (0, 0);
        for bytes in of_thread.values() {
            several |= any & bytes;
            any |= bytes;
        }
        of_thread.values_mut().for_each(|bytes| *bytes &= !several);
        Self { any, alone: of_thread }
    }

    /// Bytes that threads other than this one use.
    fn but(&self, thread: u32) -> u128 {
        self.any & !self.alone.get(&thread).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(thread: u32, offset: u8, writes: bool, count: u64) -> Share {
        Share { thread, offset, size: 8, writes, count }
    }

    fn of(shares: &[Share]) -> (u64, u64) {
        let mut possible = Possible::default();
        add(&mut possible, shares, u64::MAX);
        (possible.changes, possible.same_word)
    }

    #[test]
    fn a_line_changes_hands_as_often_as_the_smaller_share_allows() {
        for (accesses, changes) in [
            (&[][..], 0),
            (&[(1, true, 1000)], 0),
            (&[(1, true, 1000), (2, true, 1000)], 1999),
            (&[(1, true, 1000), (2, true, 1)], 2),
            (&[(1, true, 10), (2, true, 10), (3, true, 10)], 29),
            // Without a writer nothing moves.
            (&[(1, false, 1000), (2, false, 1000)], 0),
            // Eight reads of one write can miss, however often the eight read.
            (&[(1, true, 1), (2, false, 1000), (3, false, 1000)], 2),
            (&[(1, true, 1000), (2, false, 3)], 6),
            // A thread's own reads cost nothing between its own writes.
            (&[(1, true, 1000), (1, false, 1000)], 0),
        ] {
            let shares: Vec<_> = accesses
                .iter()
                .map(|&(thread, writes, count)| share(thread, 0, writes, count))
                .collect();
            assert_eq!(of(&shares), (changes, changes), "{accesses:?}");
        }
    }

    #[test]
    fn words_of_their_own_are_told_from_a_word_that_is_shared() {
        let apart = [share(1, 0, true, 1000), share(2, 8, true, 1000)];
        assert_eq!(of(&apart), (1999, 0));
        // A count that two threads change, beside a field that they read.
        let beside = [
            share(1, 0, true, 100),
            share(2, 0, true, 100),
            share(1, 16, false, 1000),
            share(2, 16, false, 1000),
        ];
        assert_eq!(of(&beside), (399, 199));
        // Words that overlap are one.
        let overlap = [share(1, 0, true, 10), Share { size: 4, ..share(2, 4, true, 10) }];
        assert_eq!(of(&overlap), (19, 19));
        assert_eq!(
            of(&[share(1, 0, true, 10), Share { size: 4, ..share(2, 8, true, 10) }]),
            (19, 0)
        );
        // An access that is longer than a line.
        assert_eq!(
            of(&[share(1, 120, true, 10), Share { size: 255, ..share(2, 0, true, 10) }]),
            (19, 19)
        );
    }

    #[test]
    fn no_more_is_possible_than_a_machine_can_do() {
        let mut possible = Possible::default();
        add(&mut possible, &[share(1, 0, true, 1 << 30), share(2, 0, true, 1 << 30)], 50_000_000);
        assert_eq!((possible.capped, possible.buckets), (2_000_000, 1));
        assert!(possible.changes > 1 << 30);
        add(&mut possible, &[share(1, 0, true, 7)], 50_000_000);
        assert_eq!(possible.buckets, 1, "a bucket without a change");
    }
}
