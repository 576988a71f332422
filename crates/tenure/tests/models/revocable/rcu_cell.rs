//! [`RcuCell`]: readers go by a pointer that is replaced under them, and no handle of theirs keeps what they found.
//!
//! A block that a reader meets may have ended: rule 5 of the shootdown. The memory of ended blocks comes back in these
//! models as that of the next ones ([`quarantine::recycle`]), as on a real heap: an address says nothing about which
//! value is there.

use super::super::clocks::counts_are_held;
use super::super::memory::{InOrder, PointersInOrder, clear_number, fenced, set_number, unfenced};
use super::super::quarantine;
use super::super::stage::{ALL, Heap, JoinHandle, passes, slow, spawn};
use super::{Fate, Object, begin, ends_in_every_way, worker};
use tenure::memory::{Atomic, Memory, Ordering};
use tenure::revocable::generic::{On, RcuCell, RcuGuard, RcuReader, Revoking, Shootdown};

/// An `RcuCell` of value 1.
pub(super) fn cached<S: Revoking>() -> (RcuCell<Object, S>, Fate) {
    begin::<S::Memory>();
    quarantine::recycle();
    let (first, fate) = Object::new(1);
    (RcuCell::new_in(first), fate)
}

/// Replaces the value, and ends it if no reader is in the way.
fn store<S: Revoking>(
    number: usize,
    cached: &RcuCell<Object, S>,
    value: u32,
) -> (JoinHandle<()>, Fate) {
    let cached = cached.clone();
    let (object, fate) = Object::new(value);
    (worker(number, move || cached.store(object)), fate)
}

/// Makes and stores the values 2 and 3: a thread that reads one of them must see that it was made.
fn store_twice<S: Revoking>(cached: &RcuCell<Object, S>) -> JoinHandle<[Fate; 2]> {
    let cached = cached.clone();
    worker(1, move || {
        [2, 3].map(|value| {
            let (object, fate) = Object::new(value);
            cached.store(object);
            fate
        })
    })
}

fn read<S: Revoking>(reader: &mut RcuReader<Object, S>) -> u32 {
    reader.load().look()
}

/// The end of every model, after all threads: only the current value is left, and it goes with the last handle.
fn end<S: Revoking>(cached: RcuCell<Object, S>, old: &[Fate], current: &Fate) {
    old.iter().for_each(Fate::assert_gone);
    let said = cached.stats();
    assert_eq!(said.retired, old.len() as u64, "a value ends once");
    drop(cached);
    current.assert_gone();
}

/// `readers` read ‖ value 2 is stored in the place of value 1.
fn under_a_store<S: Revoking>(readers: impl FnOnce(&RcuCell<Object, S>)) {
    let (cached, first) = cached::<S>();
    let (storing, second) = store(1, &cached, 2);
    readers(&cached);
    storing.join().unwrap();
    end(cached, &[first], &second);
}

/// A reader reads, if `has_read`. Then `act` has it ‖ value 2 is stored in the place of value 1.
fn read_under_a_store<S: Revoking>(has_read: bool, act: impl FnOnce(&mut RcuReader<Object, S>)) {
    let (cached, first) = cached::<S>();
    counts_are_held();
    let mut reader = cached.reader();
    if has_read {
        assert_eq!(read(&mut reader), 1);
    }
    let (storing, second) = store(1, &cached, 2);
    act(&mut reader);
    storing.join().unwrap();
    assert_eq!(read(&mut reader), 2);
    first.assert_gone();
    drop(reader);
    end(cached, &[first], &second);
}

pub(super) fn a_first_read_under_a_store<S: Revoking>() {
    read_under_a_store::<S>(false, |reader| _ = read(reader));
}

/// What was read, and how many barriers the store passed: a second one if the reader came between its look at the slots
/// and the first.
#[test]
fn a_first_read_under_a_store_ends_in_every_way() {
    ends_in_every_way(Some(3), [(1, 1), (1, 2), (2, 1), (2, 2)], || {
        let (cached, _) = cached::<On<PointersInOrder, Shootdown>>();
        let mut reader = cached.reader();
        let (storing, _) = store(1, &cached, 2);
        let seen = read(&mut reader);
        storing.join().unwrap();
        (seen, cached.stats().barriers)
    });
}

