//! The map that ships on machines that do not what they should: one for each ordering and barrier that it asks for. And its
//! list in the smallest form, with a switch for each rule.

use super::super::memory::Loom;
use super::super::registry::map::{self as models, Machine};
use super::super::stage::Failure::{Claim, MemoryRace, ValueRace};
use super::super::stage::{Value, fails, passes, spawn};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Weak};
use tenure::memory::{Atomic, Memory, Ordering, Pointer, Resident, Threads};

/// What is wrong with a machine.
trait Flaw: Sized + 'static {
    /// What an ordering that publishes a link becomes.
    const LINKS: Ordering = Ordering::Release;
    /// What says that a bucket is ready.
    const BUCKETS: Ordering = Ordering::Release;
    /// What a visit begins with.
    const ENTRIES: Ordering = Ordering::Release;
    /// What a visit ends with.
    const EXITS: Ordering = Ordering::Release;
    const LIGHT_BARRIERS: bool = true;
    const HEAVY_BARRIERS: bool = true;
}

enum Sound {}
impl Flaw for Sound {}

// A fence of loom's releases what is stored after it, which hides the flaw. Nobody removes anything in these models, so no
// barrier is needed.
enum RelaxedLinks {}
impl Flaw for RelaxedLinks {
    const LINKS: Ordering = Ordering::Relaxed;
    const LIGHT_BARRIERS: bool = false;
}

enum RelaxedBuckets {}
impl Flaw for RelaxedBuckets {
    const BUCKETS: Ordering = Ordering::Relaxed;
    const LIGHT_BARRIERS: bool = false;
}

enum RelaxedEntries {}
impl Flaw for RelaxedEntries {
    const ENTRIES: Ordering = Ordering::Relaxed;
}

enum RelaxedExits {}
impl Flaw for RelaxedExits {
    const EXITS: Ordering = Ordering::Relaxed;
}

enum NoLightBarriers {}
impl Flaw for NoLightBarriers {
    const LIGHT_BARRIERS: bool = false;
}

enum NoHeavyBarriers {}
impl Flaw for NoHeavyBarriers {
    const HEAVY_BARRIERS: bool = false;
}

/// [`Loom`] with a flaw. A model that has failed unwinds through its words, which do nothing then.
struct Careless<F>(PhantomData<F>);

impl<F: Flaw> Machine for Careless<F> {
    const IS_SOUND: bool = false;
}

struct Word<A, F>(A, PhantomData<fn() -> F>);

fn is_over() -> bool {
    std::thread::panicking()
}

/// `order`, or what the flaw makes of Release.
fn weakened(order: Ordering, release: Ordering) -> Ordering {
    if order == Ordering::Release { release } else { order }
}

macro_rules! word {
    ($int:ty, $word:ident, $stored:expr) => {
        impl<F: Flaw> Atomic<$int> for Word<<Loom as Memory>::$word, F> {
            fn new(value: $int) -> Self {
                Self(Atomic::new(value), PhantomData)
            }
            fn load(&self, order: Ordering) -> $int {
                if is_over() { 1 } else { self.0.load(order) }
            }
            fn store(&self, value: $int, order: Ordering) {
                if !is_over() {
                    let release: fn($int) -> Ordering = $stored;
                    self.0.store(value, weakened(order, release(value)));
                }
            }
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                if is_over() { 1 } else { self.0.fetch_add(value, order) }
            }
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                if is_over() { 1 } else { self.0.fetch_sub(value, order) }
            }
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                if is_over() { 1 } else { self.0.fetch_or(value, order) }
            }
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                if is_over() {
                    return Ok(current);
                }
                self.0.compare_exchange(current, new, success, failure)
            }
            fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}

word!(u32, AtomicU32, |_| F::BUCKETS);
// A word of a place: how often its thread is inside is in the lower bits.
word!(u64, AtomicU64, |word| if word as u16 == 0 { F::EXITS } else { F::ENTRIES });

