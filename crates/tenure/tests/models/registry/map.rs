//! [`Map`]: the map that ships, and its grace periods, in batches of one: an element is released as soon as the last
//! read section that may have seen it is over.
//!
//! Finding an element reads it plainly, releasing it writes it plainly, so loom demands that every look comes after its
//! insertion and before its release. Released elements stay in [`quarantine`].

use super::super::memory::{Loom, end_at_failure, set_number, unfenced};
use super::super::quarantine;
use super::super::stage::{JoinHandle, Preemptions, Value, join_all, passes, spawn};
use std::hash::{BuildHasherDefault, Hasher};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tenure::registry::generic::{self as parts, Link, Map, order_of};

/// Keys that differ in the last digit have one hash.
#[derive(Default)]
pub(crate) struct Tens(u64);

impl Hasher for Tens {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are integers");
    }
    fn write_u32(&mut self, key: u32) {
        self.0 = u64::from(key / 10);
    }
}

fn order(key: u32) -> u64 {
    order_of(&BuildHasherDefault::<Tens>::default(), &key)
}

pub(crate) struct Item {
    link: Link<Loom>,
    key: u32,
    value: Value,
    /// How many were released.
    released: Arc<Mutex<u32>>,
}

// SAFETY: the key is never written.
unsafe impl parts::Element for Item {
    type Key = u32;
    type Memory = Loom;

    const LINK: usize = std::mem::offset_of!(Self, link);

    fn key(&self) -> &u32 {
        &self.key
    }
    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: made by `insert`, and not released before.
        let item = unsafe { Box::from_raw(this.as_ptr()) };
        *item.released.lock().unwrap() += 1;
        item.value.destroy();
    }
}

pub(crate) struct Stage {
    /// Left alone where a model fails.
    map: ManuallyDrop<Map<Item>>,
    released: Arc<Mutex<u32>>,
}

type Found = Result<NonNull<Item>, NonNull<Item>>;

impl Stage {
    pub(crate) fn new() -> Rc<Self> {
        Self::with_buckets(1)
    }

    fn with_buckets(size: u32) -> Rc<Self> {
        quarantine::keep();
        end_at_failure();
        set_number(0);
        Rc::new(Self { map: ManuallyDrop::new(Map::new(size, 1)), released: Arc::default() })
    }

    fn insert(&self, key: u32) -> Found {
        let new = NonNull::from(Box::leak(Box::new(Item {
            link: Link::new(order(key)),
            key,
            value: Value::unborn(),
            released: self.released.clone(),
        })));
        // SAFETY: no other thread has it.
        unsafe { new.as_ref() }.value.write(key);
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        // SAFETY: it is in no map.
        match unsafe { self.map.insert(new, &guard) } {
            Ok(()) => Ok(new),
            Err(found) => {
                // SAFETY: the guard keeps it.
                assert_eq!(unsafe { found.as_ref() }.value.look(), key);
                // SAFETY: made above, and in no map.
                drop(unsafe { Box::from_raw(new.as_ptr()) });
                Err(found)
            }
        }
    }

    fn get(&self, key: u32) -> Option<NonNull<Item>> {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        let found = self.map.find(&key, order(key), &guard)?;
        // SAFETY: the guard keeps it.
        assert_eq!(unsafe { found.as_ref() }.value.look(), key);
        Some(found)
    }

    /// Removes an element that no other thread frees.
    fn remove(&self, element: NonNull<Item>) {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        // SAFETY: it was inserted, and the caller knows that it is not released.
        unsafe { self.map.remove(element, &guard) };
    }

    /// Removes the element of that key, if there is one. Another thread may remove it too.
    fn find_and_remove(&self, key: u32) {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        if let Some(found) = self.map.find(&key, order(key), &guard) {
            // SAFETY: the guard keeps it.
            unsafe { self.map.remove(found, &guard) };
        }
    }

    fn keys(&self) -> Vec<u32> {
        let mut keys = Vec::new();
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        self.map.for_each(&guard, |found| {
            // SAFETY: the guard keeps it.
            keys.push(unsafe { found.as_ref() }.value.look());
        });
        drop(guard);
        keys.sort_unstable();
        keys
    }

