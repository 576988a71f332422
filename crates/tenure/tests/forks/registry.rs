//! Registries, which other threads were in the middle of.

use crate::children::{
    end_child, expect_well, fork, forked_under_use, in_child, in_thread, start, while_another_waits,
};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;
use tenure::count::generic::{RcuRef, TicketRef};
use tenure::memory::{Memory, Native, Ordering};
use tenure::registry::generic::{Creator, Machine};
use tenure::registry::generic::{Registered, Registry, RegistryCount};

type Counter = <Native as Memory>::AtomicU32;

thread_local! {
    /// Whether the next comparison of keys in this thread stops in the middle.
    static STOPS: Cell<bool> = const { Cell::new(false) };
    /// Whether the next drop of a key in this thread stops.
    static STOPS_AT_DROP: Cell<bool> = const { Cell::new(false) };
}

/// Keys that are counted, and stop a thread in the middle of a comparison, or in a drop.
struct Key {
    number: u32,
    alive: Arc<Counter>,
    stop: Arc<[Barrier; 2]>,
}

impl Key {
    fn new(number: u32, alive: &Arc<Counter>, stop: &Arc<[Barrier; 2]>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self { number, alive: alive.clone(), stop: stop.clone() }
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        Self::new(self.number, &self.alive, &self.stop)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if STOPS_AT_DROP.take() {
            self.stop.iter().for_each(|barrier| _ = barrier.wait());
        }
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        if STOPS.take() {
            self.stop.iter().for_each(|barrier| _ = barrier.wait());
        }
        self.number == other.number
    }
}

impl Eq for Key {}

fn forked_under_a_lookup<C: RegistryCount>() {
    const TURNS: u32 = 5_000;
    let (alive, stop) = (Arc::new(Counter::new(0)), Arc::new([Barrier::new(2), Barrier::new(2)]));
    let objects = Registry::<Key, u32, C>::default();
    let key = |number| Key::new(number, &alive, &stop);
    let held = objects.acquire(&key(0), || 0);
    thread::scope(|scope| {
        let looking = scope.spawn(|| {
            STOPS.set(true);
            objects.get(&key(0)).map(|found| *found)
        });
        stop[0].wait();
        in_child(|| {
            let mut most = 0;
            for number in 1..=TURNS {
                drop(objects.acquire(&key(number), || number));
                most = most.max(alive.load(Ordering::Relaxed));
            }
            assert!(most < 500, "{most} keys wait for a thread that is lost");
            assert_eq!((*objects.acquire(&key(0), || 1), objects.len()), (0, 1));
        });
        stop[1].wait();
        assert_eq!(looking.join().unwrap(), Some(0));
    });
    drop((held, objects));
}

#[test]
fn a_child_frees_what_comes_and_goes_although_a_lost_thread_was_looking_something_up() {
    forked_under_a_lookup::<TicketRef>();
    forked_under_a_lookup::<RcuRef>();
}

#[test]
fn a_child_creates_the_object_that_a_lost_thread_was_creating() {
    let objects: Registry<u32, u32> = Registry::new();
    let create = |waits: &(dyn Fn() + Sync)| {
        *objects.acquire(&1, || {
            waits();
            1
        })
    };
    let child = || {
        assert!(objects.get(&1).is_none());
        let object = objects.acquire(&1, || 2);
        assert_eq!((*object, objects.len()), (2, 1));
        assert!(Registered::ptr_eq(&object, &objects.get(&1).unwrap()));
        let theirs = objects.clone();
        assert_eq!(in_thread(|| *theirs.acquire(&1, || 3)), 2);
        drop(object);
        assert!(objects.is_empty() && objects.get(&1).is_none());
        assert_eq!(objects.try_acquire(&1, || Err::<u32, _>("no")).unwrap_err(), "no");
        assert_eq!(*objects.acquire(&1, || 4), 4);
    };
    assert_eq!(while_another_waits(create, || in_child(child)), 1);
}