impl<T, F: Flaw> Pointer<T> for Word<<Loom as Memory>::Pointer<T>, F> {
    fn new(value: *mut T) -> Self {
        Self(Pointer::<T>::new(value), PhantomData)
    }
    fn load(&self, order: Ordering) -> *mut T {
        if is_over() { ptr::null_mut() } else { Pointer::<T>::load(&self.0, order) }
    }
    fn store(&self, value: *mut T, order: Ordering) {
        if !is_over() {
            self.0.store(value, order);
        }
    }
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        if is_over() {
            return Ok(current);
        }
        // Segments are published with what the flaw leaves alone.
        let is_link = failure == Ordering::Relaxed;
        let success = if is_link { weakened(success, F::LINKS) } else { success };
        self.0.compare_exchange(current, new, success, failure)
    }
}

// SAFETY: none: that is what the models are to find out.
unsafe impl<F: Flaw> Memory for Careless<F> {
    type AtomicU32 = Word<<Loom as Memory>::AtomicU32, F>;
    type AtomicU64 = Word<<Loom as Memory>::AtomicU64, F>;
    type Pointer<T> = Word<<Loom as Memory>::Pointer<T>, F>;
    type Plain<T> = <Loom as Memory>::Plain<T>;

    fn light_barrier() {
        if F::LIGHT_BARRIERS {
            <Loom as Memory>::light_barrier();
        }
    }
    fn heavy_barrier() {
        if F::HEAVY_BARRIERS {
            <Loom as Memory>::heavy_barrier();
        }
    }
    fn spin_hint() {
        <Loom as Memory>::spin_hint();
    }
}

// SAFETY: loom's threads.
unsafe impl<F: Flaw> Threads for Careless<F> {
    fn thread() -> Option<usize> {
        <Loom as Threads>::thread()
    }
    fn is_lost(thread: usize) -> bool {
        <Loom as Threads>::is_lost(thread)
    }
    fn yield_now() {
        <Loom as Threads>::yield_now();
    }
    fn at_exit(resident: Weak<dyn Resident>) {
        <Loom as Threads>::at_exit(resident);
    }
}

#[test]
fn the_machine_without_a_flaw_passes() {
    passes(Some(2), models::a_lookup_under_an_insertion::<Careless<Sound>>);
    passes(Some(2), || models::lookups_under_a_removal::<Careless<Sound>>(1));
    passes(Some(2), growth::<Sound>);
    passes(Some(2), models::a_lookup_under_an_insertion::<Careless<NoLightBarriers>>);
    passes(Some(2), growth::<NoLightBarriers>);
}

fn growth<F: Flaw>() {
    models::growth_under::<Careless<F>>(models::insert_31, &[20, 30, 31], 3);
}

#[test]
fn an_element_that_is_published_relaxed_is_found_before_it_is_whole() {
    fails(Some(2), MemoryRace, models::a_lookup_under_an_insertion::<Careless<RelaxedLinks>>);
}

#[test]
fn a_bucket_that_is_said_to_be_ready_relaxed_leads_nowhere() {
    fails(Some(3), Claim("an element is lost"), growth::<RelaxedBuckets>);
}

#[test]
fn a_visit_that_ends_relaxed_is_not_waited_for() {
    fails(Some(2), ValueRace, || models::lookups_under_a_removal::<Careless<RelaxedExits>>(1));
}

#[test]
fn a_visit_that_begins_relaxed_hides_the_end_of_the_one_before() {
    fails(Some(3), ValueRace, models::lookups_in_a_row_under_a_removal::<Careless<RelaxedEntries>>);
}

#[test]
fn without_light_barriers_what_a_lookup_finds_is_released() {
    fails(Some(2), MemoryRace, || models::lookups_under_a_removal::<Careless<NoLightBarriers>>(1));
}

#[test]
fn without_heavy_barriers_what_a_lookup_finds_is_released() {
    fails(Some(2), MemoryRace, || models::lookups_under_a_removal::<Careless<NoHeavyBarriers>>(1));
}

// --- the list in its smallest form ---

/// What is wrong with a list. The defaults are right.
trait ListFlaw: 'static {
    /// Whether what is removed is marked before it is taken out.
    const MARKS: bool = true;
    /// Whether who takes out a link retires it, or who has marked it and who takes it out.
    const RETIRED_BY_ONE: bool = true;
}

enum SoundList {}
impl ListFlaw for SoundList {}

enum Unmarked {}
impl ListFlaw for Unmarked {
    const MARKS: bool = false;
}

enum RetiredByBoth {}
impl ListFlaw for RetiredByBoth {
    const RETIRED_BY_ONE: bool = false;
}