pub(super) fn two_reads_under_a_store<S: Revoking>() {
    read_under_a_store::<S>(false, |reader| {
        let [one, other] = [read(reader), read(reader)];
        assert!(one <= other, "a read sees an older value than the one before it");
    });
}

pub(super) fn a_read_of_what_was_read_before_under_a_store<S: Revoking>() {
    read_under_a_store::<S>(true, |reader| _ = read(reader));
}

/// The guard is there before the store, so it ends the old value.
pub(super) fn a_guard_held_across_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    let guard = reader.load();
    let (storing, second) = store(1, &cached, 2);
    storing.join().unwrap();
    assert_eq!(guard.look(), 1);
    let said = cached.stats();
    assert_eq!((said.revoked, said.donated), (0, 1));
    drop(guard);
    first.assert_gone();
    drop(reader);
    end(cached, &[first], &second);
}

pub(super) fn a_guard_dropped_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    counts_are_held();
    let mut reader = cached.reader();
    let guard = reader.load();
    let (storing, second) = store(1, &cached, 2);
    assert_eq!(guard.look(), 1);
    drop(guard);
    storing.join().unwrap();
    first.assert_gone();
    drop(reader);
    end(cached, &[first], &second);
}

pub(super) fn a_guard_held_across_a_store_of_its_own_under_a_read<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    let mut other = cached.reader();
    let reading = worker(1, move || {
        read(&mut other);
        other
    });
    let guard = reader.load();
    let (object, second) = Object::new(2);
    cached.store(object);
    assert_eq!(guard.look(), 1);
    drop(guard);
    let other = reading.join().unwrap();
    drop((reader, other));
    end(cached, &[first], &second);
}

pub(super) fn a_reader_comes_under_a_store<S: Revoking>() {
    under_a_store::<S>(|cached| _ = read(&mut cached.reader()));
}

/// The next reader has the slot of one that has read the value which ends.
pub(super) fn a_reader_takes_the_place_of_another_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    read(&mut reader);
    let (storing, second) = store(1, &cached, 2);
    drop(reader);
    let mut next = cached.reader();
    read(&mut next);
    assert_eq!(cached.stats().local_handles, 1, "the slot is used again");
    storing.join().unwrap();
    assert_eq!(read(&mut next), 2);
    drop(next);
    end(cached, &[first], &second);
}

pub(super) fn a_reader_goes_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    read(&mut reader);
    let (storing, second) = store(1, &cached, 2);
    drop(reader);
    storing.join().unwrap();
    end(cached, &[first], &second);
}

pub(super) fn two_readers_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    let mut other = cached.reader();
    let (storing, second) = store(1, &cached, 2);
    let reading = worker(2, move || {
        read(&mut other);
        other
    });
    read(&mut reader);
    storing.join().unwrap();
    let other = reading.join().unwrap();
    drop((reader, other));
    end(cached, &[first], &second);
}

#[test]
fn a_third_value_is_where_the_first_was() {
    passes(ALL, || {
        let (cached, _) = cached::<On<InOrder, Shootdown>>();
        let address = || (&raw const *cached.load()).addr();
        let first = address();
        cached.store(Object::new(2).0);
        assert_ne!(address(), first);
        cached.store(Object::new(3).0);
        assert_eq!(address(), first);
    });
}

/// The second store may put its value where the first one was, under a reader that still believes in that address.
pub(super) fn a_read_under_two_stores_of_one_thread<S: Revoking>() {
    read_under_two_stores_of_one_thread::<S>(false);
}

pub(super) fn a_read_of_what_was_read_before_under_two_stores_of_one_thread<S: Revoking>() {
    read_under_two_stores_of_one_thread::<S>(true);
}

fn read_under_two_stores_of_one_thread<S: Revoking>(has_read: bool) {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    if has_read {
        assert_eq!(read(&mut reader), 1);
    }
    let storing = store_twice(&cached);
    read(&mut reader);
    let [second, third] = storing.join().unwrap();
    if !has_read {
        assert_eq!(read(&mut reader), 3);
    }
    drop(reader);
    end(cached, &[first, second], &third);
}