    /// All is over: these keys are there, and each other element was released, once.
    fn curtain(self: Rc<Self>, there: &[u32], inserted: u32) {
        assert_eq!(self.keys(), there, "an element is lost, or left");
        for &key in there {
            assert!(self.get(key).is_some(), "an element is not found");
        }
        let Self { map, released } = Rc::into_inner(self).expect("all threads have ended");
        drop(ManuallyDrop::into_inner(map));
        assert_eq!(*released.lock().unwrap(), inserted, "an element leaks");
    }
}

fn thread(number: usize, stage: &Rc<Stage>, act: impl FnOnce(&Stage) + 'static) -> JoinHandle<()> {
    let stage = stage.clone();
    spawn(move || {
        set_number(number);
        act(&stage);
    })
}

/// One is in, and found by the other.
pub(crate) fn insertions_of_one_key(in_front: InFront) {
    let stage = Stage::new();
    let first = in_front.insert(&stage);
    let other = {
        let stage = stage.clone();
        spawn(move || {
            set_number(1);
            stage.insert(11).is_ok()
        })
    };
    let mine = stage.insert(11).is_ok();
    assert_ne!(mine, other.join().unwrap(), "a key is there twice, or not at all");
    in_front.curtain(first, stage);
}

/// What is in front of an inserted element.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum InFront {
    Bucket,
    Element,
    /// An element, which is removed after the insertion.
    Removed,
}

impl InFront {
    fn insert(self, stage: &Stage) -> Option<NonNull<Item>> {
        // Allocates the thread's place, which would otherwise pass on the element.
        assert!(stage.get(11).is_none());
        (self != Self::Bucket).then(|| stage.insert(10).unwrap())
    }

    fn curtain(self, first: Option<NonNull<Item>>, stage: Rc<Stage>) {
        let there: &[u32] = if self == Self::Element { &[10, 11] } else { &[11] };
        stage.curtain(there, 1 + u32::from(first.is_some()));
    }
}

pub(crate) fn a_look_under_an_insertion(look: fn(&Stage), in_front: InFront) {
    let stage = Stage::new();
    let first = in_front.insert(&stage);
    let other = thread(1, &stage, look);
    // A fence would release the element. The other thread frees nothing, so this one needs no light barrier.
    unfenced(|| {
        stage.insert(11).unwrap();
        if in_front == InFront::Removed {
            stage.remove(first.expect("it was inserted"));
        }
    });
    other.join().unwrap();
    in_front.curtain(first, stage);
}

/// What is found is not released while it is looked at.
pub(crate) fn lookups_under_a_removal(others: usize) {
    let stage = Stage::new();
    let element = stage.insert(11).unwrap();
    let others = Vec::from_iter((1..=others).map(|n| thread(n, &stage, |stage| _ = stage.get(11))));
    stage.remove(element);
    join_all(others);
    stage.curtain(&[], 1);
}

/// A lookup and another read section of one thread ‖ a removal: a thread that waits for the end of the first section
/// may find any store of the second in its place.
pub(crate) fn sections_in_a_row_under_a_removal(second: fn(&Stage)) {
    let stage = Stage::with_buckets(2);
    let element = stage.insert(11).unwrap();
    for key in [25, 40] {
        let _ = stage.insert(key).unwrap();
    }
    let other = thread(1, &stage, move |stage| {
        let _ = stage.get(11);
        second(stage);
    });
    stage.remove(element);
    other.join().unwrap();
    stage.find_and_remove(25);
    stage.curtain(&[40], 3);
}

// A fence of the second section would pass on the reads of the first. These stay in another bucket than 11, in front of
// 40.

pub(crate) fn get_nested(stage: &Stage) {
    unfenced(|| {
        // SAFETY: it goes no further than this function.
        let _outer = unsafe { stage.map.enter() };
        let _ = stage.get(25);
    });
}

pub(crate) fn remove_25(stage: &Stage) {
    unfenced(|| stage.find_and_remove(25));
}

pub(crate) fn get_11(stage: &Stage) {
    let _ = stage.get(11);
}

pub(crate) fn get_12(stage: &Stage) {
    let _ = stage.get(12);
}

pub(crate) fn all_keys(stage: &Stage) {
    let _ = stage.keys();
}

pub(crate) fn removals_of_one_element() {
    let stage = Stage::new();
    let _ = stage.insert(11).unwrap();
    let other = thread(1, &stage, |stage| stage.find_and_remove(11));
    stage.find_and_remove(11);
    other.join().unwrap();
    stage.curtain(&[], 1);
}