/// A link. The first of a list has nothing in it.
struct Node {
    next: <Loom as Memory>::Pointer<Node>,
    key: u32,
    retired: Value,
}

struct List<F>(Box<Node>, PhantomData<fn() -> F>);

const REMOVED: usize = 1;

impl Node {
    fn new(key: u32) -> Box<Self> {
        Box::new(Self { next: Pointer::<Self>::new(ptr::null_mut()), key, retired: Value::new(1) })
    }

    fn next(&self) -> *mut Self {
        Pointer::<Self>::load(&self.next, Ordering::Acquire)
    }

    fn exchange(&self, current: *mut Self, new: *mut Self) -> bool {
        self.next.compare_exchange(current, new, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    fn is_removed(next: *mut Self) -> bool {
        next.addr() & REMOVED != 0
    }
}

impl<F: ListFlaw> List<F> {
    /// Nodes are not freed before the end of the execution: there are no grace periods here.
    fn with(keys: &[u32]) -> (Arc<Self>, Vec<NonNull<Node>>) {
        let list = Arc::new(Self(Node::new(0), PhantomData));
        let nodes = keys.iter().map(|key| list.insert(*key)).collect();
        // What is left of a model that fails is not looked at.
        std::mem::forget(list.clone());
        (list, nodes)
    }

    /// Who is before the first link that comes after that key, and that link. Takes out what is removed.
    fn search(&self, key: u32) -> (&Node, *mut Node) {
        'again: loop {
            let mut before = &*self.0;
            let mut at = before.next();
            // SAFETY: nodes are not freed.
            while let Some(link) = unsafe { at.as_ref() } {
                let next = link.next();
                if Node::is_removed(next) {
                    let next = next.map_addr(|address| address & !REMOVED);
                    if !before.exchange(at, next) {
                        continue 'again;
                    }
                    link.retired.destroy();
                    at = next;
                } else if link.key > key {
                    break;
                } else {
                    (before, at) = (link, next);
                }
            }
            return (before, at);
        }
    }

    fn insert(&self, key: u32) -> NonNull<Node> {
        let node = Box::leak(Node::new(key));
        loop {
            let (before, at) = self.search(key);
            node.next.store(at, Ordering::Relaxed);
            if before.exchange(at, node) {
                return NonNull::from(node);
            }
        }
    }

    fn remove(&self, node: NonNull<Node>) {
        // SAFETY: nodes are not freed.
        let node = unsafe { node.as_ref() };
        let key = node.key;
        if F::MARKS {
            loop {
                let next = node.next();
                if Node::is_removed(next) {
                    return;
                }
                if node.exchange(next, next.map_addr(|address| address | REMOVED)) {
                    break;
                }
            }
            if !F::RETIRED_BY_ONE {
                node.retired.destroy();
            }
            self.search(key);
        } else {
            loop {
                let (before, _) = self.search(key - 1);
                if before.exchange(ptr::from_ref(node).cast_mut(), node.next()) {
                    return node.retired.destroy();
                }
            }
        }
    }

    fn keys(&self) -> Vec<u32> {
        // SAFETY: nodes are not freed.
        let behind = |node: &Node| unsafe { node.next().as_ref() };
        std::iter::successors(behind(&self.0), |node| behind(node)).map(|node| node.key).collect()
    }
}

/// An insertion behind an element ‖ that one's removal.
fn an_insertion_behind_a_removal<F: ListFlaw>() {
    let (list, nodes) = List::<F>::with(&[10]);
    let other = {
        let list = list.clone();
        spawn(move || _ = list.insert(11))
    };
    list.remove(nodes[0]);
    other.join().unwrap();
    assert_eq!(list.keys(), [11], "an element is lost, or left");
}

#[test]
fn the_sound_copy_of_a_list_passes() {
    passes(Some(3), an_insertion_behind_a_removal::<SoundList>);
}

#[test]
fn without_a_mark_what_is_inserted_behind_an_element_that_goes_is_lost() {
    fails(Some(2), Claim("an element is lost"), an_insertion_behind_a_removal::<Unmarked>);
}

#[test]
fn an_element_that_two_retire_is_released_twice() {
    fails(Some(2), Claim("a holder sees no value"), an_insertion_behind_a_removal::<RetiredByBoth>);
}
