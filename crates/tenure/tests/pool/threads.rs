//! Numbers of threads, and the end of a thread that keeps slots.

use crate::at_end::at_end;
use crate::owned::Owner;
use std::collections::HashSet;
use std::sync::{Arc, Barrier, Mutex, Weak, mpsc};
use std::thread;
use tenure::memory::{Native, Resident, Threads};
use tenure::pool::list::{List, Magazines, TaggedStack};

/// Threads that are alive at once. Other tests of this file run in the same process.
const CROWD: usize = if cfg!(miri) { 5 } else { 50 };

fn number() -> usize {
    Native::thread().expect("the thread is alive")
}

#[test]
fn threads_that_are_alive_have_different_numbers() {
    let all_are_there = Arc::new(Barrier::new(CROWD));
    let threads = Vec::from_iter((0..CROWD).map(|_| {
        let all_are_there = Arc::clone(&all_are_there);
        thread::spawn(move || {
            let mine = number();
            all_are_there.wait();
            assert_eq!(number(), mine, "a number stays");
            assert!(!Native::is_lost(mine));
            mine
        })
    }));
    let numbers = HashSet::<_>::from_iter(threads.into_iter().map(|thread| thread.join().unwrap()));
    assert_eq!(numbers.len(), CROWD);
}

#[test]
fn numbers_of_threads_that_ended_are_given_out_again() {
    for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
        let number = thread::spawn(number).join().unwrap();
        assert!(number < 500, "{number} is more than there ever were threads at once");
    }
}

#[test]
fn a_thread_has_its_number_up_to_the_destructor_that_takes_it_away() {
    let (tell, told) = mpsc::channel();
    let before_and_at_the_end = |asks_first: bool| {
        let tell = tell.clone();
        thread::spawn(move || {
            let before = asks_first.then(number);
            at_end(move || tell.send((Native::thread(), Native::thread())).unwrap());
            before.unwrap_or_else(number)
        })
        .join()
        .unwrap()
    };
    let mine = before_and_at_the_end(true);
    assert_eq!(told.recv(), Ok((Some(mine), Some(mine))), "used later, so destroyed earlier");
    before_and_at_the_end(false);
    assert_eq!(told.recv(), Ok((None, None)), "used earlier, so destroyed later");
}

#[test]
fn a_thread_may_ask_for_its_first_number_when_it_ends() {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || at_end(move || tell.send(Native::thread()).unwrap())).join().unwrap();
    assert!(told.recv().unwrap().is_some());
}

#[derive(Default)]
struct Guestbook(Mutex<Vec<usize>>);

impl Resident for Guestbook {
    unsafe fn leave(&self, thread: usize) {
        assert_eq!(Native::thread(), None, "the number is no longer the thread's to use");
        self.0.lock().unwrap().push(thread);
    }
}

impl Guestbook {
    fn resident(self: &Arc<Self>) -> Weak<dyn Resident> {
        let weak: Weak<Self> = Arc::downgrade(self);
        weak
    }
}

#[test]
fn a_resident_is_left_once_for_each_time_that_it_asked() {
    let book = Arc::new(Guestbook::default());
    for times in 0..3 {
        let resident = book.resident();
        let left = thread::spawn(move || {
            (0..times).for_each(|_| Native::at_exit(resident.clone()));
            number()
        })
        .join()
        .unwrap();
        assert_eq!(std::mem::take(&mut *book.0.lock().unwrap()), vec![left; times]);
    }
}

#[test]
fn a_thread_leaves_the_residents_that_are_still_there() {
    let book = Arc::new(Guestbook::default());
    let resident = book.resident();
    thread::spawn(move || {
        let (mut gone, mut stay) = (0, 0);
        // Often enough that residents that are gone are swept out in between.
        for turn in 0..200 {
            if turn % 50 == 0 {
                Native::at_exit(resident.clone());
                stay += 1;
            } else {
                Native::at_exit(Arc::new(Guestbook::default()).resident());
                gone += 1;
            }
        }
        assert_eq!((gone, stay), (196, 4));
    })
    .join()
    .unwrap();
    assert_eq!(book.0.lock().unwrap().len(), 4);
    assert_eq!(Arc::weak_count(&book), 0, "a thread that has ended refers to no resident");
}

#[test]
fn a_thread_that_uses_a_list_leaves_it_once() {
    let list = Owner::<Magazines>::new(64);
    let shared = Arc::clone(&list);
    let use_it = move || {
        shared.admit_idle(200);
        number()
    };
    let thread = thread::spawn(use_it).join().unwrap();
    assert_eq!(*list.left.lock().unwrap(), [thread]);
}

fn released_at_the_end_of_its_thread<L: List>(asks_for_a_number_first: bool) {
    let list = Owner::<L>::new(64);
    list.admit(0);
    let shared = Arc::clone(&list);
    thread::spawn(move || {
        let before = asks_for_a_number_first.then(number);
        let late = Arc::clone(&shared);
        at_end(move || {
            assert_eq!(Native::thread().is_some(), before.is_some());
            late.give(0);
            assert_eq!(late.acquire(), Some(0));
            late.give(0);
        });
        let _after = number();
        // Makes the thread the owner of a magazine.
        assert_eq!(shared.acquire(), None);
    })
    .join()
    .unwrap();
    assert_eq!(list.acquire(), Some(0), "a slot was lost with its thread");
    list.give(0);
    let mut home = Vec::new();
    list.close(|slot| home.push(slot));
    assert_eq!(home, [0]);
}

#[test]
fn a_thread_that_has_lost_its_number_releases_and_acquires() {
    released_at_the_end_of_its_thread::<Magazines>(false);
    released_at_the_end_of_its_thread::<TaggedStack>(false);
}

#[test]
fn a_slot_released_while_the_thread_ends_is_for_all() {
    released_at_the_end_of_its_thread::<Magazines>(true);
    released_at_the_end_of_its_thread::<TaggedStack>(true);
}

#[test]
fn a_list_that_ends_with_the_thread_that_leaves_it_comes_to_its_end() {
    let list = Owner::<Magazines>::new(64);
    let weak = Arc::downgrade(&list);
    thread::spawn(move || {
        list.admit_idle(1);
        // Destroyed on this thread, and after the number is gone if it has not been asked for before.
        at_end(move || drop(list));
    })
    .join()
    .unwrap();
    assert_eq!(weak.strong_count(), 0);
}