pub(super) fn a_read_under_two_stores_of_two_threads<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    let (storing, second) = store(1, &cached, 2);
    let (storing_too, third) = store(2, &cached, 3);
    read(&mut reader);
    storing.join().unwrap();
    storing_too.join().unwrap();
    let (old, current) = if read(&mut reader) == 3 { (second, third) } else { (third, second) };
    drop(reader);
    end(cached, &[first, old], &current);
}

pub(super) fn a_reader_that_stores_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    assert_eq!(read(&mut reader), 1);
    let (storing, second) = store(1, &cached, 2);
    let (three, third) = Object::new(3);
    cached.store(three);
    let seen = read(&mut reader);
    assert!(seen != 1, "a read sees what was replaced before it began");
    storing.join().unwrap();
    let (old, current) = if read(&mut reader) == 3 { (second, third) } else { (third, second) };
    drop(reader);
    end(cached, &[first, old], &current);
}

/// The caller may look at what it replaced, whichever thread made it.
pub(super) fn a_replaced_value_kept_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let (storing, second) = store(1, &cached, 2);
    let (three, third) = Object::new(3);
    let replaced = cached.swap(three);
    let replaced_second = replaced.look() == 2;
    drop(replaced);
    storing.join().unwrap();
    let (old, current) = if replaced_second { (second, third) } else { (third, second) };
    end(cached, &[first, old], &current);
}

pub(super) fn an_update_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let (storing, second) = store(1, &cached, 10);
    let mut made = Vec::new();
    cached.rcu(|old| {
        let (object, fate) = Object::new(old.look() + 1);
        made.push(fate);
        object
    });
    storing.join().unwrap();
    let mut all = vec![first, second];
    all.append(&mut made);
    let current = match cached.load().look() {
        10 => 1,
        11 => all.len() - 1,
        other => panic!("an update lost a store: {other}"),
    };
    let current = all.swap_remove(current);
    end(cached, &all, &current);
}

pub(super) fn a_handle_under_a_store<S: Revoking>() {
    under_a_store::<S>(|cached| _ = cached.load_full().look());
}

pub(super) fn a_guard_upgraded_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let guard = cached.load();
    let (storing, second) = store(1, &cached, 2);
    let upgraded = RcuGuard::upgrade(&guard);
    drop(guard);
    if let Some(strong) = upgraded {
        assert_eq!(strong.look(), 1);
    }
    storing.join().unwrap();
    end(cached, &[first], &second);
}

pub(super) fn a_read_in_a_read_of_one_thread_under_a_store<S: Revoking>() {
    under_a_store::<S>(|cached| {
        let outer = cached.load();
        let inner = cached.load();
        assert!(outer.look() <= inner.look(), "a read sees an older value than the one before it");
        drop(outer);
        inner.look();
    });
}

pub(super) fn a_read_of_a_thread_without_a_number_under_a_store<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let nameless = {
        let cached = cached.clone();
        spawn(move || cached.load().look())
    };
    let (two, second) = Object::new(2);
    cached.store(two);
    nameless.join().unwrap();
    end(cached, &[first], &second);
}

/// An ending thread gives its number up and then drops a guard, while the next thread of that number reads by the same
/// slot, and the value is replaced.
pub(super) fn a_guard_that_outlives_its_threads_number_under_the_next_owner<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let is_given_up = Heap::new(<S::Memory as Memory>::AtomicU32::new(0));
    let ending = {
        let (cached, is_given_up) = (cached.clone(), is_given_up.clone());
        worker(1, move || {
            let guard = cached.load();
            clear_number();
            is_given_up.store(1, Ordering::Release);
            guard.look();
            drop(guard);
        })
    };
    let next = {
        let cached = cached.clone();
        spawn(move || {
            if is_given_up.load(Ordering::Acquire) == 1 {
                set_number(1);
                cached.load().look();
            }
        })
    };
    let (two, second) = Object::new(2);
    cached.store(two);
    ending.join().unwrap();
    next.join().unwrap();
    end(cached, &[first], &second);
}

