//! Findings of recordings that are written here.

use super::*;
use tenure_model::recording::{Allocation, Entry, Line, Thread, Watched};

pub(crate) const MILLION: u64 = 1_000_000;

/// (thread, offset, access, code): a million times each.
pub(crate) type Did = (u32, u8, Access, u64);

/// A word of eight bytes of which nothing but its uses is known.
pub(crate) fn word(offset: i64, uses: impl IntoIterator<Item = CodeUse>) -> UsedWord {
    let (uses, meaning) = (uses.into_iter().collect(), Meaning::default());
    UsedWord { offset, size: 8, uses, meaning, is_owned: false }
}

/// What threads do so often, without gaps that were timed.
pub(crate) fn done<'a>(
    access: Access,
    code: u64,
    threads: impl IntoIterator<Item = &'a (u32, u64)>,
) -> CodeUse {
    let threads = threads.into_iter().copied().collect();
    CodeUse { access, code, threads, callers: BTreeMap::new(), gaps: BTreeMap::new() }
}

pub(crate) fn entry((thread, offset, access, code): Did) -> Entry {
    let (size, count, gaps) = (8, MILLION, Gaps::default());
    Entry { thread, offset, size, access, code, callers: [0; 2], count, gaps }
}

pub(crate) fn line(address: u64, allocation: Option<(u64, i64)>, did: &[Did]) -> Line {
    Line {
        address,
        allocation: allocation.map(|(size, line_offset)| Allocation {
            size,
            line_offset,
            stack: vec![1, 2],
            objects: 1,
            type_name: None,
        }),
        entries: did.iter().copied().map(entry).collect(),
        possible: Possible { changes: MILLION, same_word: 0, capped: MILLION, buckets: 20 },
        ..Line::default()
    }
}

pub(crate) fn process(lines: Vec<Line>) -> Process {
    let threads = (1..=8).map(|id| Thread { id, ..Thread::default() }).collect();
    Process { lines, threads, line_bytes: 64, seconds: 1.0, ..Process::default() }
}

/// What is contended, and what is wrong with it by behaviour alone.
#[derive(Debug, PartialEq)]
struct Judged {
    kind: Kind,
    found: Contended,
}

impl std::ops::Deref for Judged {
    type Target = Contended;

    fn deref(&self) -> &Contended {
        &self.found
    }
}

/// Lines with something wrong.
fn contended(process: &Process) -> Vec<Judged> {
    let all = super::contended(process).into_iter();
    all.filter_map(|found| Some(Judged { kind: found.kind(process)?, found })).collect()
}

