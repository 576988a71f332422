//! Objects that tasks create.

use crate::waits::{Waits, waker_that_panics};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex};
use std::task::{Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;
use tenure::registry::{Registered, Registry};

type Objects = Registry<u32, u32>;
type Outcome = Result<Registered<u32, u32>, &'static str>;

/// A task that acquires key 1, and what wakes it.
struct Task(Waits<Outcome>);

impl Task {
    /// `create` waits once.
    fn new(objects: &Objects, outcome: Result<u32, &'static str>) -> Self {
        let objects = objects.clone();
        let mut is_pending = false;
        let wait_once = std::future::poll_fn(move |_| {
            is_pending = !is_pending;
            if is_pending { Poll::Pending } else { Poll::Ready(()) }
        });
        Self(Waits::new(async move {
            let create = async {
                wait_once.await;
                assert_ne!(outcome, Err("panic"), "it panics");
                outcome
            };
            objects.try_acquire_async(&1, create).await
        }))
    }

    fn poll(&mut self) -> Option<Outcome> {
        self.0.poll()
    }

    fn begun(objects: &Objects, outcome: Result<u32, &'static str>) -> Self {
        let mut task = Self::new(objects, outcome);
        assert!(task.poll().is_none());
        task
    }

    fn woken(&self) -> u32 {
        self.0.woken.times()
    }

    fn acquired(&mut self) -> Registered<u32, u32> {
        self.poll().expect("it waits for nothing").expect("it does not fail")
    }
}

#[test]
fn one_task_creates_while_the_others_wait_for_it() {
    let objects = Objects::new();
    let mut creating = Task::begun(&objects, Ok(1));
    let mut waiting = [2, 3].map(|value| Task::begun(&objects, Ok(value)));
    assert!(objects.get(&1).is_none() && objects.is_empty());
    let object = creating.acquired();
    for task in &mut waiting {
        assert_eq!(task.woken(), 1);
        assert!(Registered::ptr_eq(&task.acquired(), &object));
    }
    let said = objects.stats();
    assert_eq!((said.created, said.waited, said.failed), (1, 2, 0));
    drop(object);
    assert!(objects.is_empty());
}

#[test]
fn a_create_of_one_key_does_not_delay_another() {
    let objects = Objects::new();
    let mut creating = Task::begun(&objects, Ok(1));
    for key in 2..100 {
        assert_eq!(*objects.acquire(&key, || key), key);
    }
    assert_eq!(*creating.acquired(), 1);
}

#[test]
fn the_next_task_creates_after_one_that_failed_panicked_or_was_dropped() {
    for outcome in [Err("no"), Err("panic"), Ok(1)] {
        let objects = Objects::new();
        let mut creating = Task::begun(&objects, outcome);
        let [mut next, mut last] = [2, 3].map(|value| Task::begun(&objects, Ok(value)));
        if outcome == Err("no") {
            assert_eq!(creating.poll().unwrap().unwrap_err(), "no");
        } else if outcome == Err("panic") {
            assert!(catch_unwind(AssertUnwindSafe(|| creating.poll())).is_err());
        }
        drop(creating);
        assert_eq!((next.woken(), last.woken()), (1, 1));
        assert!(next.poll().is_none(), "its own `create` waits");
        assert!(last.poll().is_none());
        let object = next.acquired();
        assert_eq!((*object, *last.acquired()), (2, 2));
        let said = objects.stats();
        assert_eq!((said.created, said.failed), (1, 1));
    }
}

#[test]
fn a_task_that_gives_up_waiting_takes_no_turn_with_it() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let [first, mut second] = [2, 3].map(|value| Task::begun(&objects, Ok(value)));
    drop(creating);
    assert_eq!((first.woken(), second.woken()), (1, 1));
    drop(first);
    assert!(second.poll().is_none());
    assert_eq!(*second.acquired(), 3);
    assert!(objects.is_empty());
}

#[test]
fn a_task_that_goes_on_waiting_is_woken_by_the_end_of_each_turn() {
    let objects = Objects::new();
    let [first, mut second, mut third] = [1, 2, 3].map(|value| Task::begun(&objects, Ok(value)));
    drop(first);
    assert_eq!((second.woken(), third.woken()), (1, 1));
    assert!(second.poll().is_none(), "its own `create` waits");
    assert!(third.poll().is_none());
    drop(second);
    assert_eq!(third.woken(), 2, "its waker left the list with the first turn");
    assert!(third.poll().is_none());
    assert_eq!(*third.acquired(), 3);
}

#[test]
#[cfg_attr(miri, ignore = "there a waker does not equal its clone")]
fn a_task_that_is_polled_often_is_woken_once() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let mut waiting = Task::begun(&objects, Ok(2));
    for _ in 0..100 {
        assert!(waiting.poll().is_none());
    }
    drop(creating);
    assert_eq!(waiting.woken(), 1);
    // Another task's, as if it had moved.
    let creating = Task::begun(&objects, Ok(1));
    assert!(waiting.poll().is_none());
    let before = std::mem::take(&mut waiting.0.woken);
    assert!(waiting.poll().is_none());
    drop(creating);
    assert_eq!((waiting.woken(), before.times()), (1, 1));
}

