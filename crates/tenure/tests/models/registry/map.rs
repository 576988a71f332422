//! [`LockFree`]: the map that ships, and its grace periods, in the smallest batches: what is removed is freed as soon as
//! the last visit that may have seen it is over.
//!
//! Elements are read plainly when they are found and written plainly when they are released, so loom demands that every look
//! at one comes after its insertion and before its release. What it is released to stays in [`quarantine`].

use super::super::memory::{Loom, seat};
use super::super::quarantine;
use super::super::stage::{JoinHandle, Preemptions, Value, join_all, passes, spawn};
use std::hash::{BuildHasher, Hasher};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use tenure::memory::Threads;
use tenure::registry::ground::{Element, Map};
use tenure::registry::{Link, LockFree};

/// Hashes a key to its tens: keys that differ in the last digit have one hash.
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

impl BuildHasher for Tens {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

/// A machine of these models.
pub(crate) trait Machine: Threads {
    /// Whether it does what it should.
    const IS_SOUND: bool = true;
}

impl Machine for Loom {}

pub(crate) struct Item<M: Threads> {
    link: Link<M>,
    key: u32,
    value: Value,
    /// How many were released.
    released: Arc<Mutex<u32>>,
}

// SAFETY: nobody writes the key.
unsafe impl<M: Threads> Element for Item<M> {
    type Key = u32;
    type Link = Link<M>;

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
    unsafe fn free(_: NonNull<Self>) {
        unreachable!("no count of these models asks for that");
    }
}

/// The map, and what the model knows of it.
pub(crate) struct Stage<M: Threads> {
    map: LockFree<Item<M>, Tens, M, 1>,
    released: Arc<Mutex<u32>>,
}

type Found<M> = Result<NonNull<Item<M>>, NonNull<Item<M>>>;

impl<M: Machine> Stage<M> {
    pub(crate) fn new() -> Arc<Self> {
        quarantine::keep();
        seat(0);
        let stage =
            Arc::new(Self { map: LockFree::new(Tens::default()), released: Arc::default() });
        if !M::IS_SOUND {
            // The end of a model that fails is not looked at.
            std::mem::forget(stage.clone());
        }
        stage
    }