/// The one finding of one line.
fn the_finding(did: &[Did]) -> Judged {
    let found = contended(&process(vec![line(0x1000, Some((64, 0)), did)]));
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

const READ: Access = Access::Read;
const WRITE: Access = Access::Write;
const LOAD: Access = Access::Load;
const STORE: Access = Access::Store;
const ADD: Access = Access::Add;
const EXCHANGE: Access = Access::CompareExchange;
const LOCK: Access = Access::Lock;
const UNLOCK: Access = Access::Unlock;

#[test]
fn what_is_wrong_follows_from_who_does_what() {
    for (about, did, kind) in [
        ("a count that all change", &[(1, 0, ADD, 1), (2, 0, ADD, 1)][..], Kind::HotWord),
        ("two counters, each of a thread", &[(1, 0, ADD, 1), (2, 8, ADD, 2)], Kind::FalseSharing),
        (
            "a count beside what is mostly read",
            &[(1, 0, ADD, 1), (2, 0, ADD, 1), (1, 16, READ, 2), (2, 16, READ, 2)],
            Kind::BesideReadMostly,
        ),
        (
            "one thread writes, another reads its neighbour",
            &[(1, 0, WRITE, 1), (2, 8, READ, 2)],
            Kind::BesideReadMostly,
        ),
        (
            "a lock and what it guards",
            &[
                (1, 0, LOCK, 1),
                (1, 0, UNLOCK, 2),
                (1, 40, READ, 3),
                (1, 40, WRITE, 4),
                (2, 0, LOCK, 1),
                (2, 0, UNLOCK, 2),
                (2, 40, READ, 3),
                (2, 40, WRITE, 4),
            ],
            Kind::Lock,
        ),
        (
            "std's Mutex and what it guards",
            &[
                (1, 0, EXCHANGE, 1),
                (1, 0, ADD, 2),
                (1, 8, WRITE, 4),
                (1, 16, READ, 5),
                (2, 0, EXCHANGE, 1),
                (2, 0, ADD, 2),
                (2, 8, WRITE, 4),
                (2, 16, READ, 5),
            ],
            Kind::Lock,
        ),
        (
            "two locks",
            &[(1, 0, LOCK, 1), (2, 0, LOCK, 1), (1, 40, LOCK, 1), (2, 40, LOCK, 1)],
            Kind::FalseSharing,
        ),
        (
            "a queue's head and tail",
            &[(1, 0, LOAD, 1), (1, 8, STORE, 2), (2, 8, LOAD, 3), (2, 0, STORE, 4)],
            Kind::FalseSharing,
        ),
        (
            "two sums that all threads change together",
            &[(1, 0, ADD, 1), (1, 8, ADD, 2), (2, 0, ADD, 1), (2, 8, ADD, 2)],
            Kind::HotWord,
        ),
    ] {
        assert_eq!(the_finding(did).kind, kind, "{about}");
    }
}

#[test]
fn a_lock_is_taken_unseen_and_a_number_is_compared_first() {
    const SWAP: Access = Access::Exchange;
    // What two threads do to a word, each beside a word that they read.
    for (about, did, is_lock) in [
        ("parking_lot's mutex", &[(EXCHANGE, 0x1000), (EXCHANGE, 0x1900)][..], true),
        ("the same where it waits", &[(EXCHANGE, 1), (EXCHANGE, 0x1900), (LOAD, 0x9000)], true),
        ("its `try_lock`", &[(LOAD, 0x1000), (EXCHANGE, 0x1040), (EXCHANGE, 0x1900)], true),
        ("std's mutex", &[(EXCHANGE, 0x1000), (SWAP, 0x1900)], true),
        ("a spinlock that loads first", &[(LOAD, 1), (EXCHANGE, 0x40), (STORE, 0x90)], true),
        ("a spinlock by an exchange", &[(SWAP, 1), (STORE, 0x90)], true),
        ("the same, watched", &[(SWAP, 1), (WRITE, 0x90)], true),
        ("Netty's count", &[(ADD, 1), (READ, 0x1000), (EXCHANGE, 0x1030)], false),
        ("a budget", &[(LOAD, 0x1000), (EXCHANGE, 0x1030), (ADD, 0x2000)], false),
        ("a budget without optimisation", &[(LOAD, 1), (EXCHANGE, 0x9000), (ADD, 0x5000)], false),
        ("a count of references", &[(LOAD, 1), (EXCHANGE, 0x30), (ADD, 0x2000)], false),
        ("two loops", &[(LOAD, 1), (EXCHANGE, 0x30), (LOAD, 0x901), (EXCHANGE, 0x930)], false),
        ("a statistic", &[(ADD, 1)], false),
    ] {
        let of = |thread: u32| {
            let did = did.iter().map(move |&(access, code)| (thread, 0, access, code));
            did.chain([(thread, 16, READ, 0x7777)])
        };
        let found = the_finding(&of(1).chain(of(2)).collect::<Vec<_>>());
        assert_eq!(found.words[0].is_lock(), is_lock, "{about}");
        let kind = if is_lock { Kind::Lock } else { Kind::BesideReadMostly };
        assert_eq!(found.kind, kind, "{about}");
    }
    // One thread sets what another clears.
    let flag = the_finding(&[(1, 0, SWAP, 1), (2, 0, STORE, 2)]);
    assert_eq!(flag.kind, Kind::HotWord);
}

#[test]
fn what_each_thread_sets_and_resets_in_an_object_of_its_own_is_no_lock() {
    // crossbeam's epochs: pinned by a compare-exchange, unpinned by a store, and read by others.
    let of = |address, thread, other| {
        let did = [(thread, 0, EXCHANGE, 1), (thread, 0, STORE, 9), (other, 0, LOAD, 99)];
        line(address, Some((64, 0)), &did)
    };
    let found = contended(&process(vec![of(0x1000, 1, 2), of(0x2000, 2, 1)]));
    assert_eq!((found.len(), found[0].kind), (1, Kind::HotWord), "{found:?}");
}

#[test]
fn a_lock_whose_code_says_so_needs_no_more_evidence() {
    let did: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|thread| [(thread, 0, LOAD, 1), (thread, 0, EXCHANGE, 9), (thread, 0, ADD, 99)])
        .collect();
    let process = process(vec![line(0x1000, Some((64, 0)), &did)]);
    let Judged { kind, mut found } = contended(&process).remove(0);
    assert_eq!(kind, Kind::HotWord);
    found.name(|_| Meaning { role: Some(Role::Lock), ..Meaning::default() });
    assert_eq!(found.kind(&process), Some(Kind::Lock));
}

