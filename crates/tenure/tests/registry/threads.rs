//! Threads: creations that meet, ends on other threads, and threads that end themselves.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use tenure::count::generic::{RcuRef, TicketRef};
use tenure::memory::{Memory, Native, Ordering};
use tenure::registry::generic::{Registered, Registry, RegistryCount};

type Counter = <Native as Memory>::AtomicU32;

struct Counted(Arc<Counter>);

impl Counted {
    fn new(alive: &Arc<Counter>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive.clone())
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn the_next_object_is_created_while_the_destructor_of_the_last_one_runs() {
    struct Slow(Option<(Sender<()>, Receiver<()>)>);
    // A receiver is not `Sync`.
    struct Locked(Mutex<Slow>);
    impl Drop for Slow {
        fn drop(&mut self) {
            if let Some((begun, go_on)) = &self.0 {
                begun.send(()).unwrap();
                go_on.recv().unwrap();
            }
        }
    }
    let objects: Registry<u32, Locked> = Registry::new();
    let (begin, begun) = channel();
    let (go_on, wait) = channel();
    let old = objects.acquire(&1, || Locked(Mutex::new(Slow(Some((begin, wait))))));
    let end = thread::spawn(move || drop(old));
    begun.recv().unwrap();
    let next = objects.acquire(&1, || Locked(Mutex::new(Slow(None))));
    assert!(next.0.lock().unwrap().0.is_none());
    go_on.send(()).unwrap();
    end.join().unwrap();
    assert!(Registered::ptr_eq(&next, &objects.get(&1).unwrap()));
}

#[test]
fn an_object_is_destroyed_where_its_last_reference_is_dropped() {
    struct Where(Sender<thread::ThreadId>);
    // A sender is `Sync`, so this is.
    impl Drop for Where {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }
    let (send, receive) = channel();
    let object = Registry::<u32, Where>::new().acquire(&1, || Where(send));
    let other = thread::spawn(move || drop(object));
    let id = other.thread().id();
    other.join().unwrap();
    assert_eq!(receive.recv().unwrap(), id);
}

struct UsedLate<C: RegistryCount> {
    objects: Registry<u32, Counted, C>,
    alive: Arc<Counter>,
}

impl<C: RegistryCount> Drop for UsedLate<C> {
    fn drop(&mut self) {
        let create = || Counted::new(&self.alive);
        assert!(self.objects.get(&1).is_some());
        let object = self.objects.acquire(&2, create);
        assert!(Registered::ptr_eq(&object, &self.objects.acquire(&2, create)));
        for key in 3..200 {
            drop(self.objects.acquire(&key, create));
        }
        assert_eq!(self.objects.snapshot().len(), 2);
        self.alive.fetch_add(1_000, Ordering::Relaxed);
    }
}

#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    ARegistry,
    Seize,
}

thread_local! {
    static LATE: RefCell<Option<Box<dyn std::any::Any>>> = const { RefCell::new(None) };
    static IS_LATE: Cell<bool> = const { Cell::new(false) };
}

fn used_in_a_late_thread_local<C: RegistryCount>(before: Before) {
    let objects = Registry::<u32, Counted, C>::default();
    let alive = Arc::new(Counter::new(0));
    let held = objects.acquire(&1, || Counted::new(&alive));
    let late = UsedLate { objects: objects.clone(), alive: alive.clone() };
    let thread = thread::spawn(move || {
        IS_LATE.set(true);
        // Initialised first, so destroyed last.
        LATE.set(Some(Box::new(late)));
        match before {
            Before::Nothing => {}
            Before::ARegistry => {
                drop(Registry::<u32, u32, C>::default().acquire(&1, || 1));
            }
            Before::Seize => drop(seize::Collector::new().enter()),
        }
    });
    thread.join().unwrap();
    assert_eq!((alive.load(Ordering::Relaxed), objects.len()), (1_001, 1), "{before:?}");
    drop(held);
    assert!(objects.is_empty());
}

#[test]
fn a_thread_uses_a_registry_in_the_destructor_of_a_late_thread_local() {
    // Panics count though they are caught: with `panic = "abort"` the first one ends the process.
    let panics = Arc::new(Counter::new(0));
    let (seen, hook) = (panics.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if IS_LATE.get() {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        hook(panic);
    }));
    for before in [Before::Nothing, Before::ARegistry, Before::Seize] {
        used_in_a_late_thread_local::<TicketRef>(before);
        used_in_a_late_thread_local::<RcuRef>(before);
    }
    assert_eq!(panics.load(Ordering::Relaxed), 0);
}

#[test]
fn a_snapshot_under_churn_has_what_is_held_and_nothing_that_is_dead() {
    const HELD: u32 = 20;
    let objects: Registry<u32, Counted> = Registry::new();
    let alive = Arc::new(Counter::new(0));
    let held = Vec::from_iter((0..HELD).map(|key| objects.acquire(&key, || Counted::new(&alive))));
    thread::scope(|scope| {
        for thread in 1..3 {
            let (objects, alive) = (&objects, &alive);
            scope.spawn(move || {
                for turn in 0..if cfg!(miri) { 100 } else { 5_000 } {
                    drop(objects.acquire(&(thread * 1_000 + turn % 100), || Counted::new(alive)));
                }
            });
        }
        for _ in 0..if cfg!(miri) { 5 } else { 200 } {
            let seen = objects.snapshot();
            let mut keys = Vec::from_iter(seen.iter().map(|object| *Registered::key(object)));
            keys.sort_unstable();
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "a key is there twice");
            assert_eq!(keys[..HELD as usize], *Vec::from_iter(0..HELD));
        }
    });
    assert_eq!(objects.len(), HELD as usize);
    drop(held);
    assert_eq!((alive.load(Ordering::Relaxed), objects.len()), (0, 0));
}

/// The count shows when the memory of dead entries goes.
#[derive(Clone)]
struct Key {
    number: u32,
    _counted: Counted,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Key {}

#[test]
fn the_memory_of_dead_entries_is_bounded_and_goes_with_the_registry() {
    let keys = Arc::new(Counter::new(0));
    let counted = Counted::new(&keys);
    let objects: Registry<Key, u32> = Registry::new();
    let mut most = 0;
    for n in 0..if cfg!(miri) { 500 } else { 20_000 } {
        let key = Key { number: n % 1_000, _counted: counted.clone() };
        drop(objects.acquire(&key, || n));
        drop(key);
        most = most.max(keys.load(Ordering::Relaxed));
    }
    assert!(most <= 64 + 2, "{most} keys waited at a time");
    drop(objects);
    assert_eq!(keys.load(Ordering::Relaxed), 1, "nothing waits for a registry that is gone");
    drop(counted);
}
