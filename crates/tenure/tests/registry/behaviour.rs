//! One thread.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex};
use tenure::cache_line::CachePadded;
use tenure::count::generic::{IncNotZero, RcuRef, TicketRef};
use tenure::registry::generic::{Registered, Registry, RegistryCount};

/// Runs the body for every count, on and off the line of the value.
macro_rules! for_all_counts {
    ($($(#[$attribute:meta])* fn $name:ident<$count:ident>() $body:block)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            fn with<$count: RegistryCount>() $body
            with::<TicketRef>();
            with::<RcuRef>();
            with::<IncNotZero>();
            with::<CachePadded<TicketRef>>();
            with::<CachePadded<RcuRef>>();
            with::<CachePadded<IncNotZero>>();
        }
    )*};
}

pub(crate) type Objects<V, C> = Registry<String, V, C>;

pub(crate) struct Mourned(pub(crate) &'static str, pub(crate) Arc<Mutex<Vec<&'static str>>>);

impl Drop for Mourned {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

/// Compared with itself alone.
#[derive(Clone)]
struct Alone(u32);

impl Hash for Alone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Alone {
    fn eq(&self, other: &Self) -> bool {
        assert_eq!(self.0, other.0, "keys of two hashes are compared");
        true
    }
}

impl Eq for Alone {}

#[test]
fn keys_are_compared_only_if_their_hashes_are_one() {
    let objects: Registry<Alone, u32> = Registry::new();
    let held = Vec::from_iter((0..100).map(|key| objects.acquire(&Alone(key), || key)));
    for key in 0..200 {
        let found = objects.get(&Alone(key)).map(|found| *found);
        assert_eq!(found, (key < 100).then_some(key));
    }
    drop(held);
}

for_all_counts! {
    fn an_object_is_created_once_and_destroyed_with_its_last_reference<C>() {
        let objects = Objects::<Mourned, C>::default();
        let dead = Arc::new(Mutex::new(Vec::new()));
        let first = objects.acquire("a", || Mourned("a", dead.clone()));
        let second = objects.acquire("a", || unreachable!("it is there"));
        let third = objects.get("a").unwrap();
        assert!(Registered::ptr_eq(&first, &second) && Registered::ptr_eq(&first, &third));
        let other = objects.acquire("b", || Mourned("b", Arc::default()));
        assert!(!Registered::ptr_eq(&first, &other) && !objects.is_empty());
        drop(other);
        assert_eq!((Registered::count(&first), objects.len(), Registered::key(&first).as_str()), (3, 1, "a"));
        drop((first, second));
        assert!(dead.lock().unwrap().is_empty());
        drop(third);
        assert_eq!(*dead.lock().unwrap(), ["a"]);
        assert!(objects.is_empty() && objects.get("a").is_none());
    }

    fn the_next_object_of_a_key_is_another_one<C>() {
        let objects = Objects::<u32, C>::default();
        for number in 0..200 {
            assert_eq!(*objects.acquire("a", || number), number);
        }
        let statistics = objects.stats();
        assert_eq!((statistics.created, statistics.destroyed), (200, 200));
    }

    fn references_outlive_the_registry<C>() {
        let objects = Objects::<String, C>::default();
        let kept = objects.acquire("a", || "still here".to_owned());
        let other = objects.clone().acquire("b", || "here too".to_owned());
        drop(objects);
        assert_eq!((kept.as_str(), other.as_str()), ("still here", "here too"));
        let again = kept.clone();
        drop((kept, other));
        assert_eq!(*again, "still here");
    }

    fn a_create_that_fails_leaves_nothing_behind<C>() {
        let objects = Objects::<u32, C>::default();
        assert_eq!(objects.try_acquire("a", || Err("no")).unwrap_err(), "no");
        assert!(catch_unwind(AssertUnwindSafe(|| objects.acquire("a", || panic!("no")))).is_err());
        assert!(objects.is_empty() && objects.get("a").is_none() && objects.snapshot().is_empty());
        assert_eq!(*objects.try_acquire("a", || Ok::<_, ()>(7)).unwrap(), 7);
        let statistics = objects.stats();
        assert_eq!((statistics.created, statistics.destroyed, statistics.failed), (1, 1, 2));
    }

    fn a_destructor_that_panics_leaves_the_registry_in_order<C>() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("in a destructor");
            }
        }
        let objects = Objects::<Option<Panics>, C>::default();
        let object = objects.acquire("a", || Some(Panics));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(object))).is_err());
        assert!(objects.get("a").is_none() && objects.is_empty());
        assert!(objects.acquire("a", || None).is_none());
    }

    fn a_snapshot_has_what_is_there_and_keeps_it<C>() {
        let objects = Objects::<u32, C>::default();
        let held = Vec::from_iter((0..100).map(|n| objects.acquire(&n.to_string(), || n)));
        drop(objects.acquire("gone", || 1_000));
        let seen = objects.snapshot();
        let mut values = Vec::from_iter(seen.iter().map(|object| **object));
        values.sort_unstable();
        assert_eq!(values, Vec::from_iter(0..100));
        drop(held);
        assert_eq!(objects.len(), 100);
        drop(seen);
        assert!(objects.is_empty());
    }

    fn create_and_destructors_may_use_the_registry<C>() {
        struct Node<C: RegistryCount> {
            next: Cell<Option<Registered<String, Locked<C>, C>>>,
            objects: Objects<Locked<C>, C>,
        }
        // A cell behind a mutex is `Sync`.
        struct Locked<C: RegistryCount>(Mutex<Node<C>>);
        impl<C: RegistryCount> Drop for Node<C> {
            fn drop(&mut self) {
                assert!(self.objects.get("outer").is_none(), "it has left already");
                drop(self.next.take());
            }
        }
        fn node<C: RegistryCount>(
            objects: &Objects<Locked<C>, C>,
            next: Option<Registered<String, Locked<C>, C>>,
        ) -> Locked<C> {
            Locked(Mutex::new(Node { next: Cell::new(next), objects: objects.clone() }))
        }

        let objects = Objects::<Locked<C>, C>::default();
        let outer = objects.acquire("outer", || {
            let inner = objects.acquire("inner", || node(&objects, None));
            assert!(objects.get("outer").is_none(), "it is not there yet");
            assert_eq!((objects.len(), objects.snapshot().len()), (1, 1));
            node(&objects, Some(inner))
        });
        assert_eq!(objects.len(), 2);
        assert!(outer.0.lock().is_ok());
        drop(outer);
        assert!(objects.is_empty());
    }
}