#[test]
fn a_lock_that_one_thread_tries_in_vain_guards_what_both_use() {
    let did = [(1, 0, EXCHANGE, 1), (1, 0, ADD, 2), (1, 8, WRITE, 4), (1, 16, LOAD, 5)];
    let mut line =
        line(0x1000, Some((64, 0)), &[did, did.map(|it| (2, it.1, it.2, it.3))].concat());
    line.entries[4].count = 8 * MILLION;
    assert_eq!(contended(&process(vec![line.clone()]))[0].kind, Kind::FalseSharing, "counted");
    line.watched =
        Some(Watched { samples: 100, polled: 0, of: 200, probes: 50, met: 50, cost: 0.5 });
    assert_eq!(contended(&process(vec![line.clone()]))[0].kind, Kind::Lock);
    // The second thread takes the lock, and uses nothing beside it.
    let mut of_one = line.clone();
    of_one.entries.truncate(6);
    assert_eq!(contended(&process(vec![of_one]))[0].kind, Kind::FalseSharing);
    // The first thread uses its word far more often than it takes the lock, and the second reads it.
    line.entries[2].count = 99 * MILLION;
    line.entries[6].access = LOAD;
    assert_eq!(contended(&process(vec![line]))[0].kind, Kind::FalseSharing);
}

#[test]
fn elements_that_belong_to_threads_are_one_word_with_a_stride() {
    // Four elements of 24 bytes: the last begins on the next line.
    let mut lines = vec![
        line(
            0x1000,
            Some((96, 0)),
            &[
                (1, 0, WRITE, 1),
                (1, 8, READ, 2),
                (2, 24, WRITE, 1),
                (2, 32, READ, 2),
                (3, 48, WRITE, 1),
                (3, 56, READ, 2),
            ],
        ),
        line(0x1040, Some((96, 64)), &[(4, 8, WRITE, 1), (4, 16, READ, 2)]),
    ];
    lines[0].entries[0].callers = [7, 8];
    lines[1].entries[0].callers = [9, 8];
    let found = contended(&process(lines));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].kind, Kind::FalseSharing);
    assert_eq!(
        found[0].elements,
        Some(Elements { start: 0, stride: 24, count: 4, size: Some(96), owned: true })
    );
    assert_eq!(found[0].lines.len(), 2);
    let folded = found[0].folded().unwrap();
    assert_eq!(folded.len(), 2);
    let written = &folded[0];
    assert_eq!((written.offset, written.uses.len()), (0, 1));
    assert_eq!(written.uses[0].threads.len(), 4);
    assert_eq!(written.uses[0].callers, [((1, [7, 8]), MILLION), ((4, [9, 8]), MILLION)].into());
}

#[test]
fn a_neighbour_of_an_array_is_not_one_of_its_elements() {
    // Two elements of 16 bytes, and words of the objects before and after them, which all threads read.
    let did = [
        (1, 0, LOAD, 3),
        (2, 0, LOAD, 3),
        (1, 16, ADD, 1),
        (2, 32, ADD, 1),
        (1, 48, LOAD, 2),
        (2, 48, LOAD, 2),
    ];
    let found = contended(&process(vec![line(0x1000, Some((32, -16)), &did)]));
    assert_eq!(
        found[0].elements,
        Some(Elements { start: 0, stride: 16, count: 2, size: Some(32), owned: true })
    );
    let folded = found[0].folded().unwrap();
    let words: Vec<_> = folded.iter().map(|word| (word.offset, word.uses.len())).collect();
    assert_eq!(words, [(0, 1), (-16, 1), (32, 1)]);
}

