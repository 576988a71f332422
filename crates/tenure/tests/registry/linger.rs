//! Objects that no one uses, and that linger.

use crate::behaviour::{Mourned, Objects};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;
use tenure::cache_line::CachePadded;
use tenure::count::generic::IncNotZero;
use tenure::count::generic::{RcuRef, TicketRef};
use tenure::registry::generic::{Registered, Registry, RegistryCount};

type Dead = Arc<Mutex<Vec<&'static str>>>;

struct Lingering<C: RegistryCount> {
    objects: Objects<Mourned, C>,
    dead: Dead,
}

impl<C: RegistryCount> Lingering<C> {
    fn new(places: usize) -> Self {
        let objects = Objects::with_linger_and_hasher(places, Default::default());
        Self { objects, dead: Dead::default() }
    }

    fn acquire(&self, name: &'static str) -> Registered<String, Mourned, C> {
        self.objects.acquire(name, || Mourned(name, self.dead.clone()))
    }

    /// What ended since the last call.
    fn ended(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.dead.lock().unwrap())
    }
}

for_all_counts! {
    fn an_object_lingers_as_long_as_no_other_wants_its_place<C>() {
        let stage = Lingering::<C>::new(2);
        let address = (&raw const *stage.acquire("a")).addr();
        assert_eq!((&raw const *stage.acquire("a")).addr(), address);
        assert_eq!((&raw const *stage.objects.get("a").unwrap()).addr(), address);
        drop(stage.acquire("b"));
        assert_eq!((stage.ended(), stage.objects.len()), (vec![], 2));
        drop(stage.acquire("c"));
        assert_eq!((stage.ended().len(), stage.objects.len()), (1, 2));
        assert_eq!(stage.objects.stats().created, 3);
    }

    fn the_object_that_was_not_used_makes_room<C>() {
        let stage = Lingering::<C>::new(3);
        for name in ["a", "b", "c"] {
            drop(stage.acquire(name));
        }
        stage.objects.sweep();
        drop((stage.acquire("a"), stage.acquire("c")));
        drop(stage.acquire("d"));
        assert_eq!(stage.ended(), ["b"]);
    }

    fn a_sweep_ends_what_was_not_used_since_the_last_one<C>() {
        let stage = Lingering::<C>::new(10);
        drop((stage.acquire("a"), stage.acquire("b")));
        stage.objects.sweep();
        assert_eq!(stage.ended(), [""; 0]);
        drop(stage.acquire("a"));
        stage.objects.sweep();
        assert_eq!(stage.ended(), ["b"]);
        stage.objects.sweep();
        assert_eq!((stage.ended(), stage.objects.is_empty()), (vec!["a"], true));
    }

    fn an_object_in_use_outlives_a_trim_and_lingers_again<C>() {
        let stage = Lingering::<C>::new(2);
        let held = stage.acquire("a");
        drop((held.clone(), stage.acquire("b")));
        stage.objects.trim();
        assert_eq!((stage.ended(), Registered::count(&held)), (vec!["b"], 1));
        drop(held);
        assert_eq!((stage.ended(), stage.objects.len()), (vec![], 1));
        stage.objects.trim();
        assert_eq!((stage.ended(), stage.objects.is_empty()), (vec!["a"], true));
    }

    fn an_object_in_use_that_makes_room_lingers_again<C>() {
        let stage = Lingering::<C>::new(1);
        let held = stage.acquire("a");
        drop(held.clone());
        assert_eq!(Registered::count(&held), 2, "the registry has one");
        drop(stage.acquire("b"));
        assert_eq!((stage.ended(), Registered::count(&held)), (vec![], 1));
        drop(held);
        assert_eq!(stage.ended(), ["b"]);
        assert!(stage.objects.get("a").is_some());
    }

    fn lingering_objects_end_with_the_last_handle<C>() {
        let Lingering { objects, dead } = Lingering::<C>::new(4);
        let acquire = |name| objects.acquire(name, || Mourned(name, dead.clone()));
        let held = acquire("held");
        drop((acquire("a"), held.clone()));
        let other = objects.clone();
        drop(objects);
        assert!(other.get("a").is_some() && dead.lock().unwrap().is_empty());
        drop(other);
        assert_eq!(*dead.lock().unwrap(), ["a"]);
        drop((held.clone(), held));
        assert_eq!(*dead.lock().unwrap(), ["a", "held"], "there is no ring any more");
    }

    fn a_create_that_fails_leaves_nothing_that_lingers<C>() {
        let objects = Objects::<u32, C>::with_linger_and_hasher(4, Default::default());
        assert_eq!(objects.try_acquire("a", || Err("no")).unwrap_err(), "no");
        assert!(catch_unwind(AssertUnwindSafe(|| objects.acquire("a", || panic!("no")))).is_err());
        assert!(objects.is_empty());
        assert_eq!(*objects.acquire("a", || 1), 1);
        assert_eq!(objects.len(), 1);
    }
}