    /// A new element of that key, or the one that is there.
    fn insert(&self, key: u32) -> Found<M> {
        let new = NonNull::from(Box::leak(Box::new(Item {
            link: Link::new(self.map.hash(&key)),
            key,
            value: Value::unborn(),
            released: self.released.clone(),
        })));
        // SAFETY: nobody else has it.
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

    /// Looks at the element of that key, if there is one.
    fn get(&self, key: u32) -> Option<NonNull<Item<M>>> {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        let found = self.map.find(&key, self.map.hash(&key), &guard)?;
        // SAFETY: the guard keeps it.
        assert_eq!(unsafe { found.as_ref() }.value.look(), key);
        Some(found)
    }

    /// Removes an element that nobody else frees.
    fn remove(&self, element: NonNull<Item<M>>) {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        // SAFETY: it was inserted, and the caller knows that it is not released.
        unsafe { self.map.remove(element, &guard) };
    }

    /// Removes the element of that key, if there is one. Another thread may be at it as well.
    fn find_and_remove(&self, key: u32) {
        // SAFETY: it goes no further than this function.
        let guard = unsafe { self.map.enter() };
        if let Some(found) = self.map.find(&key, self.map.hash(&key), &guard) {
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

    /// All is over: these are there, and each of all others was released, once.
    fn curtain(self: Arc<Self>, there: &[u32], inserted: u32) {
        assert_eq!(self.keys(), there, "an element is lost, or left");
        for &key in there {
            assert!(self.get(key).is_some(), "an element is not found");
        }
        if !M::IS_SOUND {
            return;
        }
        let released = self.released.clone();
        drop(Arc::into_inner(self).expect("all threads have ended"));
        assert_eq!(*released.lock().unwrap(), inserted, "an element leaks");
    }
}

fn thread<M: Machine>(
    number: usize,
    stage: &Arc<Stage<M>>,
    act: impl FnOnce(&Stage<M>) + 'static,
) -> JoinHandle<()> {
    let stage = stage.clone();
    spawn(move || {
        seat(number);
        act(&stage);
    })
}

/// Two insertions of one key ‖: one is in, and found by the other.
pub(crate) fn insertions_of_one_key<M: Machine>() {
    let stage = Stage::<M>::new();
    let other = {
        let stage = stage.clone();
        spawn(move || {
            seat(1);
            stage.insert(11).is_ok()
        })
    };
    let mine = stage.insert(11).is_ok();
    assert_ne!(mine, other.join().unwrap(), "a key is there twice, or not at all");
    stage.curtain(&[11], 1);
}

/// A lookup ‖ an insertion.
pub(crate) fn a_lookup_under_an_insertion<M: Machine>() {
    let stage = Stage::<M>::new();
    // Has the places there, which would pass on the element if they came with it.
    assert!(stage.get(11).is_none());
    let other = thread(1, &stage, |stage| _ = stage.get(11));
    stage.insert(11).unwrap();
    other.join().unwrap();
    stage.curtain(&[11], 1);
}

/// Lookups ‖ a removal: what is found is not released while it is looked at.
pub(crate) fn lookups_under_a_removal<M: Machine>(others: usize) {
    let stage = Stage::<M>::new();
    let element = stage.insert(11).unwrap();
    let others = Vec::from_iter((1..=others).map(|n| thread(n, &stage, |stage| _ = stage.get(11))));
    stage.remove(element);
    join_all(others);
    stage.curtain(&[], 1);
}

/// Two lookups, one after the other, ‖ a removal: who waits for the first may find the second in its place.
pub(crate) fn lookups_in_a_row_under_a_removal<M: Machine>() {
    let stage = Stage::<M>::new();
    let element = stage.insert(11).unwrap();
    let other = thread(1, &stage, |stage| {
        let _ = stage.get(11);
        let _ = stage.get(12);
    });
    stage.remove(element);
    other.join().unwrap();
    stage.curtain(&[], 1);
}

/// Two removals of one element ‖.
pub(crate) fn removals_of_one_element<M: Machine>() {
    let stage = Stage::<M>::new();
    let _ = stage.insert(11).unwrap();
    let other = thread(1, &stage, |stage| stage.find_and_remove(11));
    stage.find_and_remove(11);
    other.join().unwrap();
    stage.curtain(&[], 1);
}

/// Removals of neighbours ‖: each goes, and only they.
pub(crate) fn removals_of_neighbours<M: Machine>() {
    let stage = Stage::<M>::new();
    let [_, b, c, _] = [10, 11, 12, 13].map(|key| stage.insert(key).unwrap());
    let b = b.as_ptr().expose_provenance();
    let other = thread(1, &stage, move |stage| {
        stage.remove(NonNull::new(std::ptr::with_exposed_provenance_mut(b)).unwrap());
    });
    stage.remove(c);
    other.join().unwrap();
    stage.curtain(&[10, 13], 4);
}

/// An insertion behind an element ‖ that one's removal.
pub(crate) fn an_insertion_behind_a_removal<M: Machine>() {
    let stage = Stage::<M>::new();
    let element = stage.insert(10).unwrap();
    let other = thread(1, &stage, |stage| _ = stage.insert(11).unwrap());
    stage.remove(element);
    other.join().unwrap();
    stage.curtain(&[11], 2);
}

/// The next of a key ‖ the removal of the last one, by who wants to put the next in its place as well.
pub(crate) fn the_next_of_a_key<M: Machine>() {
    let stage = Stage::<M>::new();
    let element = stage.insert(11).unwrap();
    // Keeps the element, as the part that lives have in an entry does.
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

/// The map grows ‖ `act`: two threads divide the same bucket, in which the element is, and neither waits for the other.
pub(crate) fn growth_under<M: Machine>(act: fn(&Stage<M>), there: &'static [u32], inserted: u32) {
    let stage = Stage::<M>::new();
    stage.insert(30).unwrap();
    let other = thread(1, &stage, act);
    stage.map.fit(|| 2);
    let is_there = stage.get(30).is_some();
    assert!(is_there || !there.contains(&30), "an element is lost in growth");
    stage.insert(20).unwrap();
    other.join().unwrap();
    stage.curtain(there, inserted);
}

pub(crate) fn insert_31<M: Machine>(stage: &Stage<M>) {
    let _ = stage.insert(31).unwrap();
}

const TWO: Preemptions = Some(3);
const THREE: Preemptions = Some(2);

#[test]
fn of_two_insertions_of_a_key_one_finds_the_other() {
    passes(TWO, insertions_of_one_key::<Loom>);
}
#[test]
fn a_lookup_under_an_insertion_finds_the_whole_element_or_none() {
    passes(TWO, a_lookup_under_an_insertion::<Loom>);
}
#[test]
fn what_a_lookup_finds_is_not_released_before_it_is_over() {
    passes(TWO, || lookups_under_a_removal::<Loom>(1));
}
#[test]
fn what_two_lookups_find_is_not_released_before_they_are_over() {
    passes(THREE, || lookups_under_a_removal::<Loom>(2));
}
#[test]
fn what_one_lookup_after_the_other_finds_is_not_released_before_they_are_over() {
    passes(TWO, lookups_in_a_row_under_a_removal::<Loom>);
}
#[test]
fn an_element_that_two_remove_is_released_once() {
    passes(TWO, removals_of_one_element::<Loom>);
}
#[test]
fn neighbours_that_are_removed_at_once_both_go() {
    passes(TWO, removals_of_neighbours::<Loom>);
}
#[test]
fn an_insertion_behind_an_element_that_goes_is_not_lost() {
    passes(TWO, an_insertion_behind_a_removal::<Loom>);
}
#[test]
fn a_removal_leaves_the_next_of_the_key() {
    passes(TWO, the_next_of_a_key::<Loom>);
}
#[test]
fn growth_loses_nothing_that_is_inserted_meanwhile() {
    passes(TWO, || growth_under::<Loom>(insert_31, &[20, 30, 31], 3));
}
#[test]
fn growth_releases_what_is_removed_meanwhile() {
    passes(TWO, || growth_under::<Loom>(|stage| stage.find_and_remove(30), &[20], 2));
}