#[test]
fn objects_in_memory_that_a_program_divides_itself_are_no_elements() {
    // Two threads write members of a few objects at odd places; two of the words belong to different threads.
    let at = |offset: i64, did: &[Did]| {
        line(0x10000 + offset.cast_unsigned(), Some((1 << 20, offset)), did)
    };
    let mut lines = vec![at(0, &[(1, 8, WRITE, 1)]), at(0xd4000, &[(2, 24, WRITE, 1)])];
    for (place, offset) in [(8, 0x1040), (16, 0x2080), (32, 0x30c0), (40, 0x4100), (48, 0x5140)] {
        lines.push(at(offset, &[(1, place, WRITE, 1), (2, place, WRITE, 1), (1, 0, WRITE, 2)]));
    }
    let found = contended(&process(lines));
    assert_eq!((found.len(), found[0].elements), (1, None), "{found:?}");
}

#[test]
fn words_at_odd_places_are_no_elements_of_a_byte() {
    // Messages of 24 bytes with a tag of one byte, or with none: the same code writes at many places.
    let slot = |at: i64| {
        let tag = if at % 48 == 0 { 8 } else { 9 };
        let line_offset = at / 64 * 64;
        let place = u8::try_from(at - line_offset).unwrap();
        let mut line = line(
            0x10000 + line_offset.cast_unsigned(),
            Some((24 * 64, line_offset)),
            &[(1, place, STORE, 1), (2, place, STORE, 1), (1, place, LOAD, 3)],
        );
        let tags = [(1, tag), (2, tag), (1, tag + 8), (2, tag + 8)];
        let tags = tags.map(|(thread, tag)| entry((thread, place + tag, WRITE, 2)));
        line.entries.extend(tags.map(|tag| Entry { size: 1, ..tag }));
        line
    };
    let slots = (0..24 * 64).step_by(24).map(slot).filter(|line| {
        line.entries.iter().all(|entry| u64::from(entry.offset) + u64::from(entry.size) <= 64)
    });
    let found = contended(&process(slots.collect()));
    let strides: Vec<_> = found.iter().map(|it| it.elements.map(|it| it.stride)).collect();
    assert_eq!(strides, [Some(24)], "{found:?}");
}

#[test]
fn a_word_of_one_thread_that_other_code_writes_is_no_element() {
    let found = the_finding(&[(1, 0, ADD, 1), (2, 8, ADD, 2)]);
    assert_eq!(found.elements, None);
    assert_eq!(found.words.len(), 2);
}

#[test]
fn objects_of_one_origin_are_one_finding_wherever_the_allocator_puts_them() {
    let at = |address, line_offset, offset| {
        line(address, Some((200, line_offset)), &[(1, offset, ADD, 1), (2, offset, ADD, 1)])
    };
    // The member at 64 of three objects, two of which begin in the middle of a line.
    let mut lines = vec![at(0x1040, 64, 0), at(0x2040, 48, 16), at(0x3040, 32, 32)];
    // Another member, on another line.
    lines.push(line(0x1080, Some((200, 128)), &[(1, 0, ADD, 9), (2, 0, ADD, 9)]));
    let found = contended(&process(lines));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((found[0].lines.len(), found[0].words[0].offset), (3, 64));
    assert_eq!(found[0].possible.capped, 3 * MILLION);
    assert_eq!(found[1].words[0].offset, 128);
}

#[test]
fn statics_are_one_finding_if_they_are_next_to_each_other_and_used_alike() {
    let of = |address, code| line(address, None, &[(1, 0, ADD, code), (2, 8, ADD, code)]);
    for (one, other, findings) in [
        ((0x1000, 1), (0x1040, 1), 1),
        ((0x1000, 1), (0x1040, 2), 2),
        ((0x1000, 1), (0x1080, 1), 2),
    ] {
        let lines = vec![of(one.0, one.1), of(other.0, other.1)];
        assert_eq!(contended(&process(lines)).len(), findings, "{one:?} {other:?}");
    }
}