#[test]
fn a_child_creates_the_object_that_a_task_was_creating() {
    let objects: Registry<u32, u32> = Registry::new();
    let mut creating = Box::pin(objects.acquire_async(&1, std::future::pending()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(creating.as_mut().poll(&mut context).is_pending());
    in_child(|| {
        let object = objects.acquire(&1, || 2);
        assert_eq!((*object, *objects.acquire(&1, || 3)), (2, 2));
    });
}

#[test]
fn a_task_that_begins_to_create_in_the_child_is_not_lost() {
    let objects: Registry<u32, u32> = Registry::new();
    let context = &mut Context::from_waker(Waker::noop());
    let mut first = Box::pin(objects.acquire_async(&1, std::future::pending()));
    assert!(first.as_mut().poll(context).is_pending());
    let mut is_pending = false;
    let create = std::future::poll_fn(|_| {
        is_pending = !is_pending;
        if is_pending { Poll::Pending } else { Poll::Ready(2) }
    });
    let mut second = Box::pin(objects.acquire_async(&1, create));
    assert!(second.as_mut().poll(context).is_pending());
    // Leaves the entry to the second task, which takes the turn in the child.
    drop(first);
    in_child(|| {
        assert!(second.as_mut().poll(context).is_pending());
        let mut third = Box::pin(objects.acquire_async(&1, async { 3 }));
        assert!(third.as_mut().poll(context).is_pending(), "a key has two objects");
        let Poll::Ready(object) = second.as_mut().poll(context) else { panic!("it waits once") };
        assert!(
            matches!(third.as_mut().poll(context), Poll::Ready(theirs) if Registered::ptr_eq(&theirs, &object))
        );
    });
}

#[test]
fn an_entry_that_was_left_to_a_task_before_the_fork_is_not_lost() {
    let objects: Registry<u32, u32> = Registry::new();
    let context = &mut Context::from_waker(Waker::noop());
    let mut first = Box::pin(objects.acquire_async(&1, std::future::pending()));
    assert!(first.as_mut().poll(context).is_pending());
    let mut second = Box::pin(objects.acquire_async(&1, async { 2 }));
    assert!(second.as_mut().poll(context).is_pending());
    drop(first);
    in_child(|| {
        let object = objects.acquire(&1, || 3);
        let Poll::Ready(theirs) = second.as_mut().poll(context) else { panic!("it waits") };
        assert!(Registered::ptr_eq(&object, &theirs), "a key has two objects");
    });
}

#[test]
fn a_creator_that_has_ended_is_not_lost_and_leaves_no_number() {
    type Its = <Native as Machine>::Creator;
    let (ended, next) = (Its::new(), Its::new());
    ended.begin(true);
    next.begin(true);
    next.end();
    // A task, which has no thread.
    next.begin(false);
    in_child(|| {
        ended.end();
        assert!(!ended.is_lost() && next.is_lost());
    });
}

#[test]
fn a_child_leaves_alone_what_a_lost_thread_had_retired() {
    const RETIRED: u32 = 3;
    let (alive, stop) = (Arc::new(Counter::new(0)), Arc::new([Barrier::new(2), Barrier::new(2)]));
    let mut objects = Some(Registry::<Key, u32>::default());
    let (theirs, counted, stops) = (objects.clone().unwrap(), alive.clone(), stop.clone());
    let retiring = thread::spawn(move || {
        for number in 0..RETIRED {
            drop(theirs.acquire(&Key::new(number, &counted, &stops), || number));
        }
        drop(theirs);
        stops.iter().for_each(|barrier| _ = barrier.wait());
    });
    stop[0].wait();
    // A retired entry keeps its key until no reader can compare it.
    let in_parent = alive.load(Ordering::Relaxed);
    in_child(|| {
        drop(objects.take());
        // The other thread may have been changing its list.
        assert_eq!(alive.load(Ordering::Relaxed), RETIRED);
    });
    stop[1].wait();
    retiring.join().unwrap();
    assert_eq!(in_parent, RETIRED);
    drop(objects);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_thread_that_forks_in_the_middle_of_create_is_not_lost() {
    let objects: Registry<u32, u32> = Registry::new();
    let object = objects.acquire(&1, || {
        in_child(|| {
            let again = catch_unwind(AssertUnwindSafe(|| objects.acquire(&1, || 2)));
            assert!(again.is_err(), "it would wait for itself, and has another object instead");
        });
        1
    });
    assert_eq!(*object, 1);
}

#[test]
fn an_entry_that_a_failed_create_leaves_to_a_thread_of_the_child_is_not_lost() {
    let (alive, stop) = (Arc::new(Counter::new(0)), Arc::new([Barrier::new(2), Barrier::new(2)]));
    let objects = Registry::<Key, u32>::default();
    let key = || Key::new(0, &alive, &stop);
    let (mut process, mut waiter) = (0, None);
    let created = catch_unwind(AssertUnwindSafe(|| {
        objects.try_acquire(&key(), || {
            process = fork();
            if process > 0 {
                return Ok(1);
            }
            let (theirs, key) = (objects.clone(), key());
            waiter = Some(start(move || {
                // Has the entry, and stops at the drop of the key that it had for one of its own.
                STOPS_AT_DROP.set(true);
                theirs.acquire(&key, || 2)
            }));
            stop[0].wait();
            Err("in the child")
        })
    }));
    if process == 0 {
        end_child(|| {
            assert_eq!(created.unwrap().unwrap_err(), "in the child");
            let object = objects.acquire(&key(), || 3);
            stop[1].wait();
            let waited = waiter.unwrap().join();
            assert!(Registered::ptr_eq(&object, &waited), "a key has two objects");
            assert_eq!((*waited, objects.stats().created), (3, 1));
            drop((object, waited));
            assert!(objects.is_empty() && objects.get(&key()).is_none());
        });
    }
    expect_well(process);
    assert_eq!(*created.unwrap().unwrap(), 1);
}

#[test]
fn a_child_uses_a_registry_that_other_threads_were_in() {
    const KEYS: u32 = 300;
    let objects: Registry<u32, u32> = Registry::new();
    let work = |thread: usize, goes_on: &dyn Fn() -> bool| {
        let mut held = Vec::new();
        let mut turn = thread as u32 * 1_000;
        while goes_on() {
            turn += 1;
            let key = turn % KEYS;
            held.push(objects.acquire(&key, || key));
            drop(objects.get(&(turn * 7 % KEYS)));
            if held.len() == 50 {
                held.clear();
            }
            if turn % 64 == 0 {
                drop(objects.snapshot());
            }
        }
    };
    let child = || {
        let held = Vec::from_iter((0..2 * KEYS).map(|key| objects.acquire(&key, || key)));
        for (object, key) in held.iter().zip(0..) {
            assert!(**object == key && Registered::ptr_eq(object, &objects.get(&key).unwrap()));
        }
        assert!(objects.snapshot().len() >= held.len());
        drop(held);
        assert!((KEYS..2 * KEYS).all(|key| objects.get(&key).is_none()));
    };
    forked_under_use(2, 60, work, || in_child(child));
    assert!(objects.is_empty());
}