/// As above, but the next owner finds the slot empty, as the last one left it. Only the word that says whether the slot
/// is in use tells it so: it replaces the value itself, after its read, so that no heavy barrier comes before, and a
/// light one does nothing.
///
/// Returns whether there was a next owner.
pub(super) fn a_place_left_by_a_guard_that_outlives_its_threads_number() -> bool {
    type Flag = <PointersInOrder as Memory>::AtomicU32;
    let (cached, first) = cached::<On<PointersInOrder, Shootdown>>();
    let is_given_up = Heap::new(Flag::new(0));
    let ending = {
        let (cached, is_given_up) = (cached.clone(), is_given_up.clone());
        worker(1, move || {
            let guard = cached.load();
            clear_number();
            is_given_up.store(1, Ordering::Release);
            drop(guard);
        })
    };
    let is_next = is_given_up.load(Ordering::Acquire) == 1;
    let mut fates = vec![first];
    if is_next {
        set_number(1);
        let guard = unfenced(|| cached.load());
        let (two, second) = Object::new(2);
        cached.store(two);
        fates.push(second);
        guard.look();
    }
    ending.join().unwrap();
    let current = fates.pop().unwrap();
    end(cached, &fates, &current);
    is_next
}

#[test]
fn a_place_that_its_last_owner_has_left_is_found_as_it_was_left() {
    ends_in_every_way(ALL, [false, true], a_place_left_by_a_guard_that_outlives_its_threads_number);
}

/// The reader then ends the value.
pub(super) fn the_last_handle_dropped_under_a_reader<S: Revoking>() {
    let (cached, first) = cached::<S>();
    let mut reader = cached.reader();
    let dropping = worker(1, move || drop(cached));
    read(&mut reader);
    drop(reader);
    dropping.join().unwrap();
    first.assert_gone();
}

tests! {
    a_read_is_seen_where_barriers_are_fences =>
        passes(Some(3), || fenced(two_reads_under_a_store::<On<PointersInOrder, Shootdown>>)),
        passes(Some(3), || fenced(a_read_of_what_was_read_before_under_a_store::<On<PointersInOrder, Shootdown>>)),
        passes(Some(3), || fenced(a_guard_dropped_under_a_store::<On<PointersInOrder, Shootdown>>));
}

/// On a machine with late flags, and on one where all is in order.
macro_rules! on_both_machines {
    ($($model:ident: $late:expr, $in_order:expr;)*) => {
        mod late {
            use super::*;
            tests! { $($model => passes($late, super::$model::<On<PointersInOrder, Shootdown>>);)* }
        }
        mod in_order {
            use super::*;
            tests! { $($model => passes($in_order, super::$model::<On<InOrder, Shootdown>>);)* }
        }
    };
}

on_both_machines! {
    a_first_read_under_a_store: Some(4), Some(4);
    two_reads_under_a_store: Some(3), Some(3);
    a_read_of_what_was_read_before_under_a_store: Some(4), Some(3);
    a_guard_held_across_a_store: ALL, ALL;
    a_guard_dropped_under_a_store: ALL, ALL;
    a_guard_held_across_a_store_of_its_own_under_a_read: Some(3), Some(3);
    a_reader_comes_under_a_store: slow(Some(3)), slow(Some(3));
    a_reader_goes_under_a_store: slow(ALL), Some(3);
    a_reader_takes_the_place_of_another_under_a_store: Some(1), Some(2);
    two_readers_under_a_store: Some(2), Some(2);
    a_read_under_two_stores_of_one_thread: Some(3), Some(3);
    a_read_of_what_was_read_before_under_two_stores_of_one_thread: Some(3), Some(3);
    a_read_under_two_stores_of_two_threads: slow(Some(2)), Some(2);
    a_reader_that_stores_under_a_store: slow(Some(2)), Some(2);
    a_replaced_value_kept_under_a_store: Some(3), Some(3);
    an_update_under_a_store: slow(Some(2)), Some(2);
    a_handle_under_a_store: Some(3), Some(3);
    a_guard_upgraded_under_a_store: Some(3), Some(3);
    a_read_in_a_read_of_one_thread_under_a_store: slow(Some(2)), Some(2);
    a_read_of_a_thread_without_a_number_under_a_store: slow(Some(3)), Some(3);
    a_guard_that_outlives_its_threads_number_under_the_next_owner: slow(Some(2)), Some(2);
    the_last_handle_dropped_under_a_reader: ALL, Some(3);
}