#[test]
fn words_on_different_lines_are_not_in_each_others_way() {
    // One function adds to two counts of an object, which have a line each: different threads use them.
    let lines = vec![
        line(0x1000, Some((128, 0)), &[(1, 0, ADD, 1), (2, 0, ADD, 1)]),
        line(0x1040, Some((128, 64)), &[(3, 0, ADD, 1), (4, 0, ADD, 1)]),
    ];
    let found = contended(&process(lines));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].kind, found[0].words.len()), (Kind::HotWord, 2));
}

#[test]
fn a_large_array_of_locks_is_found_although_no_lock_is_used_much() {
    let locks = |at: i64| {
        let of = |thread, offset| [(thread, offset, LOCK, 1), (thread, offset, UNLOCK, 2)];
        let did = [of(1, 0), of(2, 0), of(1, 32), of(2, 32)].concat();
        line(0x10000 + at.cast_unsigned(), Some((64_000, at)), &did)
    };
    let found = contended(&process((0..64_000).step_by(64).map(locks).collect()));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].lines.len()), (Kind::FalseSharing, 1000));
    let elements = Elements { start: 0, stride: 32, count: 2000, size: Some(64_000), owned: false };
    assert_eq!(found[0].elements, Some(elements));
    assert_eq!(found[0].folded().unwrap().len(), 1);
}

#[test]
fn a_count_of_references_is_no_lock_where_its_name_says_so() {
    let did: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|thread| [(thread, 0, EXCHANGE, 1), (thread, 0, ADD, 2), (thread, 16, READ, 3)])
        .collect();
    let process = process(vec![line(0x1000, Some((64, 0)), &did)]);
    let Judged { kind, mut found } = contended(&process).remove(0);
    assert_eq!(kind, Kind::Lock);
    found.name(|_| Meaning { role: Some(Role::Count), ..Meaning::default() });
    assert_eq!(found.kind(&process), Some(Kind::BesideReadMostly));
    assert!(!found.words[0].is_lock());
}

#[test]
fn a_word_that_is_hardly_used_does_not_make_false_sharing_of_its_neighbour() {
    for (count, kind) in [(MILLION / 100, Kind::Lock), (MILLION / 10, Kind::FalseSharing)] {
        let mut line = line(0x1000, Some((80, 0)), &[(1, 0, LOCK, 1), (2, 0, LOCK, 1)]);
        line.entries.push(Entry { offset: 40, thread: 3, count, ..line.entries[0] });
        assert_eq!(contended(&process(vec![line]))[0].kind, kind);
    }
}

#[test]
fn plain_words_that_several_threads_write_are_ordered_elsewhere_where_races_are_impossible() {
    let in_rust = |code: u64| code < 10;
    for (about, did, is_ordered) in [
        ("a task's state", &[(1, 0, WRITE, 1), (2, 0, WRITE, 1), (1, 8, READ, 2)][..], true),
        ("the same in C", &[(1, 0, WRITE, 11), (2, 0, WRITE, 11), (1, 8, READ, 12)], false),
        ("a count", &[(1, 0, ADD, 1), (2, 0, ADD, 1), (1, 8, WRITE, 2), (2, 8, WRITE, 2)], false),
        ("words of two threads", &[(1, 0, WRITE, 1), (2, 8, WRITE, 2)], false),
        ("a thread's word, read by another", &[(1, 0, WRITE, 1), (2, 0, READ, 2)], false),
        (
            "a task's state with an atomic word that is set",
            &[(1, 0, WRITE, 1), (2, 0, WRITE, 1), (1, 8, STORE, 3), (2, 8, STORE, 3)],
            true,
        ),
        (
            "the same where a third thread sets it",
            &[(1, 0, WRITE, 1), (2, 0, WRITE, 1), (3, 8, STORE, 3), (2, 8, STORE, 3)],
            false,
        ),
        (
            "the same where it is changed",
            &[(1, 0, WRITE, 1), (2, 0, WRITE, 1), (1, 8, ADD, 3), (2, 8, ADD, 3)],
            false,
        ),
    ] {
        let process = process(vec![line(0x1000, Some((64, 0)), did)]);
        let order = contended(&process)[0].order(&in_rust, &Locks::of(&process));
        assert_eq!(order, is_ordered.then_some(WriteOrder::Races), "{about}");
    }
}