#[test]
#[cfg_attr(miri, ignore = "there a waker does not equal its clone")]
fn a_task_that_is_polled_often_has_one_place_in_the_list() {
    static CLONES: Mutex<u32> = Mutex::new(0);
    static WAKER: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());
    fn clone(_: *const ()) -> RawWaker {
        *CLONES.lock().unwrap() += 1;
        RawWaker::new(ptr::null(), &WAKER)
    }
    // SAFETY: the functions do nothing, but for a count under a lock.
    let waker = unsafe { Waker::from_raw(clone(ptr::null())) };
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let mut waiting = Task::new(&objects, Ok(2));
    let mut poll = || waiting.0.poll_by(&waker);
    assert!(poll().is_none());
    let first = *CLONES.lock().unwrap();
    assert!((0..100).all(|_| poll().is_none()));
    assert_eq!(*CLONES.lock().unwrap(), first, "each place has a clone of its waker");
    drop(creating);
}

#[test]
fn a_waker_that_panics_keeps_no_other_task_from_being_woken() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let first = Task::begun(&objects, Ok(2));
    let mut panics = Task::new(&objects, Ok(3));
    assert!(panics.0.poll_by(&waker_that_panics()).is_none());
    let mut last = Task::begun(&objects, Ok(4));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(creating))).is_err());
    assert_eq!((first.woken(), last.woken()), (1, 1));
    assert!(last.poll().is_none(), "its own `create` waits");
    assert_eq!(*last.acquired(), 4);
}

#[test]
fn a_task_that_gives_up_waiting_leaves_no_waker() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let waiting = Task::begun(&objects, Ok(2));
    let waker = Arc::downgrade(&waiting.0.woken);
    drop(waiting);
    assert_eq!(waker.strong_count(), 0, "the turn keeps it");
    drop(creating);
}

#[test]
fn all_that_wait_go_with_the_registry() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let waiting = Task::begun(&objects, Ok(2));
    let waker = Arc::downgrade(&waiting.0.woken);
    drop((objects, waiting, creating));
    assert_eq!(waker.strong_count(), 0, "a waker leaks");
}

#[test]
fn a_thread_waits_for_a_task_and_a_task_for_a_thread() {
    let objects = Objects::new();
    let mut creating = Task::begun(&objects, Ok(1));
    let theirs = objects.clone();
    let waiting = thread::spawn(move || *theirs.acquire(&1, || 2));
    while objects.stats().waited == 0 {
        thread::yield_now();
    }
    let object = creating.acquired();
    assert_eq!((*object, waiting.join().unwrap()), (1, 1));
    drop(object);

    let mut waiting = None;
    let object = objects.acquire(&1, || {
        waiting = Some(Task::begun(&objects, Ok(4)));
        3
    });
    let mut waiting = waiting.unwrap();
    assert_eq!((waiting.woken(), *waiting.acquired(), *object), (1, 3, 3));
}

/// Acquires key 1 on this thread, while another one ends the task that is creating it.
fn acquired_while_another_thread_polls(objects: &Objects, mut creating: Task) -> u32 {
    let theirs = objects.clone();
    let waited = objects.stats().waited;
    let polls = thread::spawn(move || {
        while theirs.stats().waited == waited {
            thread::yield_now();
        }
        creating.acquired();
    });
    let value = *objects.acquire(&1, || 0);
    polls.join().unwrap();
    value
}

#[test]
fn a_thread_may_wait_for_a_task_that_it_began() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    assert_eq!(acquired_while_another_thread_polls(&objects, creating), 1);

    // And for one that has the turn after the thread itself.
    let mut creating = None;
    let failed = objects.try_acquire(&1, || {
        creating = Some(Task::begun(&objects, Ok(2)));
        Err("no")
    });
    assert_eq!(failed.unwrap_err(), "no");
    let mut creating = creating.unwrap();
    assert!(creating.poll().is_none(), "its own `create` waits");
    assert_eq!(acquired_while_another_thread_polls(&objects, creating), 2);
}

#[test]
fn a_thread_that_has_the_turn_after_a_task_does_not_wait_for_itself() {
    let objects = Objects::new();
    let creating = Task::begun(&objects, Ok(1));
    let theirs = objects.clone();
    let waits = thread::spawn(move || *theirs.acquire(&1, || *theirs.acquire(&1, || 2)));
    while objects.stats().waited == 0 {
        thread::yield_now();
    }
    drop(creating);
    assert!(waits.join().is_err(), "`create` acquires its own key");
    assert!(objects.is_empty());
}