#[test]
fn a_create_that_acquires_its_own_key_panics_instead_of_waiting_for_itself() {
    let objects: Registry<u32, u32> = Registry::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        objects.acquire(&1, || *objects.acquire(&1, || 2));
    }));
    assert!(outcome.unwrap_err().downcast_ref::<&str>().unwrap().contains("wait for itself"));
    assert!(objects.is_empty());
    assert_eq!(*objects.acquire(&1, || 3), 3);
}

#[test]
fn a_comparison_that_panics_leaves_the_registry_in_order() {
    #[derive(Clone)]
    struct Loud(u32);
    impl std::hash::Hash for Loud {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    thread_local!(static PANICS: Cell<bool> = const { Cell::new(false) });
    impl PartialEq for Loud {
        fn eq(&self, other: &Self) -> bool {
            assert!(!PANICS.get(), "the comparison panics");
            self.0 == other.0
        }
    }
    impl Eq for Loud {}
    let objects: Registry<Loud, u32> = Registry::new();
    let held = objects.acquire(&Loud(1), || 1);
    PANICS.set(true);
    let get = || objects.get(&Loud(1)).is_some();
    assert!(catch_unwind(AssertUnwindSafe(get)).is_err());
    let acquire = || drop(objects.acquire(&Loud(1), || 2));
    assert!(catch_unwind(AssertUnwindSafe(acquire)).is_err());
    PANICS.set(false);
    assert!(Registered::ptr_eq(&held, &objects.acquire(&Loud(1), || 3)));
    drop(held);
    assert!(objects.is_empty() && objects.get(&Loud(1)).is_none());
}

/// Keys that look themselves up when they are compared.
#[derive(Clone)]
struct Nested;

impl Hash for Nested {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

static NESTED: LazyLock<Registry<Nested, u32>> = LazyLock::new(Registry::new);

thread_local! {
    /// How many comparisons may still begin a lookup.
    static LOOKUPS: Cell<u32> = const { Cell::new(0) };
}

impl PartialEq for Nested {
    fn eq(&self, _: &Self) -> bool {
        if let Some(fewer) = LOOKUPS.get().checked_sub(1) {
            LOOKUPS.set(fewer);
            return NESTED.get(self).is_some();
        }
        true
    }
}

impl Eq for Nested {}

#[test]
#[cfg_attr(miri, ignore = "takes long")]
fn lookups_that_nest_too_deep_are_refused_and_leave_the_registry_in_order() {
    const NESTS: u32 = 16_383;
    const STACK: usize = 256 << 20;
    let object = NESTED.acquire(&Nested, || 7);
    let deep = || {
        LOOKUPS.set(NESTS - 1);
        assert!(NESTED.get(&Nested).is_some(), "lookups that are not too many are refused");
        LOOKUPS.set(2 * NESTS);
        assert!(catch_unwind(|| NESTED.get(&Nested)).is_err(), "lookups are not refused");
        assert_eq!(LOOKUPS.take(), NESTS);
        assert_eq!(*NESTED.get(&Nested).unwrap(), 7);
    };
    std::thread::Builder::new().stack_size(STACK).spawn(deep).unwrap().join().unwrap();
    assert_eq!(Registered::count(&object), 1);
}

#[test]
fn a_lookup_that_hits_clones_no_key() {
    #[derive(PartialEq, Eq, Hash)]
    struct Loud(u32);
    thread_local!(static CLONES: Cell<u32> = const { Cell::new(0) });
    impl Clone for Loud {
        fn clone(&self) -> Self {
            CLONES.set(CLONES.get() + 1);
            Self(self.0)
        }
    }
    let objects: Registry<Loud, u32> = Registry::new();
    let _kept = objects.acquire(&Loud(1), || 1);
    let _again = objects.acquire(&Loud(1), || 1);
    assert_eq!((CLONES.get(), objects.get(&Loud(1)).is_some()), (1, true));
}

#[test]
fn a_reference_shows_what_its_object_shows() {
    let objects: tenure::registry::Registry<&str, u32> = tenure::registry::Registry::new();
    let object = objects.acquire(&"a", || 7);
    assert_eq!((format!("{object} {object:?}"), *object.as_ref()), ("7 7".to_owned(), 7));
    assert_eq!(format!("{objects:?}"), "Registry { len: 1, .. }");
    assert_eq!(size_of_val(&object), size_of::<usize>());
}

#[test]
fn keys_of_one_hash_have_objects_of_their_own() {
    #[derive(Default)]
    struct Same;
    impl std::hash::Hasher for Same {
        fn finish(&self) -> u64 {
            7
        }
        fn write(&mut self, _bytes: &[u8]) {}
    }
    type Hasher = std::hash::BuildHasherDefault<Same>;
    let objects: Registry<u32, u32, TicketRef, Hasher> = Registry::with_hasher(Hasher::default());
    let held = Vec::from_iter((0..50).map(|key| objects.acquire(&key, || key)));
    drop(objects.acquire(&50, || 50));
    assert!((0..50).all(|key| *objects.get(&key).unwrap() == key) && objects.get(&50).is_none());
    drop(held);
    assert!(objects.is_empty());
}

/// Where on the stack values are dropped that hold the next one each.
struct Probe;

thread_local!(static DROPPED_AT: Cell<(usize, usize)> = const { Cell::new((usize::MAX, 0)) });

impl Drop for Probe {
    fn drop(&mut self) {
        let local = 0_u8;
        let stack = std::hint::black_box(&raw const local).addr();
        let (low, high) = DROPPED_AT.get();
        DROPPED_AT.set((low.min(stack), high.max(stack)));
    }
}

struct Listed<R> {
    _probe: Probe,
    next: Option<R>,
}

#[test]
fn a_list_of_references_takes_about_the_stack_of_one_of_arcs() {
    const LENGTH: u32 = 2_000;
    struct Links(Listed<Registered<u32, Links>>);
    struct Arcs(Listed<Arc<Arcs>>);
    let taken = |drop_list: &mut dyn FnMut()| {
        DROPPED_AT.set((usize::MAX, 0));
        drop_list();
        let (low, high) = DROPPED_AT.get();
        (high - low) / LENGTH as usize
    };

    let objects: Registry<u32, Links> = Registry::new();
    let mut last = None;
    let mut arcs = None;
    for key in 0..LENGTH {
        let node = Links(Listed { _probe: Probe, next: last.take() });
        last = Some(objects.acquire(&key, || node));
        arcs = Some(Arc::new(Arcs(Listed { _probe: Probe, next: arcs.take() })));
    }
    assert!(last.as_ref().unwrap().0.next.is_some() && arcs.as_ref().unwrap().0.next.is_some());
    let ours = taken(&mut || drop(last.take()));
    let theirs = taken(&mut || drop(arcs.take()));
    println!("stack per value: {ours} bytes, and {theirs} with std's Arc");
    // Without optimisation frames are as large as they come. Sanitizers put space around what lies in them.
    let most = if cfg!(sanitized) { 10 } else { 3 };
    assert!(ours <= most * theirs, "{ours} bytes for each value, where std's Arc takes {theirs}");
}

/// The registry that users have does what the generic one does: each method once.
#[test]
fn a_users_registry_has_every_method() {
    use tenure::registry::{Registered, Registry};
    let objects: Registry<String, u32> = Registry::with_linger(2);
    assert!(objects.is_empty());
    assert_eq!(objects.try_acquire("a", || Err::<u32, _>("no")).unwrap_err(), "no");
    let object = objects.acquire("a", || 1);
    assert_eq!((Registered::key(&object).as_str(), Registered::count(&object)), ("a", 1));
    assert!(Registered::ptr_eq(&object, &objects.get("a").unwrap()));
    assert!(Registered::ptr_eq(&object, &objects.clone().snapshot()[0]));
    drop(object);
    assert_eq!((objects.len(), objects.stats().failed), (1, 1));
    objects.sweep();
    assert_eq!(objects.len(), 1, "it was used since");
    objects.sweep();
    assert!(objects.is_empty());
    drop(objects.acquire("b", || 2));
    objects.trim();
    assert!(objects.is_empty() && objects.stats().destroyed == 2);
    let hashed: Registry<u32, u32> = Registry::with_hasher(std::hash::RandomState::new());
    drop(hashed.acquire(&1, || 1));
    assert!(hashed.is_empty(), "none lingers");
}