#[test]
fn what_is_handed_over_unevenly_is_handed_over_all_the_same() {
    // Words of a task of which each worker has a large part, and the others a small one.
    let mut task = line(0x1000, Some((64, 0)), &[(1, 0, WRITE, 1), (2, 8, WRITE, 2)]);
    let entry = |of: usize, thread, count| Entry { thread, count, ..task.entries[of] };
    let few = [entry(0, 2, MILLION / 20), entry(1, 1, MILLION / 20)];
    let is_ordered = |line: &Line| {
        let process = process(vec![line.clone()]);
        contended(&process)[0].order(&|_| true, &Locks::of(&process)).is_some()
    };
    assert!(!is_ordered(&task), "a word of each");
    task.entries.extend(few);
    assert!(is_ordered(&task));
}

#[test]
fn plain_words_of_threads_that_take_a_lock_elsewhere_as_often_are_ordered_by_it() {
    // As SQLite counts what it has allocated: a mutex of a table, and statistics in another variable.
    let of = |thread: u32| [(thread, 0, READ, 1), (thread, 0, WRITE, 2), (thread, 8, READ, 3)];
    let counted = line(0x1000, None, &[of(1), of(2)].concat());
    let lock = |did: &[Did]| line(0x9000, None, did);
    let both = [(1, 0, LOCK, 7), (1, 0, UNLOCK, 8), (2, 0, LOCK, 7), (2, 0, UNLOCK, 8)];
    let rarely = |mut line: Line| {
        line.entries.iter_mut().for_each(|entry| entry.count /= 100);
        line
    };
    for (about, lines, is_ordered) in [
        ("no lock", vec![counted.clone()], false),
        ("a lock of both", vec![counted.clone(), lock(&both)], true),
        ("a lock of one", vec![counted.clone(), lock(&both[..2])], false),
        ("a lock that is hardly taken", vec![counted.clone(), rarely(lock(&both))], false),
        ("no lock but a count", vec![counted, lock(&[(1, 0, ADD, 7), (2, 0, ADD, 7)])], false),
    ] {
        let process = process(lines);
        let found = contended(&process);
        let counted = found.iter().find(|found| found.lines == [0]).unwrap();
        let order = counted.order(&|_| false, &Locks::of(&process));
        assert_eq!(order, is_ordered.then_some(WriteOrder::Lock(Some(1))), "{about}");
    }
}

#[test]
fn words_that_different_locks_guard_are_not_ordered() {
    // Two pools of threads, each with a count and a lock of its own. The counts are on one line.
    let count = |thread: u32, at: u8| [(thread, at, READ, 1), (thread, at, WRITE, 2)];
    let apart = [count(1, 0), count(2, 0), count(3, 8), count(4, 8)].concat();
    let together = [count(1, 0), count(2, 0), count(1, 8), count(2, 8)].concat();
    let lock = |address: u64, threads: [u32; 2]| {
        let of = |thread| [(thread, 0, LOCK, 7), (thread, 0, UNLOCK, 8)];
        line(address, None, &threads.map(of).concat())
    };
    for (about, counts, order) in [
        ("two counts", apart, None),
        ("those of one pool", together, Some(WriteOrder::Lock(Some(1)))),
    ] {
        let counts = line(0x1000, None, &counts);
        let process = process(vec![counts, lock(0x8000, [1, 2]), lock(0x9000, [3, 4])]);
        let found = contended(&process);
        let counts = found.iter().find(|found| found.lines == [0]).unwrap();
        assert_eq!(counts.order(&|_| false, &Locks::of(&process)), order, "{about}");
    }
}

#[test]
fn a_lock_on_a_findings_own_lines_is_not_elsewhere() {
    let of = |thread: u32| [(thread, 0, LOCK, 7), (thread, 0, UNLOCK, 8), (thread, 8, WRITE, 1)];
    let process = process(vec![line(0x1000, None, &[of(1), of(2)].concat())]);
    let (locks, found) = (Locks::of(&process), contended(&process).remove(0));
    let plain: Vec<UsedWord> = found.words.iter().filter(|word| !word.is_lock()).cloned().collect();
    let order = |lines: &[usize]| order::order(lines, &plain, &|_| false, &locks);
    assert_eq!((order(&[0]), order(&[1])), (None, Some(WriteOrder::Lock(Some(0)))));
}