pub(crate) fn removals_of_neighbours() {
    let stage = Stage::new();
    let [_, b, c, _] = [10, 11, 12, 13].map(|key| stage.insert(key).unwrap());
    let b = b.as_ptr().expose_provenance();
    let other = thread(1, &stage, move |stage| {
        stage.remove(NonNull::new(std::ptr::with_exposed_provenance_mut(b)).unwrap());
    });
    stage.remove(c);
    other.join().unwrap();
    stage.curtain(&[10, 13], 4);
}

pub(crate) fn an_insertion_behind_a_removal() {
    let stage = Stage::new();
    let element = stage.insert(10).unwrap();
    let other = thread(1, &stage, |stage| _ = stage.insert(11).unwrap());
    stage.remove(element);
    other.join().unwrap();
    stage.curtain(&[11], 2);
}

/// The next of a key ‖ the removal of the last one, also by the thread that inserts the next.
pub(crate) fn the_next_of_a_key() {
    let stage = Stage::new();
    let element = stage.insert(11).unwrap();
    // Keeps the element, as references keep an entry.
    // SAFETY: it goes no further than this function.
    let guard = unsafe { stage.map.enter() };
    let other = thread(1, &stage, |stage| {
        stage.find_and_remove(11);
        stage.insert(11).unwrap();
        assert!(stage.get(11).is_some(), "an element was removed for another one of its key");
    });
    // SAFETY: the guard keeps it.
    unsafe { stage.map.remove(element, &guard) };
    drop(guard);
    other.join().unwrap();
    stage.curtain(&[11], 2);
}

/// The map grows ‖ `act`: both split the bucket which the element is in, and neither waits for the other.
pub(crate) fn growth_under(act: fn(&Stage), there: &'static [u32], inserted: u32) {
    let stage = Stage::new();
    stage.insert(30).unwrap();
    let other = thread(1, &stage, act);
    stage.map.fit(|| 2);
    let insert_20 = || {
        // Twice: loom tries the second load of a bucket's state also where the first one was too early.
        for _ in 0..2 {
            let is_there = stage.get(30).is_some();
            assert!(is_there || !there.contains(&30), "an element is lost in growth");
        }
        stage.insert(20).unwrap();
    };
    // As above, if nothing is removed.
    if there.contains(&30) {
        unfenced(insert_20);
    } else {
        insert_20();
    }
    other.join().unwrap();
    stage.curtain(there, inserted);
}

pub(crate) fn insert_31(stage: &Stage) {
    let _ = unfenced(|| stage.insert(31)).unwrap();
}

use InFront::{Bucket, Element, Removed};

const TWO: Preemptions = Some(3);
const THREE: Preemptions = Some(2);

tests! {
    of_two_insertions_of_a_key_one_finds_the_other =>
        passes(TWO, || insertions_of_one_key(Bucket)),
        passes(TWO, || insertions_of_one_key(Element));
    a_look_under_an_insertion_finds_the_whole_element_or_none =>
        for in_front in [Bucket, Element, Removed] {
            for look in [get_11, all_keys] {
                passes(TWO, move || a_look_under_an_insertion(look, in_front));
            }
        };
    what_a_lookup_finds_is_not_released_before_it_is_over =>
        passes(TWO, || lookups_under_a_removal(1));
    what_two_lookups_find_is_not_released_before_they_are_over =>
        passes(THREE, || lookups_under_a_removal(2));
    what_a_lookup_finds_is_released_at_the_latest_after_the_next_one =>
        for second in [get_12, get_nested, remove_25] {
            passes(TWO, move || sections_in_a_row_under_a_removal(second));
        };
    an_element_that_two_remove_is_released_once => passes(TWO, removals_of_one_element);
    neighbours_that_are_removed_at_once_both_go => passes(TWO, removals_of_neighbours);
    an_insertion_behind_an_element_that_goes_is_not_lost =>
        passes(TWO, an_insertion_behind_a_removal);
    a_removal_leaves_the_next_of_the_key => passes(TWO, the_next_of_a_key);
    growth_loses_nothing_that_is_inserted_meanwhile =>
        passes(TWO, || growth_under(insert_31, &[20, 30, 31], 3));
    growth_releases_what_is_removed_meanwhile =>
        passes(TWO, || growth_under(|stage| stage.find_and_remove(30), &[20], 2));
}