#[test]
fn destructors_that_panic_leave_no_lingering_object_behind() {
    struct Panics(Arc<Mutex<u32>>);
    impl Drop for Panics {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            if !thread::panicking() {
                panic!("in a destructor");
            }
        }
    }
    type Objects = Registry<u32, Panics>;
    let ended = Arc::new(Mutex::new(0));
    let sweep_twice = |objects: &mut Option<Objects>| {
        (0..2).for_each(|_| objects.as_ref().unwrap().sweep());
    };
    let trim = |objects: &mut Option<Objects>| objects.as_ref().unwrap().trim();
    let close = |objects: &mut Option<Objects>| drop(objects.take());
    for end in [sweep_twice, trim, close] {
        let mut objects = Some(Registry::with_linger(10));
        for key in 0..10 {
            drop(objects.as_ref().unwrap().acquire(&key, || Panics(ended.clone())));
        }
        assert!(catch_unwind(AssertUnwindSafe(|| end(&mut objects))).is_err());
        assert_eq!(std::mem::take(&mut *ended.lock().unwrap()), 10);
    }
}

#[test]
fn objects_in_use_linger_again_after_a_trim_in_which_a_destructor_panics() {
    struct Panics(bool);
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(!self.0, "in a destructor");
        }
    }
    let objects = Registry::<u32, Panics>::with_linger(3);
    drop(objects.acquire(&0, || Panics(true)));
    let held = [1, 2].map(|key| objects.acquire(&key, || Panics(false)));
    drop(held.clone());
    assert!(catch_unwind(AssertUnwindSafe(|| objects.trim())).is_err());
    drop(held);
    assert_eq!(objects.len(), 2);
}

#[test]
fn objects_that_keep_others_make_room_without_nesting() {
    const OBJECTS: u32 = if cfg!(miri) { 20 } else { 20_000 };
    struct Node {
        _parent: Option<Registered<u32, Node>>,
    }
    let on_a_small_stack = || {
        let objects = Registry::<u32, Node>::with_linger(OBJECTS as usize);
        for key in 0..OBJECTS {
            // Not dropped before its child is, so it lingers when that makes room.
            let parent = objects.acquire(&key, || Node { _parent: None });
            drop(objects.acquire(&(OBJECTS + key), || Node { _parent: Some(parent) }));
        }
        objects.sweep();
        drop(objects.acquire(&u32::MAX, || Node { _parent: None }));
        assert_eq!(objects.len(), 2 * OBJECTS as usize - 1, "a child and its parent have gone");
    };
    thread::Builder::new().stack_size(2 << 20).spawn(on_a_small_stack).unwrap().join().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "makes millions of places")]
fn a_registry_in_which_everything_is_to_linger_has_as_many_places_as_there_can_be() {
    let objects: Registry<u32, u32> = Registry::with_linger(usize::MAX);
    (0..100).for_each(|key| drop(objects.acquire(&key, || key)));
    assert_eq!(objects.len(), 100);
    objects.trim();
    assert_eq!(objects.len(), 0);
}