#[test]
fn an_array_of_padded_locks_is_not_false_sharing() {
    let lock = |at: i64| {
        let did = [(1, 0, LOCK, 1), (1, 0, UNLOCK, 2), (2, 0, LOCK, 1), (2, 0, UNLOCK, 2)];
        line(0x10000 + at.cast_unsigned(), Some((640, at)), &did)
    };
    let found = contended(&process((0..640).step_by(64).map(lock).collect()));
    assert_eq!((found.len(), found[0].kind), (1, Kind::Lock), "{found:?}");
    let elements = Elements { start: 0, stride: 64, count: 10, size: Some(640), owned: false };
    assert_eq!(found[0].elements, Some(elements));
}

#[test]
fn a_copy_of_a_struct_does_not_make_its_members_one_word() {
    let mut line = line(0x1000, None, &[(1, 0, WRITE, 1), (2, 8, WRITE, 2)]);
    line.entries.push(Entry { size: 48, ..entry((3, 0, READ, 3)) });
    let found = contended(&process(vec![line]));
    let words: Vec<_> =
        found[0].words.iter().map(|word| (word.offset, word.size, word.uses.len())).collect();
    assert_eq!(words, [(0x1000, 8, 2), (0x1008, 8, 2)]);
}

#[test]
fn what_costs_next_to_nothing_is_rare() {
    let mut few = line(0x1000, None, &[(1, 0, ADD, 1), (2, 8, ADD, 2)]);
    let is_rare = |process: &Process| contended(process)[0].is_rare;
    few.possible = Possible { changes: 900, same_word: 0, capped: 900, buckets: 1 };
    assert!(is_rare(&process(vec![few.clone()])));
    few.possible.capped = 100_000;
    let slow = Process { seconds: 20.0, ..process(vec![few.clone()]) };
    assert!(is_rare(&slow), "5,000 a second");
    assert!(!is_rare(&process(vec![few])));
}

#[test]
fn a_second_is_one_of_the_busiest_threads_processor_time() {
    let mut few = line(0x1000, None, &[(1, 0, ADD, 1), (2, 8, ADD, 2)]);
    few.possible.capped = 100_000;
    let of = |[first, second, third]: [u64; 3], access_ns: f64| {
        // A program that takes 20 s since the machine is busy.
        let mut process = Process { seconds: 20.0, access_ns, ..process(vec![few.clone()]) };
        for (thread, cpu) in process.threads.iter_mut().zip([first, second, third]) {
            (thread.cpu, thread.accesses) = (cpu * 1_000_000_000, 4 * MILLION * MILLION / 1000);
        }
        contended(&process)[0].is_rare
    };
    assert!(!of([1, 9, 0], 0.0), "11,000 a second of the second thread");
    assert!(of([1, 11, 0], 0.0), "9,000 a second");
    assert!(!of([1, 9, 90], 0.0), "the third does not use the line");
    assert!(!of([1, 19, 0], 1.9), "9.6 of 19 s are what recording took");
    assert!(of([0, 0, 1], 0.0), "none of the two was seen running");
}

#[test]
fn a_line_of_one_writer_without_readers_is_no_finding() {
    let only = line(0x1000, None, &[(1, 0, ADD, 1)]);
    assert_eq!(contended(&process(vec![only])), []);
}

#[test]
fn a_lock_is_for_the_object_that_it_is_a_part_of() {
    for (path, lock, expected) in [
        ("settings.data", "settings.inner", Some(true)),
        ("settings.data", "settings.inner.state", Some(true)),
        ("settings.data", "settings.raw.state", Some(true)),
        ("quota", "settings.inner", Some(false)),
        ("settings2.data", "settings.inner", Some(false)),
        ("data", "inner", None),
        ("data", "raw.state", None),
        ("limit", "mutex.__data.__lock", None),
        ("limit", "__data.__lock", None),
    ] {
        assert_eq!(is_of_lock(path, lock), expected, "{path}, {lock}");
    }
}
